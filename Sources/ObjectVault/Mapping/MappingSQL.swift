// The statements that read and write rows, members and links. Queries for predicates are compiled in
// Select. The texts are kept by the statement cache, or by the code that runs a statement for each row.

internal import CipherSQLite

/// The number of ids in one IN list. It is below the number of parameters that the older engine allows.
/// All lists but the last have this length, so that the statement cache can reuse the statement.
let batchSize = 500

private let idName = SQLName("id")
/// The table of a feed of single ids.
private let fedIDs = SQLName(RowFeed.tableName(columnCount: 1))
/// The table of a feed of runs of consecutive ids.
private let fedRuns = SQLName(RowFeed.tableName(columnCount: 2))

/// Returns the text of a statement whose values are bound when it runs.
private func text(_ sql: SQL) -> String { sql.text }

extension EntityMapping {
  /// Returns the statement that inserts a row: its id, then these columns.
  func insertStatement(_ columns: [SQLName]) -> String {
    let names = SQL.names([idName] + columns)
    let (more, values) = beginning
    return text("INSERT INTO \(table) (\(names)\(more)) VALUES (\(parameters: columns.count + 1)\(values))")
  }

  /// Returns the statement that inserts the rows of a feed: their ids, then these columns.
  func feedStatement(_ columns: [SQLName]) -> String {
    let names = SQL.names([idName] + columns)
    let feed = SQLName(RowFeed.tableName(columnCount: columns.count + 1))
    // FAIL, and not ABORT: the rows before the one that fails stay, as if each row had a statement of its
    // own. So the engine keeps no copies of pages for undoing this statement alone.
    let (more, values) = beginning
    return text("INSERT OR FAIL INTO \(table) (\(names)\(more)) SELECT *\(values) FROM \(feed)")
  }

  /// The `FROM` of a query for the rows whose ids are in a feed.
  // CROSS fixes the order of the join: the engine does not know how few the ids are, and would start with
  // the table.
  var fedRowsSource: SQL {
    " FROM \(fedIDs) f CROSS JOIN \(table) t0 ON t0.\"id\" = f.\(feedIDName)\(and("t0."))"
  }

  /// The `FROM` of a query for the rows whose ids are in the runs of a feed, each a first and a last id.
  var fedRunsSource: SQL {
    let run: SQL = "t0.\"id\" BETWEEN f.\(feedIDName) AND f.\(feedEndName)"
    return " FROM \(fedRuns) f CROSS JOIN \(table) t0 ON \(run)\(and("t0."))"
  }

  /// The `FROM` of a query for the rows that have one of the keys of a feed: the number of the key, then a
  /// value for each of these slots.
  func fedKeysSource(_ key: [Int]) -> SQL {
    let feed = SQLName(RowFeed.tableName(columnCount: key.count + 1))
    // The column is on the left: its collation compares, and its index finds the rows.
    let matches = columns(key).enumerated().map { number, column -> SQL in
      "t0.\(column) = f.\(RowFeed.columnName(number + 1))"
    }
    return " FROM \(feed) f CROSS JOIN \(table) t0 ON \(SQL.joined(matches, by: " AND "))\(and("+t0."))"
  }

  /// Returns the query for the whole rows that have the values of a key.
  func keyRowsSQL(_ key: [Int]) -> String {
    let matches = SQL.joined(columns(key).map { "t0.\($0) = ?" }, by: " AND ")
    return text("SELECT \(objectColumns) FROM \(table) t0 WHERE \(matches)\(and("+t0."))")
  }

  /// The query for the whole row of one id.
  var rowStatement: String { rowStatement(nil) }

  /// Returns the query for the row of one id.
  /// - Parameter slots: The slots that are read; nil for all but lazy ones.
  func rowStatement(_ slots: [Int]?) -> String {
    text("SELECT \(columns(of: slots)) FROM \(table) t0 WHERE t0.\"id\" = ?\(and("t0."))")
  }

  /// The query for the whole row of one id, which passes the row to a function inside the engine.
  var functionRowStatement: String {
    text("SELECT \(RowFunction.place.call(objectColumns)) FROM \(table) t0 WHERE t0.\"id\" = ?\(and("t0."))")
  }

