// The header of a migration file: keys with typed values. Each key occurs at most once, except `replaces`.

struct MigrationHeader {
  enum Key: String, CaseIterable {
    case format, name, note, reader, backup, allow, replaces
  }

  /// A fault of a header line, with advice on its correction.
  struct Problem: Error {
    let reason: String
    let hint: String
    /// The key whose line has the fault; nil for the line that was just read.
    var key: Key?
  }

  private(set) var name: String?
  private(set) var note: String?
  private(set) var reader: Int?
  private(set) var backup = BackupRule.auto
  private(set) var allowed: [String] = []
  /// The steps that this step replaces.
  private(set) var folds: [FoldedStep] = []
  /// The line of each key, counted from 0.
  private(set) var lines: [Key: Int] = [:]

  mutating func take(_ key: Key, _ value: String, line: Int) throws(Problem) {
    guard lines[key] == nil || key == .replaces else {
      throw Problem(
        reason: "\(key) occurs twice",
        hint: key == .allow
          ? "write all on one line: allow: lossy:User.city, lossy:User.age" : "remove one")
    }
    lines[key] = line
    switch key {
    case .format:
      guard value == "1" else {
        // A later format may change the meaning of words.
        throw Int(value).map { $0 > 1 } == true
          ? Problem(reason: "format \(value) is the format of a later release", hint: "update this program")
          : Problem(reason: "format \(value) is unknown", hint: "write format: 1")
      }
    case .name: name = value
    case .note: note = value
    case .reader:
      guard let number = Int(value) else {
        throw Problem(
          reason: "reader takes a number",
          hint: "write the number of the oldest step whose programs may still open the store"
        )
      }
      reader = number
    case .backup:
      guard let rule = BackupRule(rawValue: value) else {
        throw Problem(
          reason: "\(value) is not a rule for backups",
          hint: "write backup: \(BackupRule.allCases.map(\.rawValue).joined(separator: ", or backup: "))")
      }
      backup = rule
    case .allow: allowed = try Self.permissions(value)
    case .replaces:
      guard let step = FoldedStep(value), step.number == folds.count + 1 else {
        throw Problem(
          reason: "replaces must list each step from 0001 on, in order",
          hint: "write a line for each step, like replaces: 0001 initial s1:…")
      }
      folds.append(step)
    }
  }

  /// Parses the permissions after `allow:`, which are separated by commas or spaces.
  private static func permissions(_ value: String) throws(Problem) -> [String] {
    let words = value.split { $0 == "," || $0.isWhitespace }.map(String.init)
    for word in words {
      let names = MigrationStep.loss(allowedBy: word)?.split(separator: ".", omittingEmptySubsequences: false)
      guard let names, names.allSatisfy({ !$0.isEmpty }) else {
        throw Problem(
          reason: "\"\(word)\" cannot be allowed",
          hint: "write allow: lossy:User.city, with lossy: before each name")
      }
    }
    return words
  }

  /// Returns the first contradiction between the header and the number or name of its file; nil if there
  /// is none. A `name:` that differs from the file's name is no contradiction: the file may have been
  /// renamed, and the lint reports it.
  func misfit(number: Int, name: String) -> Problem? {
    if let reader, !(1...max(1, number)).contains(reader) {
      return Problem(
        reason: "reader \(reader) is not a version up to this step",
        hint: "write the oldest version that may still open the store: 1 to \(number)", key: .reader)
    }
    if let last = folds.last, last.number != number || last.name != name {
      return Problem(
        reason: "the last step that it replaces is \(numbered(last.number)) \(last.name)",
        hint: "a file that replaces steps has the number and the name of the last one", key: .replaces)
    }
    return nil
  }
}
