// The rows that an SQL statement of a program has changed, as the engine reports them; and what the store
// does about them, so that other contexts and the ids of new objects remain correct.

internal import CipherSQLite

/// The changed rows of the entities' tables.
struct RowsChangedBySQL {
  /// The ids of the changed rows of one table. An id may occur several times.
  struct Rows {
    var inserted: [Int64] = []
    var updated: [Int64] = []
    var deleted: [Int64] = []
  }

  /// The rows, by the root entity of their table.
  private(set) var rows: [(root: EntityMapping, rows: Rows)] = []
  /// The names of the entities whose objects or links were changed, in alphabetical order. A root entity
  /// stands for its whole inheritance hierarchy.
  private(set) var entities: [String] = []

  /// Collects what was reported.
  /// - Parameter tables: The tables that the statement may write to. The engine reports no rows of the
  ///   tables of links.
  init(_ changes: [RowChange], tables: Set<String>, _ mapping: SchemaMapping) {
    var indexes: [String: Int] = [:]
    for change in changes {
      guard let place = indexes[change.table] ?? add(change.table, to: &indexes, mapping) else { continue }
      switch change.kind {
      case .insert: rows[place].rows.inserted.append(change.rowID)
      case .update: rows[place].rows.updated.append(change.rowID)
      case .delete: rows[place].rows.deleted.append(change.rowID)
      }
    }
    var names = Set(rows.map(\.root.name))
    for relationship in mapping.relationships {
      guard let join = relationship.join?.table.name,
        tables.contains(where: { $0.lowercased() == join.lowercased() })
      else { continue }
      names.formUnion([relationship.owner.root.name, relationship.destination.root.name])
    }
    entities = names.sorted()
  }

  private mutating func add(_ table: String, to indexes: inout [String: Int], _ mapping: SchemaMapping)
    -> Int?
  {
    guard let root = mapping.entity(named: table), root.root === root else { return nil }
    rows.append((root, Rows()))
    indexes[table] = rows.count - 1
    return rows.count - 1
  }

  // MARK: Versions and ids

  /// Gives each changed row a new version, so that contexts that have read it notice the change, and
  /// excludes the ids of new rows from those that will be assigned.
  /// - Parameter versioned: The table whose rows got their new version from the statement itself.
  func finish(on connection: Connection, versioned: String?, _ ids: ReservedIDs) throws {
    for (root, changed) in rows {
      let inserted = RowIDSet(changed.inserted)
      if root.name != versioned {
        let updated = RowIDSet(changed.updated).ids.filter { !inserted.contains($0) }
        try set("\(identifier: RowVersions.column) + 1", of: updated, in: root, on: connection)
      }
      guard let highest = inserted.ids.last else { continue }
      // A row with an id that was assigned before may have the version that a context has read.
      let mark = try IdentifierTable(connection: connection).mark(of: root.name) ?? 0
      try set(
        "\(RowVersions.unusedVersion())", of: inserted.ids.filter { $0 <= mark }, in: root, on: connection)
      try RowIDs(connection: connection, reserved: ids).raise(
        root.name, to: highest, endsOtherReservations: true)
    }
  }

  private func set(_ version: SQL, of ids: [Int64], in root: EntityMapping, on connection: Connection) throws
  {
    for batch in ids.chunked(500) {
      try connection.execute(
        """
        UPDATE \(root.table) SET \(identifier: RowVersions.column) = \(version)
        WHERE "id" IN (\(list: batch))
        """)
    }
  }
}

extension SQLScanner {
  /// Returns an UPDATE that also increases the version of each row; nil for any other statement.
  static func raisingVersions(_ sql: String) -> String? {
    var scanner = SQLScanner(sql)
    var (depth, isUpdate) = (0, false)
    while let piece = scanner.next() {
      switch piece.kind {
      case .other where scanner.sign(of: piece) == "(": depth += 1
      case .other where scanner.sign(of: piece) == ")": depth -= 1
      case .word where depth == 0:
        switch scanner.text(piece.range).lowercased() {
        case "insert", "replace", "delete", "select": return nil
        case "update": isUpdate = true
        case "set" where isUpdate:
          let column = quoted(RowVersions.column)
          return scanner.text(0..<piece.range.upperBound) + " \(column) = \(column) + 1,"
            + scanner.text(piece.range.upperBound..<scanner.bytes.count)
        default: break
        }
      case .word, .text, .comment, .other: break
      }
    }
    return nil
  }
}
