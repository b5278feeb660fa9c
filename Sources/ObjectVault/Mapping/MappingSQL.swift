// The statements that read and write rows, members and links. What is asked for by a predicate is compiled in Select.
// Their texts are kept by the statement cache, or by whoever runs one of them for each row.

internal import CipherSQLite

/// How many ids go into one IN list: few enough for the older engine, and always the same number but for the
/// last, so that the statement cache serves them.
let batchSize = 500

private let idName = SQLName("id")
/// The table of a feed of ids alone.
private let fedIDs = SQLName(RowFeed.tableName(columnCount: 1))
/// That of runs of ids.
private let fedRuns = SQLName(RowFeed.tableName(columnCount: 2))

/// The text of a statement whose values are given when it runs.
private func text(_ sql: SQL) -> String { sql.text }

extension EntityMapping {
  /// A row of these columns behind its id.
  func insertStatement(_ columns: [SQLName]) -> String {
    let names = SQL.names([idName] + columns)
    let (more, values) = beginning
    return text("INSERT INTO \(table) (\(names)\(more)) VALUES (\(parameters: columns.count + 1)\(values))")
  }

  /// Rows of these columns behind their ids, out of a feed.
  func feedStatement(_ columns: [SQLName]) -> String {
    let names = SQL.names([idName] + columns)
    let feed = SQLName(RowFeed.tableName(columnCount: columns.count + 1))
    // FAIL, and not ABORT: what stands before the row that fails stays, as it would after a statement for each row, and
    // the engine keeps no copies of pages for the case that the statement alone is undone.
    let (more, values) = beginning
    return text("INSERT OR FAIL INTO \(table) (\(names)\(more)) SELECT *\(values) FROM \(feed)")
  }

  /// The `FROM` of a query for the rows whose ids a feed has.
  // CROSS: the engine does not know how few the ids are, and would rather begin with the table.
  var fedRowsSource: SQL {
    " FROM \(fedIDs) f CROSS JOIN \(table) t0 ON t0.\"id\" = f.\(feedIDName)\(and("t0."))"
  }

  /// The `FROM` of a query for the rows whose ids lie between the first and the last id of a pair, of which a feed has many.
  var fedRunsSource: SQL {
    let run: SQL = "t0.\"id\" BETWEEN f.\(feedIDName) AND f.\(feedEndName)"
    return " FROM \(fedRuns) f CROSS JOIN \(table) t0 ON \(run)\(and("t0."))"
  }

  var rowStatement: String {
    text("SELECT \(objectColumns) FROM \(table) t0 WHERE t0.\"id\" = ?\(and("t0."))")
  }

  /// ``EntityMapping/handedRowSQL``.
  var handedRowStatement: String {
    text("SELECT \(RowFunction.place.call(objectColumns)) FROM \(table) t0 WHERE t0.\"id\" = ?\(and("t0."))")
  }

  /// The whole rows of so many ids behind one, none above another, in their order.
  var batchSQL: String {
    text(
      "SELECT \(objectColumns) FROM \(table) t0 WHERE t0.\"id\" > ? AND t0.\"id\" <= ?\(and("+t0.")) ORDER BY t0.\"id\" LIMIT ?"
    )
  }

  /// The highest id, and how many rows there are.
  var extentSQL: String {
    let condition: SQL = membership().map { " WHERE \($0)" } ?? ""
    return text("SELECT max(\"id\"), count(*) FROM \(table)\(condition)")
  }

  /// The version of one row; no row where it is gone.
  var versionSQL: String { text("SELECT \"_version\" FROM \(table) WHERE \"id\" = ?") }

