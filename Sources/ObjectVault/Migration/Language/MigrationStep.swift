// One step of a migration, and its checksum.

internal import CipherSQLite
private import Foundation

/// Whether an encrypted copy of the store is made before a step.
public enum BackupRule: String, Sendable, Hashable, CaseIterable {
  /// Before every run of the step.
  case always
  /// Before a step that loses values, that computes values by SQL or Swift of its author (`transform` or
  /// `retype … using`), or that moves rows or values to another entity, such as by `merge entity` or
  /// `set parent`. This is the default.
  case auto
  /// Never because of this step; another step of the run may still require a copy.
  case never
}

/// A migration step: the parsed content of one migration file.
public struct MigrationStep: Sendable, Hashable {
  /// The step's number, counted from 1. It is also the version of the store after the step.
  public let number: Int
  /// The step's name, such as `add_tags` for `0002_add_tags.migration`.
  public let name: String
  /// The author's note about the step.
  public let note: String?
  /// Programs whose steps reach at least this version may open the store after this step.
  public let reader: Int
  /// The losses that the author allows, such as `lossy:User.city`. Because they were reviewed with the
  /// file, `store-migrate up` needs no flag for them.
  public let allowed: [String]
  /// Whether an encrypted copy of the store is made before the step.
  public let backup: BackupRule
  /// The operations of `[up]`, in order.
  public let operations: [MigrationOperation]
  /// The operations of `[down]`; nil if the author wrote none. Stores record them.
  public let down: [MigrationOperation]?
  /// Why the step cannot be rolled back; nil unless its author wrote `irreversible` in `[down]`, or the
  /// step was folded or replaces folded steps.
  public let irreversible: String?
  /// The steps that this step replaces; empty if it replaces none. The last of them is the original step
  /// with this step's number. `MigrationSet.folded(to:)` makes a step that replaces others.
  public let folds: [FoldedStep]
  /// The checksum of a folded step, if this value is the placeholder for it in a set; nil for other
  /// steps.
  let foldedChecksum: String?
  /// The lines at which the operations of `[up]` begin in the parsed text.
  var lines = OperationLines()
  /// The lines at which the operations of `[down]` begin in the parsed text.
  var downLines = OperationLines()
  /// The name in the header, if it differs from the name in the file's name, as after a renaming of the
  /// file.
  var statedName: String?
  /// The checksum that a store recorded, if the step was read from the store and its text has another
  /// checksum.
  var recordedChecksum: String?

  /// Parses the text of a migration file.
  ///
  /// - Parameters:
  ///   - number: The step's number, counted from 1.
  ///   - name: The step's name. It is normalized (NFC), so that equivalent Unicode spellings are one name.
  ///   - text: The file's content.
  ///   - file: The file's name in errors; nil for the number and the name, as in ``fileName``.
  /// - Throws: ``StoreError/migrationSyntax(_:)`` with file, line, column and a hint.
  public init(number: Int, name: String, text: String, file: String? = nil) throws {
    // Some file systems store an ö as two scalars, but generated text must be equal on all file systems.
    let name = name.precomposedStringWithCanonicalMapping
    guard number > 0 else {
      throw StoreError.migrationSyntax(
        MigrationSyntaxError(
          file: file ?? Self.fileName(number, name), line: 1, column: 1, reason: "its number is \(number)",
          hint: "step numbers start at 1"))
    }
    let isNameOfFile = name.unicodeScalars.allSatisfy { scalar in
      scalar != "/" && scalar != "\0" && !Character(scalar).isNewline
    }
    guard !name.isEmpty, isNameOfFile else {
      throw StoreError.migrationSyntax(
        MigrationSyntaxError(
          file: file ?? Self.fileName(number, name), line: 1, column: 1,
          reason: "its name cannot be the name of a file",
          hint: "use a name like add_tags"))
    }
    var parser = MigrationParser(text, file: file ?? Self.fileName(number, name))
    let parsed = try parser.parse(number: number, name: name)
    self.number = number
    self.name = name
    note = parsed.header.note
    statedName = parsed.header.name.flatMap { $0 == name ? nil : $0 }
    reader = parsed.header.reader ?? number
    allowed = parsed.header.allowed
    backup = parsed.header.backup
    operations = parsed.up
    (lines, downLines) = (OperationLines(parsed.upLines), OperationLines(parsed.downLines))
    down = parsed.down
    irreversible = parsed.irreversible
    folds = parsed.header.folds
    foldedChecksum = nil
  }

  package init(
    number: Int, name: String, operations: [MigrationOperation], backup: BackupRule = .auto,
    allowed: [String] = []
  ) {
    self.number = number
    self.name = name
    note = nil
    reader = number
    self.allowed = allowed
    self.backup = backup
    self.operations = operations
    down = nil
    irreversible = nil
    folds = []
    foldedChecksum = nil
  }

