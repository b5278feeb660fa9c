// What an opening would do to a store, found out without changing a byte.

public import CipherSQLite
public import Foundation

/// What opening a store with some steps would do.
public struct MigrationPlan: Sendable {
  /// One pending step.
  public struct Step: Sendable {
    /// Its number.
    public let number: Int
    /// Its name.
    public let name: String
    /// Its operations, a line each.
    public let operations: [String]
    /// Its statements for the engine of this process, in order.
    public let sql: [String]
    /// What it loses for good, such as `User.city`.
    public let losses: [String]
    /// What of it the step's author did not allow.
    public let unallowedLosses: [String]
    /// The tables that are written again whole.
    public let rebuiltTables: [String]
  }

  /// The store's version now.
  public let storeVersion: Int
  /// The version of the steps at hand.
  public let availableVersion: Int
  /// The steps that would run, in order.
  public let steps: [Step]
  /// The steps that ran, in order.
  public let history: [AppliedStep]
  /// The size of the file, in bytes.
  public let bytes: Int
  /// The settings of the file.
  public let cipher: CipherProfile
  /// What the tables have that the store's model has not, or the reverse; empty when they agree.
  public let drift: [String]
  /// The oldest version of steps that may still open the store.
  public let minimumReader: Int

  /// Whether an encrypted copy would be made before the steps, because one of them asks for it.
  public let makesBackup: Bool

  /// Whether the file is brought to this library's format first: the columns of links are named after what they
  /// hold, and were called `source_id` and `target_id` before.
  public let changesFormat: Bool

  /// Whether nothing would be done.
  public var isUpToDate: Bool { steps.isEmpty && !changesFormat }
  /// What would be lost for good, of all steps.
  public var losses: [String] { steps.flatMap(\.losses) }
  /// What would be lost without the steps' authors having allowed it.
  public var unallowedLosses: [String] { steps.flatMap(\.unallowedLosses) }
}

extension Store {
  /// What opening the store would do, without changing a byte and without creating a file.
  ///
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - migrations: The steps.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  /// - Throws: The errors that opening would throw: ``StoreError/historyConflict(_:)``,
  ///   ``StoreError/storeIsNewer(file:found:supported:migratedBy:)``, ``StoreError/notAStore(file:)``;
  ///   ``SQLError``.
  public static func plan(
    at url: URL, key: Key, migrations: MigrationSet, profile: CipherProfile? = nil
  ) async throws -> MigrationPlan {
    let key = try await key.resolved()
    return try await detached {
      let inspection = try Inspection(path: url.path, key: key, profile: profile)
      return try MigrationPlan(inspection, migrations)
    }
  }
}

extension MigrationPlan {
  package init(_ inspection: Inspection, _ set: MigrationSet) throws {
    let connection = inspection.connection
    let history: StoreHistory
    do { history = try StoreHistory.read(connection) } catch StoreError.notAStore {
      throw StoreError.notAStore(file: inspection.path)
    }
    try history.check(against: set, file: inspection.path)
    var model = try history.model()
    let expected = model.tables(format: history.format)
    let tables = try expected.map { try connection.tableInfo($0.name) }
    drift = SchemaDifference.lines(found: tables, expected: expected)
    changesFormat = history.format < StoreHistory.currentFormat
    var pending: [Step] = []
    var wantsBackup = false
    for step in set.steps.dropFirst(history.version) {
      let compiled = try step.compiled(from: model, engine: .current)
      let statements = compiled.parts.flatMap(\.statements)
      pending.append(
        Step(
          number: step.number, name: step.name, operations: step.operations.map(\.summary),
          sql: statements.map(\.text), losses: compiled.losses, unallowedLosses: compiled.unallowedLosses,
          rebuiltTables: statements.compactMap {
            if case .copy(let from, _, _, _, _) = $0 { from } else { nil }
          }))
      wantsBackup = wantsBackup || compiled.wantsBackup
      model = compiled.model
    }
    steps = pending
    makesBackup = wantsBackup
    storeVersion = history.version
    availableVersion = set.version
    self.history = history.steps
    let size = try DatabasePath(inspection.path).byteCount
    bytes = size ?? 0
    cipher = connection.unlocked.profile
    minimumReader = history.minimumReader
  }
}
