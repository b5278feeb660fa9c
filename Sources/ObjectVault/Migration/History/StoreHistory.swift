// The history that a store records of itself. Its own tables (Bookkeeping) are authoritative. Each run also
// writes the version into the file's user_version, but some tools reset it, so no check here relies on it.

internal import CipherSQLite
internal import Foundation

/// The version, model and steps that a store has recorded.
struct StoreHistory: Equatable {
  let steps: [AppliedStep]
  let version: Int
  let modelJSON: String
  let minimumReader: Int
  let generation: Int64
  /// The format of the file: see ``FileFormat``.
  let format: Int
  /// The identity of the store; nil if an earlier release created the store, and no release that writes
  /// the identity has run steps on it.
  let storeID: UUID?
  /// The copies of itself that the store made before steps, as it has recorded them.
  var copies = KeptCopies()

  /// Returns the store's own model.
  func model() throws -> Schema { try Schema(json: modelJSON) }

  /// Compares the history with the available steps.
  /// - Throws: ``StoreError/otherFormat(file:found:supported:)`` for a file of another format,
  ///   ``StoreError/historyConflict(_:)`` for a step that differs,
  ///   ``StoreError/storeIsNewer(file:found:supported:migratedBy:canDowngrade:)`` if the store has later
  ///   steps, and does not allow programs without these steps to open it.
  func check(against set: MigrationSet, file: String) throws {
    try requireKnownFormat(file: file)
    try checkSteps(against: set)
    guard version > set.version else { return }
    if try minimumReader > set.version || recordsMore(than: set) { throw newer(than: set, file: file) }
  }

  /// Whether the store keeps a history of an entity that a program with these steps would change without
  /// recording it, whatever the steps allow.
  private func recordsMore(than set: MigrationSet) throws -> Bool {
    let (model, older) = (try model(), try set.model(at: set.version))
    return model.entities.contains { entity in
      model.flattened(entity).history != nil
        && older.flattenedEntity(named: entity.name)?.history != model.flattened(entity).history
    }
  }

  /// Refuses a file of a format that this release does not support.
  /// - Throws: ``StoreError/otherFormat(file:found:supported:)``.
  func requireKnownFormat(file: String) throws {
    guard !FileFormat.supported.contains(format) else { return }
    throw StoreError.otherFormat(file: file, found: format, supported: FileFormat.supported.upperBound)
  }

  /// Returns the error for a store that is newer than the available steps.
  func newer(than set: MigrationSet, file: String) -> StoreError {
    .storeIsNewer(
      file: file, found: version, supported: set.version,
      migratedBy: steps.last.map {
        "\($0.app) on \($0.appliedAt.prefix(10)), up to step \($0.number) (\($0.name))"
      },
      canDowngrade: isRollback(to: set, file: file))
  }

  /// Whether the store carries rollbacks of the steps that are not available, and the rollbacks need no
  /// missing function of the app.
  private func isRollback(to set: MigrationSet, file: String) -> Bool {
    guard let work = try? work(.back(to: set.version), with: set, file: file) else { return false }
    return work.missingTransform(in: set) == nil
  }

  /// Compares the steps that ran on the store with the available steps.
  /// - Throws: ``StoreError/historyConflict(_:)`` for the first step that differs.
  func checkSteps(against set: MigrationSet) throws {
    for applied in steps {
      if let conflict = set.conflict(with: applied) { throw StoreError.historyConflict(conflict) }
    }
  }

  /// The present time, for the history.
  static func now() -> String { Date().formatted(.iso8601) }

  /// The running program with its version, such as `Notes 4.2`, for the history.
  static var program: String {
    let name = ProgramArguments.program.map { DatabasePath.split($0).name } ?? "unknown"
    let program = RunningProgram.version.map { "\(name) \($0)" } ?? name
    // A history prints the name on one line, whatever characters it has.
    return program.split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}

extension MigrationSet {
  /// Returns the conflicts of the steps that ran on a store with this set.
  package func conflicts(with steps: [AppliedStep]) -> [HistoryConflict] { steps.compactMap(conflict) }

  /// Returns how a step that ran differs from the step with its number; nil if it does not differ, or
  /// there is no such step.
  fileprivate func conflict(with applied: AppliedStep) -> HistoryConflict? {
    guard applied.number <= version else { return nil }
    let step = steps[applied.number - 1]
    guard !step.isRecorded(as: applied.checksum) else { return nil }
    let isElsewhere = steps.contains { $0.checksum == applied.checksum }
    if step.name != applied.name, isElsewhere || !steps.contains(where: { $0.name == applied.name }) {
      return isElsewhere
        ? .reordered(number: applied.number, applied: applied.name, found: step.name)
        : .missing(number: applied.number, name: applied.name)
    }
    // The text of a folded step no longer exists. So no difference can be shown, and the record cannot be
    // repaired.
    if step.isFolded, let fold = steps.first(where: { $0.number >= step.number && !$0.folds.isEmpty }) {
      return .refolded(
        number: applied.number, name: applied.name, applied: applied.checksum, found: step.checksum,
        into: fold.number, intoName: fold.name)
    }
    return .edited(
      number: applied.number, name: applied.name, applied: applied.checksum, found: step.checksum,
      difference: lineDifference(from: applied.text, to: step.canonicalText))
  }
}

/// The version of the running program, which the history records with the program's name.
enum RunningProgram {
  private static let given = Locked<String?>(nil)

  /// The program's version, such as `4.2`: the one that the program has set, else that of its bundle; nil
  /// if there is neither.
  static var version: String? {
    if let version = given.withLock({ $0 }) { return version }
    return Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String
  }

  /// Sets the program's version.
  static func setVersion(_ version: String) { given.withLock { $0 = version } }
}

/// Returns the lines that differ between two texts: removed lines with `-`, then added lines with `+`.
func lineDifference(from old: String, to new: String) -> [String] {
  let (before, after) = (
    old.split(separator: "\n").map(String.init), new.split(separator: "\n").map(String.init)
  )
  let changes = after.difference(from: before)
  return changes.removals.map(\.line) + changes.insertions.map(\.line)
}

extension CollectionDifference<String>.Change {
  fileprivate var line: String {
    switch self {
    case .insert(_, let element, _): "+ \(element)"
    case .remove(_, let element, _): "- \(element)"
    }
  }
}
