// One step of the chain, and its checksum over what it means.

internal import CipherSQLite
private import Foundation

/// When an encrypted copy of the store is made before a step.
public enum BackupRule: String, Sendable, Hashable, CaseIterable {
  /// Before every run of the step.
  case always
  /// Before a step that loses values or rewrites them by SQL: by `transform` or by `retype … using`. The default.
  case auto
  /// Not for the sake of this step.
  case never
}

/// A migration step: one file of the folder, parsed.
public struct MigrationStep: Sendable, Hashable {
  /// Its number, counted from 1; the version that the store has after it.
  public let number: Int
  /// Its name, as in `0002_add_tags.migration`.
  public let name: String
  /// What the author says about it.
  public let note: String?
  /// The oldest version of a program's steps that may still open the store after this step.
  public let reader: Int
  /// The losses that its author allows, such as `lossy:User.city`: what was reviewed with the file needs no flag
  /// of `store-migrate up`.
  public let allowed: [String]
  /// Whether its author wants an encrypted copy of the store to be made before it.
  public let backup: BackupRule
  /// What it does, in order.
  public let operations: [MigrationOperation]
  /// The way back, where the author gave one; kept with the store.
  public let down: [MigrationOperation]?
  /// Why there is no way back, where its author says so: `irreversible "why"` in `[down]`.
  public let irreversible: String?
  /// The steps that it stands for, itself the last of them: those that `MigrationSet.folded(to:)` made one of.
  /// Empty for others.
  public let folds: [FoldedStep]
  /// Of a step that stands in a set for one that was folded into a later one: the checksum of that.
  let foldedChecksum: String?
  /// Where the operations stand in the text that it was parsed from, and those of its `[down]`.
  var lines = OperationLines()
  var downLines = OperationLines()
  /// What the head calls it where the file is called otherwise, as one that was moved.
  var statedName: String?
  /// Of a step as a store carries it: the checksum by which the store knows it, where its text has another.
  var recordedChecksum: String?

  /// Parses the text of a migration file.
  ///
  /// - Parameters:
  ///   - number: The step's number, from 1.
  ///   - name: Its name; one form of it for all that Unicode takes for the same (NFC).
  ///   - text: The file's content.
  ///   - file: How errors call the file; by default number and name.
  /// - Throws: ``StoreError/migrationSyntax(_:)`` with file, line, column and a hint.
  public init(number: Int, name: String, text: String, file: String? = nil) throws {
    // Some systems keep an ö as two signs in the names of files: what is generated of a step is the same on all.
    let name = name.precomposedStringWithCanonicalMapping
    guard number > 0 else {
      throw StoreError.migrationSyntax(
        MigrationSyntaxError(
          file: file ?? Self.fileName(number, name), line: 1, column: 1, reason: "its number is \(number)",
          hint: "numbers go from 1"))
    }
    let isNameOfFile = name.unicodeScalars.allSatisfy { scalar in
      scalar != "/" && scalar != "\0" && !Character(scalar).isNewline
    }
    guard !name.isEmpty, isNameOfFile else {
      throw StoreError.migrationSyntax(
        MigrationSyntaxError(
          file: file ?? Self.fileName(number, name), line: 1, column: 1, reason: "its name is none of a file",
          hint: "call it like add_tags"))
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

  /// The step in which others are folded.
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

  /// What stands in a set for a step that was folded into a later one, which does all of its work.
  init(_ folded: FoldedStep) {
    (number, name, note, reader) = (folded.number, folded.name, nil, 1)
    (allowed, backup, operations, down) = ([], .auto, [], nil)
    irreversible = "it was folded into a later step"
    folds = []
    foldedChecksum = folded.checksum
  }

  /// The loss that a word of ``allowed`` is about; nil for one that is about something else.
  static func loss(allowedBy word: String) -> String? {
    let prefix = "lossy:"
    return word.hasPrefix(prefix) ? String(word.dropFirst(prefix.count)) : nil
  }

  /// Whether its work was folded into a step: this one, or a later one.
  var isFolded: Bool { foldedChecksum != nil || !folds.isEmpty }

  /// Whether it does nothing, because a later step of the set does its work.
  package var isPlaceholder: Bool { foldedChecksum != nil }

  /// Whether a store that recorded this checksum has been through the step.
  func isRecorded(as recorded: String) -> Bool { recorded == checksum || recorded == formerChecksum }

  /// Such as `0002_add_tags.migration`.
  public var fileName: String { Self.fileName(number, name) }

  /// The keys that a head may have.
  package static let headKeys: [String] = MigrationHeader.Key.allCases.map(\.rawValue)

  static func fileName(_ number: Int, _ name: String) -> String { "\(numbered(number))_\(name).migration" }

  /// The `[up]` section in its canonical spelling.
  public var canonicalText: String { operations.map(\.description).joined(separator: "\n") }

  /// `s1:` and the SHA-256 of ``canonicalText``: line ends, comments, spacing, header and path do not count; within a line of
  /// SQL spacing does. Of a step that others were folded into, the checksum that it had before: stores remember that one.
  public var checksum: String {
    foldedChecksum ?? recordedChecksum ?? folds.last?.checksum ?? contentChecksum
  }

  /// The checksum of what the file says now.
  package var contentChecksum: String { "s1:" + sha256(Data(canonicalText.utf8)) }

  /// What the checksum was when blank lines and spaces at the ends of lines were taken out of texts, too; stores
  /// and lock files of then have it.
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

  /// A file that makes the same step.
  public var text: String { text(canonicalText) }

  /// The same file, for who reads and edits it.
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
  /// What the author of a file says of it, where the file is what ran: one that others were folded into has a note about all
  /// of them, and in a store that was there before ran what it was then.
  package func note(of file: MigrationStep) -> String? {
    file.folds.isEmpty || file.canonicalText == text ? file.note : nil
  }
}
