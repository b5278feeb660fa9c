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
  /// Whether the statement changed no relationship.
  var keepsRelationships = false

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

  // MARK: Refusals

  /// Returns why inserted rows cannot be those of objects; nil if they can.
  func refusal(on connection: Connection) throws -> String? {
    for (root, changed) in rows {
      let inserted = RowIDSet(changed.inserted).ids
      // Ids below 1 are those of objects without a row.
      if let lowest = inserted.first, lowest < 1 {
        return "inserts a \(root.name) with the id \(lowest); the ids of objects are 1 or greater"
      }
      guard root.hasChildren else { continue }
      let known = root.relatives.map(\.name)
      for batch in inserted.chunked(500) {
        let sql: SQL = """
          SELECT \(EntityMapping.entityColumn) FROM \(root.table)
          WHERE "id" IN (\(list: batch)) AND \(EntityMapping.entityColumn) NOT IN (\(list: known)) LIMIT 1
          """
        if let value = try connection.value(sql) {
          let name = value.string.map { "\"\(shortened($0))\"" } ?? "of another type than text"
          return "inserts an object of the entity \(name); the table \(root.name) has those of "
            + known.joined(separator: ", ")
        }
      }
    }
    return nil
  }

  // MARK: Replaced rows

  /// Adds the rows of a context's objects that no longer exist, although the engine reported no deletion:
  /// REPLACE has deleted them.
  mutating func addReplaced(among maps: IdentityMaps, on connection: Connection) throws {
    for place in rows.indices {
      let root = rows[place].root
      let loaded = root.relatives.flatMap { maps[$0.index].all.map(\.rowID) }.filter { $0 > 0 }
      for batch in loaded.chunked(500) {
        let sql: SQL = "SELECT \"id\" FROM \(root.table) WHERE \"id\" IN (\(list: batch))"
        let found = Set(try connection.rows(sql).compactMap { $0.first?.int64 })
        rows[place].rows.deleted += batch.filter { !found.contains($0) }
      }
    }
  }

  // MARK: Versions and ids

  /// Gives each changed row a new version, so that contexts that have read it notice the change, and
  /// excludes the ids of new rows from those that will be assigned.
  /// - Parameters:
  ///   - versioned: The table whose rows got their new version from the statement itself; nil for none.
  ///   - row: The only row that did, where not all rows of the table did.
  func finish(on connection: Connection, versioned: String?, onlyRow row: Int64? = nil, _ ids: ReservedIDs)
    throws
  {
    for (root, changed) in rows {
      let inserted = RowIDSet(changed.inserted)
      if root.name != versioned || row != nil {
        let updated = RowIDSet(changed.updated).ids.filter {
          !inserted.contains($0) && !(root.name == versioned && $0 == row)
        }
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
    var (depth, isUpdate, hasOtherTables) = (0, false, false)
    /// The end of the word SET.
    var place: Int?
    /// The name before SET: the table, or its alias.
    var table = ""
    var former = ""
    while let piece = scanner.next() {
      switch piece.kind {
      case .other where scanner.sign(of: piece) == "(": depth += 1
      case .other where scanner.sign(of: piece) == ")": depth -= 1
      case .word where depth == 0:
        let word = scanner.text(piece.range).lowercased()
        switch word {
        case "insert", "replace", "delete", "select": if place == nil { return nil }
        case "update": isUpdate = true
        case "set" where isUpdate: place = place ?? piece.range.upperBound
        // IS DISTINCT FROM names no table.
        case "from" where former != "distinct": hasOtherTables = place != nil
        // After it comes the name of an index.
        case "indexed": if place == nil { return nil }
        default: if place == nil { table = scanner.text(piece.range) }
        }
        former = word
      case .text where depth == 0 && place == nil: table = scanner.text(piece.range)
      case .word, .text, .comment, .other: break
      }
    }
    guard let place else { return nil }
    let column = quoted(RowVersions.column)
    return scanner.text(0..<place) + " \(column) = \(hasOtherTables ? "\(table)." : "")\(column) + 1,"
      + scanner.text(place..<scanner.bytes.count)
  }
}