  /// Creates the step that replaces folded ones.
  package init(
    folding folds: [FoldedStep], into step: MigrationStep, operations: [MigrationOperation], reader: Int,
    allowed: [String]
  ) {
    (number, name, self.reader) = (step.number, step.name, reader)
    note = "\(numbered(1)) to \(numbered(step.number)) in one, for new stores"
    (self.allowed, backup, self.operations, down) = (allowed, .auto, operations, nil)
    irreversible = "the steps up to it were folded into one"
    self.folds = folds
    foldedChecksum = nil
  }

  /// Creates the placeholder for a folded step in a set. A later step does its work.
  init(_ folded: FoldedStep) {
    (number, name, note, reader) = (folded.number, folded.name, nil, 1)
    (allowed, backup, operations, down) = ([], .auto, [], nil)
    irreversible = "it was folded into a later step"
    folds = []
    foldedChecksum = folded.checksum
  }

  /// Returns the loss that an entry of ``allowed`` allows, such as `User.city`; nil for another kind of
  /// entry.
  static func loss(allowedBy word: String) -> String? {
    let prefix = "lossy:"
    return word.hasPrefix(prefix) ? String(word.dropFirst(prefix.count)) : nil
  }

  /// Whether the step is a placeholder for a folded step, or replaces other steps.
  var isFolded: Bool { foldedChecksum != nil || !folds.isEmpty }

  /// Whether the step is a placeholder: it does nothing, because a later step of the set does its work.
  package var isPlaceholder: Bool { foldedChecksum != nil }

  /// Whether a checksum that a store recorded is that of this step, by the present or the former rule.
  func isRecorded(as recorded: String) -> Bool { recorded == checksum || recorded == formerChecksum }

  /// The file's name, such as `0002_add_tags.migration`.
  public var fileName: String { Self.fileName(number, name) }

  /// The keys that a header may have.
  package static let headKeys: [String] = MigrationHeader.Key.allCases.map(\.rawValue)

  static func fileName(_ number: Int, _ name: String) -> String { "\(numbered(number))_\(name).migration" }

  /// The `[up]` section in its canonical spelling.
  public var canonicalText: String { operations.map(\.description).joined(separator: "\n") }

  /// The prefix `s1:` and the SHA-256 of ``canonicalText``. Line ends, comments, spacing, header,
  /// `[down]` and path have no effect; spaces within a line of SQL do. A step that replaces folded ones
  /// keeps the checksum of the original step, because stores recorded that.
  public var checksum: String {
    foldedChecksum ?? recordedChecksum ?? folds.last?.checksum ?? contentChecksum
  }

  /// The checksum of the present text, regardless of folding.
  package var contentChecksum: String { "s1:" + sha256(Data(canonicalText.utf8)) }

  /// The checksum by an earlier rule. In string literals of SQL, that rule also removed blank lines, and
  /// spaces at the beginning and end of lines. Stores and lock files of earlier releases have such
  /// checksums.
  var formerChecksum: String {
    guard !isFolded else { return checksum }
    func trimmed(_ sql: String) -> String {
      sql.split(separator: "\n").map { $0.trimmed }.filter { !$0.isEmpty }.joined(separator: "\n")
    }
    let lines = operations.map { operation in
      if operation.isData, case .sql(let line, let sql) = operation.rules.text {
        OperationText.sql(line, trimmed(sql)).whole
      } else {
        operation.description
      }
    }
    return "s1:" + sha256(Data(lines.joined(separator: "\n").utf8))
  }

  /// The text of a file that can be parsed to this step.
  public var text: String { text(canonicalText) }

  /// The text of a file that can be parsed to this step, with indented SQL for people.
  package var fileText: String { text(operations.map(\.rules.text.indented).joined(separator: "\n")) }

  private func text(_ up: String) -> String {
    "format: 1\nname: \(name)\n" + (note.map { "note: \($0)\n" } ?? "")
      + (reader == number ? "" : "reader: \(reader)\n")
      + (backup == .auto ? "" : "backup: \(backup.rawValue)\n")
      + (allowed.isEmpty ? "" : "allow: \(allowed.joined(separator: ", "))\n")
      + folds.map { "replaces: \($0)\n" }.joined() + "\n[up]\n\(up)\n"
      + (down.map { "\n[down]\n" + $0.map(\.description).joined(separator: "\n") + "\n" } ?? "")
      + (irreversible.map { "\n[down]\nirreversible \(MigrationOperation.quoted($0))\n" } ?? "")
  }
}

extension AppliedStep {
  /// Returns the note of the step's file; nil if the file replaces folded steps, and the store ran the
  /// original step. Such a note is about all of these steps, and does not apply to the original step.
  package func note(of file: MigrationStep) -> String? {
    file.folds.isEmpty || file.canonicalText == text ? file.note : nil
  }
}
