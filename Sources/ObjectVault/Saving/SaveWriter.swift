// Executes the plan of a save on one connection, in a transaction that the caller opened. Changes no
// object.
//   SaveWriter+Rows         inserts and updates
//   SaveWriter+Changes      updates of many rows in one statement
//   SaveWriter+Unique       unique values that move between objects
//   SaveWriter+Clashes      unique values that other objects keep
//   SaveWriter+Links        links of many-to-manys
//   SaveWriter+Deletions    deletions
//   SaveWriter+References   references to rows that no longer exist
//   SaveWriter+Places       the order of members
//   SaveWriter+Record       the change set, and the history

internal import CipherSQLite

/// Writes one plan.
final class SaveWriter {
  /// The plan. If unique values collide, some of its values are replaced.
  var plan: SavePlan
  let mapping: SchemaMapping
  let maps: IdentityMaps
  let connection: Connection
  /// The changes written so far; nil if no change set is recorded.
  var record: ChangeCollector?
  /// The history of the transaction; nil if none is kept.
  var history: TransactionRecorder?
  /// Whether changes are recorded at all.
  var records: Bool { record != nil || history != nil }
  /// What happens to an object with a unique value that another row has.
  var collisions = CollisionRule.stop
  /// The collisions that were found; empty until `collisions` is `note`.
  var clashes = UniqueClashes()

  init(
    _ plan: SavePlan, mapping: SchemaMapping, maps: IdentityMaps, connection: Connection, records: Bool,
    history: TransactionRecorder? = nil
  ) {
    (self.plan, self.mapping, self.maps, self.connection) = (plan, mapping, maps, connection)
    (record, self.history) = (records ? ChangeCollector() : nil, history)
  }

  /// Writes the plan.
  /// - Parameters:
  ///   - reservedIDs: The ids that the store has reserved; nil in a migration.
  ///   - isLast: Whether the commit follows.
  func write(reservedIDs: ReservedIDs?, isLast: Bool) throws {
    for (entity, ids) in plan.ids.ranges {
      try RowIDs(connection: connection, reserved: reservedIDs).take(
        ids, of: entity.root.name, isLast: isLast)
    }
    try recordDeletedRows()
    let places = try placesBefore()
    try writeRowsInAnyOrder()
    do {
      try writeLinks()
      try delete()
    } catch SQLError.constraint(let message, let code, let sql) {
      throw translated(message, code: code, sql: sql, object: nil)
    }
    try writePlaces()
    try recordPlaces(since: places)
    try history?.store(connection)
    try checkReferences()
  }

  /// Whether writing rows of an entity fires triggers.
  func firesTriggers(_ entity: EntityMapping) throws -> Bool {
    try connection.firesTriggers(table: entity.root.name)
  }

  /// Inserts, then updates.
  func writeRows() throws {
    for (entity, objects) in plan.inserted { try insert(objects, entity) }
    // Contexts that have fetched the former rows must not mistake the new ones for them.
    for (object, version) in plan.revived {
      guard let entity = object.entity else { continue }
      try connection.execute(
        sql: entity.versionUpdateSQL, [.integer(version), .integer(object.rowID)])
    }
    try update()
  }

  // MARK: Errors

  func ignored(
    _ entity: EntityMapping, property: String = "id", id: Int64, what: String
  ) -> StoreError {
    .ignored(entity, property: property, id: id, what: what)
  }

  /// Codes of rules that concern a whole row: SQLITE_CONSTRAINT_CHECK, _FOREIGNKEY, _TRIGGER, _DATATYPE.
  private static let rowRules: Set<Int> = [275, 787, 1811, 3091]

  /// Whether a constraint error is about columns of the model: SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY,
  /// _NOTNULL.
  func isOfModel(_ message: String, _ code: Int) -> Bool {
    [2067, 1555, 1299].contains(code) && mapping.brokenColumns(message) != nil
  }

  /// Translates a constraint error. SQLite's messages name the table and columns:
  /// `UNIQUE constraint failed: User.name, User.city`.
  /// - Parameter object: The object whose row was being written.
  func translated(_ message: String, code: Int, sql: String, object: ManagedObject?) -> any Error {
    let isUnique = Self.isUnique(code)
    if isUnique, let object, let own = object.entity {
      let broken = mapping.brokenColumns(message)
      return UniqueCollision(
        message: message, error: .refused(own, id: object.rowID, message: message),
        columns: broken?.entity.root === own.root ? broken?.columns.map(\.column) ?? [] : [])
    }
    // SQLITE_CONSTRAINT_NOTNULL.
    guard isUnique || code == 1299, let (entity, columns) = mapping.brokenColumns(message) else {
      guard Self.rowRules.contains(code), let object, let entity = object.entity else {
        return SQLError.constraint(message: message, extendedCode: code, sql: sql)
      }
      return StoreError.refused(entity, id: object.rowID, message: message)
    }
    let reason =
      isUnique
      ? ValidationFailure.uniqueness
      : object == nil ? "is required, but the object that it refers to is deleted" : "is required"
    return StoreError.validation([
      ValidationFailure(
        entity: object?.entity?.name ?? entity.name,
        property: columns.map(\.property).joined(separator: ", "),
        rowID: object?.rowID ?? 0, reason: reason)
    ])
  }

  /// Whether the code is SQLITE_CONSTRAINT_UNIQUE or _PRIMARYKEY.
  static func isUnique(_ code: Int) -> Bool { code == 2067 || code == 1555 }
}

extension ValidationFailure {
  /// Returns the failure for a row that is refused by a rule of the file which is not part of the model.
  /// - Parameter property: The property that the rule is about; `id` for the row as a whole.
  static func refused(
    _ entity: EntityMapping, property: String = "id", id: Int64, message: String, what: String? = nil
  ) -> ValidationFailure {
    ValidationFailure(
      entity: entity.name, property: property, rowID: id,
      reason: "\(refusal)\(what.map { ", \($0)" } ?? ""): \(message)")
  }
}

extension StoreError {
  /// Returns the error for a row that is refused by a rule of the file which is not part of the model.
  /// - Parameter message: The engine's message, such as `CHECK constraint failed: adults` or the text of
  ///   a `RAISE(ABORT, …)`.
  /// - Parameter what: The change that was refused, such as `linked to Genre 3`; nil for a row as a
  ///   whole.
  static func refused(
    _ entity: EntityMapping, property: String = "id", id: Int64, message: String, what: String? = nil
  ) -> StoreError {
    .validation([.refused(entity, property: property, id: id, message: message, what: what)])
  }

  /// Returns the error for a statement that had no effect, although the engine reported no error.
  static func ignored(
    _ entity: EntityMapping, property: String = "id", id: Int64, what: String
  ) -> StoreError {
    .validation([
      ValidationFailure(
        entity: entity.name, property: property, rowID: id,
        reason:
          "was not \(what), because a trigger called RAISE(IGNORE); use RAISE(ABORT, 'why') there to report "
          + "the reason"
      )
    ])
  }
}