  /// The query for whole rows in the order of their ids. Its parameters are the id before the first row,
  /// the highest id and the maximum number of rows.
  var batchSQL: String {
    text(
      "SELECT \(objectColumns) FROM \(table) t0 WHERE t0.\"id\" > ? AND t0.\"id\" <= ?\(and("+t0.")) ORDER BY t0.\"id\" LIMIT ?"
    )
  }

  /// The query for the highest id and the number of rows.
  var highestIDAndCountSQL: String {
    let condition: SQL = membership().map { " WHERE \($0)" } ?? ""
    return text("SELECT max(\"id\"), count(*) FROM \(table)\(condition)")
  }

  /// The query for the version of one row. Its result is empty if the row does not exist.
  var versionSQL: String { text("SELECT \"_version\" FROM \(table) WHERE \"id\" = ?") }

  /// Returns the query for the ids and versions of `count` rows.
  func versionsSQL(count: Int) -> String {
    text("SELECT \"id\", \"_version\" FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// The statement that sets the version of one row.
  var versionUpdateSQL: String { text("UPDATE \(table) SET \"_version\" = ? WHERE \"id\" = ?") }

  /// The query for whether a row belongs to the entity or a descendant.
  var existenceSQL: String { text("SELECT 1 FROM \(table) WHERE \"id\" = ?\(and())") }

  /// Returns the query for the row that has the values of a unique key, except the row with a certain id.
  func uniqueKeyHolderSQL(_ key: [Int]) -> String {
    let values = SQL.joined(columns(key).map { "\($0) = ?" }, by: " AND ")
    return text("SELECT \"id\" FROM \(table) WHERE \(values) AND \"id\" <> ?")
  }

  /// Returns the query for the entities of `count` rows: the id of each row, and the number of its entity
  /// in the branch.
  func entitiesSQL(count: Int) -> String {
    text("SELECT \"id\", \(branchNumber("")) FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// Returns the query for the values of some columns of one row.
  /// - Parameter isBranch: Whether the row may belong to a descendant.
  func valuesSQL(_ slots: [Int], isBranch: Bool = true) -> String {
    let names = SQL.names(columns(slots) + [idName])
    return text("SELECT \(names) FROM \(table) WHERE \"id\" = ?\(and(isBranch: isBranch))")
  }

  /// Returns the query for the ids, the versions and the values of some columns of `count` rows.
  func slotsSQL(_ slots: [Int], count: Int) -> String {
    let names = SQL.names([idName, SQLName(RowVersions.column)] + columns(slots))
    return text("SELECT \(names) FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// Returns the query for the ids and the values of one column of `count` rows.
  func columnSQL(_ slot: Int, count: Int) -> String {
    let names = SQL.names([idName] + columns([slot]))
    return text("SELECT \(names) FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// Returns the query for the ids and all values of `count` rows.
  func wholeRowsSQL(count: Int) -> String {
    let names = SQL.names([idName] + columns(storedSlots))
    return text("SELECT \(names) FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// Returns the statement that sets some columns of one row without checking its version, and increases
  /// the version.
  func rewriteSQL(_ slots: [Int]) -> String {
    text("UPDATE \(table) SET \(settingNext(slots)) WHERE \"id\" = ?")
  }

  /// Returns the statement that sets some columns of one row if it still has a certain version.
  /// - Parameter failureUndoesStatement: Whether a failure undoes this statement alone (ABORT, not FAIL).
  ///   To be able to undo it, the engine copies each page that the statement changes, and SQLCipher 3
  ///   keeps the copies until the outermost savepoint ends. Must be true where the statement fires
  ///   triggers, because FAIL would override the conflict clauses inside the triggers.
  func updateSQL(_ slots: [Int], failureUndoesStatement: Bool) -> String {
    text("\(update(failureUndoesStatement)) SET \(settingNext(slots)) WHERE \"id\" = ? AND \"_version\" = ?")
  }

  private func update(_ failureUndoesStatement: Bool) -> SQL {
    failureUndoesStatement ? "UPDATE \(table)" : "UPDATE OR FAIL \(table)"
  }

  /// Returns the statement that sets the columns of these slots in the rows between two ids, to the
  /// values in ``RowChanges``. It skips rows that do not have the version in ``RowChanges``.
  func feedUpdateSQL(_ slots: [Int]) -> String {
    let settings = columns(slots).enumerated().map { "\($1) = \(RowChanges.value($0, id: idName))" as SQL }
    // FAIL: as in ``feedStatement(_:)``.
    return text(
      """
      UPDATE OR FAIL \(table) SET \(SQL.joined(settings + leaving(slots) + [Self.nextVersion])) \
      WHERE "id" BETWEEN ? AND ? AND "_version" = \(RowChanges.version(id: idName))
      """)
  }

  /// Returns the statement that sets some columns of one row. It neither checks nor changes the version.
  func overwriteSQL(_ slots: [Int]) -> String {
    let settings = SQL.joined(columns(slots).map { "\($0) = ?" })
    return text("UPDATE \(table) SET \(settings) WHERE \"id\" = ?")
  }

  /// Returns the statement that clears to-ones of rows that are deleted in the same transaction. It sets
  /// NULL, or in a column that rejects NULL a negative id, which no row has.
  func clearToOnesSQL(_ slots: [Int], count: Int) -> String {
    let settings = SQL.joined(
      slots.compactMap { slot in
        self.slots[slot].columnName.map { isRequired[slot] ? "\($0) = -\"id\"" : "\($0) = NULL" }
      } + leaving(slots))
    return text("UPDATE \(table) SET \(settings) WHERE \"id\" IN (\(parameters: count))")
  }

  /// Returns the statement that sets a to-one of `count` rows to NULL and increases their versions.
  /// - Parameter failureUndoesStatement: As in ``updateSQL(_:failureUndoesStatement:)``.
  func nullifySQL(_ slot: Int, count: Int, failureUndoesStatement: Bool) -> String {
    let settings = SQL.joined(
      columns([slot]).map { "\($0) = NULL" } + leaving([slot]) + [Self.nextVersion])
    return text("\(update(failureUndoesStatement)) SET \(settings) WHERE \"id\" IN (\(parameters: count))")
  }

  /// Returns the query for the ids of those of `count` rows whose to-one is not NULL, and the ids that it
  /// references.
  func targetsSQL(_ slot: Int, count: Int) -> String {
    let column = SQL.names(columns([slot]))
    return text(
      "SELECT \"id\", \(column) FROM \(table) WHERE \"id\" IN (\(parameters: count)) AND \(column) NOT NULL")
  }

  /// Returns the query for the rows whose to-one references one of `count` ids: their ids, and the
  /// referenced ids.
  func referrersSQL(_ slot: Int, count: Int) -> String {
    let name = SQL.names(columns([slot]))
    return text("SELECT \"id\", \(name) FROM \(table) WHERE \(name) IN (\(parameters: count))")
  }

  /// Returns the statement that deletes `count` rows.
  func deleteSQL(count: Int) -> String {
    text("DELETE FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// The statement that deletes all rows whose ids are in a feed.
  var fedDeleteSQL: String {
    text("DELETE FROM \(table) WHERE \"id\" IN (SELECT \(feedIDName) FROM \(fedIDs))")
  }

  /// Returns the query for the lowest of `count` ids for which there is a row.
  func lowestExistingIDSQL(count: Int) -> String {
    text("SELECT min(\"id\") FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  // MARK: Parts of statements

  /// The columns and values of a new row after those of its properties: its first version, and the name
  /// of its entity where several entities share the table.
  private var beginning: (columns: SQL, values: SQL) {
    let (columns, values): (SQL, SQL) = (", \"_version\"", ", \(number: RowVersions.first)")
    return isInHierarchy
      ? ("\(columns), \(Self.entityColumn)", "\(values), \(literal: name)") : (columns, values)
  }

  /// Returns the condition that a row belongs to the entity, where several entities share the table.
  private func and(_ alias: SQL = "", isBranch: Bool = true) -> SQL {
    membership(alias, isBranch: isBranch).map { " AND \($0)" } ?? ""
  }

  private func columns(_ slots: [Int]) -> [SQLName] { slots.compactMap { self.slots[$0].columnName } }

  private static let nextVersion: SQL = "\"_version\" = \"_version\" + 1"

  private func settingNext(_ slots: [Int]) -> SQL {
    .joined(columns(slots).map { "\($0) = ?" } + leaving(slots) + [Self.nextVersion])
  }

  /// Returns assignments that clear the row's positions among the members of the objects that these
  /// to-ones referenced, because the row is no longer a member there.
  private func leaving(_ slots: [Int]) -> [SQL] {
    slots.compactMap { slot in self.slots[slot].relationship?.inverseOrder.map { "\($0) = NULL" } }
  }
}

extension RelationshipMapping {
  /// The query for the members of all owners whose ids are in a feed: the column with the owner's id, and
  /// the text from `FROM` on.
  var fedMembersSource: (owner: SQL, rest: SQL) {
    let (key, tables) = membership
    let rest: SQL = " FROM \(fedIDs) f CROSS JOIN \(tables) WHERE \(key) = f.\(feedIDName)\(kind)\(sorting)"
    return (key, rest)
  }

  /// The query for the whole rows of one owner's members.
  var membersStatement: String {
    let (key, tables) = membership
    return text("SELECT \(destination.objectColumns) FROM \(tables) WHERE \(key) = ?\(kind)\(sorting)")
  }

  /// The column with the owner's id, and the tables that connect it with the members.
  private var membership: (key: SQL, tables: SQL) {
    let table = destination.table
    switch storage {
    case .join(let join, let isSource):
      let (own, other) = join.columns(from: isSource)
      return ("j.\(own)", "\(join.tableName) j CROSS JOIN \(table) t0 ON t0.\"id\" = j.\(other)")
    case .inverseColumn(let column): return ("t0.\(column)", "\(table) t0")
    case .column(let column):
      return ("o.\"id\"", "\(owner.table) o JOIN \(table) t0 ON t0.\"id\" = o.\(column)")
    }
  }

  /// The condition that members belong to the destination: another program may have changed the entity of
  /// their rows.
  private var kind: SQL { destination.membership("+t0.").map { " AND \($0)" } ?? "" }

  /// Sorts by position, members without a position first, and then by id.
  private var sorting: SQL {
    guard let order else { return "" }
    switch storage {
    case .join: return " ORDER BY j.\(order), t0.\"id\""
    case .inverseColumn, .column: return " ORDER BY t0.\(order), t0.\"id\""
    }
  }
}

extension JoinTable {
  /// Returns the query for the links of `count` objects at the source or the target: each row has the
  /// source's id and the target's.
  func linksSQL(fromSource: Bool, count: Int) -> String {
    let (source, target) = columns(from: true)
    let own = columns(from: fromSource).own
    return text("SELECT \(source), \(target) FROM \(tableName) WHERE \(own) IN (\(parameters: count))")
  }

  /// Adds a link of a source's id and a target's; an existing link stays.
  var linkSQL: String { statements.link }

  /// Adds a link that does not exist yet, by a statement without a conflict clause.
  var plainLinkSQL: String { statements.plainLink }

  /// Adds the links of a feed; existing links stay.
  var linkFeedSQL: String { statements.feed }

  /// Removes a link.
  var unlinkSQL: String { statements.unlink }

  /// The query for whether there is a link: one row, or none.
  var isLinkedSQL: String { statements.isLinked }

  /// Returns the statement that removes all links of one object at the source or the target.
  func unlinkAllSQL(fromSource: Bool) -> String {
    text("DELETE FROM \(tableName) WHERE \(columns(from: fromSource).own) = ?")
  }
}

extension RowFunction {
  /// Returns the call of the function with the columns as its arguments.
  func call(_ columns: SQL) -> SQL {
    switch self {
    case .take: "vault_take(\(columns))"
    case .place: "vault_place(\(columns))"
    }
  }
}