  /// The ids and versions of so many rows.
  func versionsSQL(count: Int) -> String {
    text("SELECT \"id\", \"_version\" FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// Another version of one row.
  var versionUpdateSQL: String { text("UPDATE \(table) SET \"_version\" = ? WHERE \"id\" = ?") }

  /// Whether there is a row of the entity, or of one below it.
  var existenceSQL: String { text("SELECT 1 FROM \(table) WHERE \"id\" = ?\(and())") }

  /// The row that has the values of a unique key, besides the one with an id.
  func holderSQL(_ key: [Int]) -> String {
    let values = SQL.joined(columns(key).map { "\($0) = ?" }, by: " AND ")
    return text("SELECT \"id\" FROM \(table) WHERE \(values) AND \"id\" <> ?")
  }

  /// Of which entities of the branch so many rows are: their ids, and the entity's place.
  func entitiesSQL(count: Int) -> String {
    text("SELECT \"id\", \(branchNumber("")) FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// The values of some columns of one row.
  /// - Parameter isBranch: Whether it may be one of an entity below.
  func valuesSQL(_ slots: [Int], isBranch: Bool = true) -> String {
    let names = SQL.names(columns(slots) + [idName])
    return text("SELECT \(names) FROM \(table) WHERE \"id\" = ?\(and(isBranch: isBranch))")
  }

  /// The ids and the values of one column of so many rows.
  func columnSQL(_ slot: Int, count: Int) -> String {
    let names = SQL.names([idName] + columns([slot]))
    return text("SELECT \(names) FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// The ids and all values of so many rows.
  func wholeRowsSQL(count: Int) -> String {
    let names = SQL.names([idName] + columns(storedSlots))
    return text("SELECT \(names) FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// New values of some columns of one row, whatever its version, which is the next then.
  func rewriteSQL(_ slots: [Int]) -> String {
    text("UPDATE \(table) SET \(settingNext(slots)) WHERE \"id\" = ?")
  }

  /// New values of some columns of one row, if it still has a version.
  /// - Parameter undoesAlone: Whether the engine is to undo the statement alone where it fails. For that it copies each page, and
  ///   SQLCipher 3 keeps the copies until the outermost savepoint ends. But where triggers are fired it has to: what a
  ///   statement says about conflicts goes for its triggers, too, whatever they say.
  func updateSQL(_ slots: [Int], undoesAlone: Bool) -> String {
    text("\(update(undoesAlone)) SET \(settingNext(slots)) WHERE \"id\" = ? AND \"_version\" = ?")
  }

  private func update(_ undoesAlone: Bool) -> SQL {
    undoesAlone ? "UPDATE \(table)" : "UPDATE OR FAIL \(table)"
  }

  /// The same of rows whose ids are in a run, out of ``RowChanges`` of these slots.
  func feedUpdateSQL(_ slots: [Int]) -> String {
    let settings = columns(slots).enumerated().map { "\($1) = \(RowChanges.value($0, id: idName))" as SQL }
    // FAIL: as in ``feedStatement(_:)``.
    return text(
      """
      UPDATE OR FAIL \(table) SET \(SQL.joined(settings + leaving(slots) + [Self.nextVersion])) \
      WHERE "id" BETWEEN ? AND ? AND "_version" = \(RowChanges.version(id: idName))
      """)
  }

  /// New values of some columns of one row whatever its version, which stays.
  func overwriteSQL(_ slots: [Int]) -> String {
    let settings = SQL.joined(columns(slots).map { "\($0) = ?" })
    return text("UPDATE \(table) SET \(settings) WHERE \"id\" = ?")
  }

  /// Nobody in the to-ones of rows that go in the same transaction: NULL, and in a column that takes none the id of a row
  /// that never was.
  func cutSQL(_ slots: [Int], count: Int) -> String {
    let settings = SQL.joined(
      slots.compactMap { slot in
        self.slots[slot].columnName.map { isRequired[slot] ? "\($0) = -\"id\"" : "\($0) = NULL" }
      } + leaving(slots))
    return text("UPDATE \(table) SET \(settings) WHERE \"id\" IN (\(parameters: count))")
  }

  /// NULL in the to-one of rows, which are new versions then.
  /// - Parameter undoesAlone: As in ``updateSQL(_:undoesAlone:)``.
  func releaseSQL(_ slot: Int, count: Int, undoesAlone: Bool) -> String {
    let settings = SQL.joined(
      columns([slot]).map { "\($0) = NULL" } + leaving([slot]) + [Self.nextVersion])
    return text("\(update(undoesAlone)) SET \(settings) WHERE \"id\" IN (\(parameters: count))")
  }

  /// The ids of rows, and those that their to-one leads to.
  func targetsSQL(_ slot: Int, count: Int) -> String {
    let column = SQL.names(columns([slot]))
    return text(
      "SELECT \"id\", \(column) FROM \(table) WHERE \"id\" IN (\(parameters: count)) AND \(column) NOT NULL")
  }

  /// The ids of the rows whose to-one leads to some ids, and whom it leads to.
  func referrersSQL(_ slot: Int, count: Int) -> String {
    let name = SQL.names(columns([slot]))
    return text("SELECT \"id\", \(name) FROM \(table) WHERE \(name) IN (\(parameters: count))")
  }

  func deleteSQL(count: Int) -> String {
    text("DELETE FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  /// The same of all ids of a feed.
  var fedDeleteSQL: String {
    text("DELETE FROM \(table) WHERE \"id\" IN (SELECT \(feedIDName) FROM \(fedIDs))")
  }

  /// The first of so many ids that a row has.
  func presentSQL(count: Int) -> String {
    text("SELECT min(\"id\") FROM \(table) WHERE \"id\" IN (\(parameters: count))")
  }

  // MARK: Pieces

  /// What a new row has behind the columns of its values: its first version, and of which entity it is where others are in
  /// the table.
  private var beginning: (columns: SQL, values: SQL) {
    let (columns, values): (SQL, SQL) = (", \"_version\"", ", \(number: RowVersions.first)")
    return isInFamily
      ? ("\(columns), \(Self.entityColumn)", "\(values), \(literal: name)") : (columns, values)
  }

  /// That a row of the table is one of the entity, where others are in it.
  private func and(_ alias: SQL = "", isBranch: Bool = true) -> SQL {
    membership(alias, isBranch: isBranch).map { " AND \($0)" } ?? ""
  }

  private func columns(_ slots: [Int]) -> [SQLName] { slots.compactMap { self.slots[$0].columnName } }

  private static let nextVersion: SQL = "\"_version\" = \"_version\" + 1"

  private func settingNext(_ slots: [Int]) -> SQL {
    .joined(columns(slots).map { "\($0) = ?" } + leaving(slots) + [Self.nextVersion])
  }

  /// No place in the columns beside these to-ones: who is no member of the former object any more has none there.
  private func leaving(_ slots: [Int]) -> [SQL] {
    slots.compactMap { slot in self.slots[slot].relationship?.inverseOrder.map { "\($0) = NULL" } }
  }
}

extension RelationshipMapping {
  /// A query for the members of those owners whose ids a feed has: the column with the owner's id, and the text from `FROM` on.
  var fedMembersSource: (owner: SQL, rest: SQL) {
    let (key, tables) = membership
    let rest: SQL = " FROM \(fedIDs) f CROSS JOIN \(tables) WHERE \(key) = f.\(feedIDName)\(kind)\(sorting)"
    return (key, rest)
  }

  /// The whole rows at the other end of one owner's to-many.
  var membersStatement: String {
    let (key, tables) = membership
    return text("SELECT \(destination.objectColumns) FROM \(tables) WHERE \(key) = ?\(kind)\(sorting)")
  }

  /// Where the owner's id stands, and the tables of it and the members.
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

  /// That members are of the destination: somebody else may have made their rows those of another entity.
  private var kind: SQL { destination.membership("+t0.").map { " AND \($0)" } ?? "" }

  /// By their places, and those that have none first, by their ids.
  private var sorting: SQL {
    guard let order else { return "" }
    switch storage {
    case .join: return " ORDER BY j.\(order), t0.\"id\""
    case .inverseColumn, .column: return " ORDER BY t0.\(order), t0.\"id\""
    }
  }
}

extension JoinTable {
  /// The links of so many objects that are at the source or the target: the source's id, and the target's.
  func linksSQL(fromSource: Bool, count: Int) -> String {
    let (source, target) = columns(from: true)
    let own = columns(from: fromSource).own
    return text("SELECT \(source), \(target) FROM \(tableName) WHERE \(own) IN (\(parameters: count))")
  }

  /// A link: the source's id, and the target's. One that is there already stays.
  var linkSQL: String { statements.link }

  /// A link where none is, by a statement that says nothing about conflicts.
  var plainLinkSQL: String { statements.plainLink }

  /// The same as ``linkSQL`` of many links.
  var linkFeedSQL: String { statements.feed }

  /// The end of a link.
  var unlinkSQL: String { statements.unlink }

  /// Whether there is a link: one row, or none.
  var isLinkedSQL: String { statements.isLinked }

  /// The end of all links of one object that is at the source or the target.
  func unlinkAllSQL(fromSource: Bool) -> String {
    text("DELETE FROM \(tableName) WHERE \(columns(from: fromSource).own) = ?")
  }
}

extension RowFunction {
  /// The columns as its arguments.
  func call(_ columns: SQL) -> SQL {
    switch self {
    case .take: "vault_take(\(columns))"
    case .place: "vault_place(\(columns))"
    }
  }
}
