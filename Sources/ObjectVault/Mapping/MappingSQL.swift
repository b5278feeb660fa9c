// The statements that read and write rows, members and links. What is asked for by a predicate is compiled in Select.

internal import CipherSQLite

/// How many ids go into one IN list: few enough for the older engine, and always the same number but for the
/// last, so that the statement cache serves them.
let batchSize = 500

/// So many question marks.
func marks(_ count: Int) -> String { [String](repeating: "?", count: count).joined(separator: ", ") }

extension EntityMapping {
  /// The whole rows of so many ids.
  func rowsSQL(count: Int) -> String {
    count == 1
      ? "SELECT \(objectColumns) FROM \(table) t0 WHERE t0.\"id\" = ?"
      : "SELECT \(objectColumns) FROM \(table) t0 WHERE t0.\"id\" IN (\(marks(count)))"
  }

  /// The version of one row; no row where it is gone.
  var versionSQL: String { "SELECT \"_version\" FROM \(table) WHERE \"id\" = ?" }

  /// The ids and versions of so many rows.
  func versionsSQL(count: Int) -> String {
    "SELECT \"id\", \"_version\" FROM \(table) WHERE \"id\" IN (\(marks(count)))"
  }

  /// Another version of one row.
  var versionUpdateSQL: String { "UPDATE \(table) SET \"_version\" = ? WHERE \"id\" = ?" }

  /// Whether there is a row.
  var existenceSQL: String { "SELECT 1 FROM \(table) WHERE \"id\" = ?" }

  /// The values of some columns of one row.
  func valuesSQL(_ slots: [Int]) -> String {
    let columns = slots.map { self.slots[$0].column } + ["\"id\""]
    return "SELECT \(columns.joined(separator: ", ")) FROM \(table) WHERE \"id\" = ?"
  }

  /// The ids and the values of one column of so many rows.
  func columnSQL(_ slot: Int, count: Int) -> String {
    "SELECT \"id\", \(slots[slot].column) FROM \(table) WHERE \"id\" IN (\(marks(count)))"
  }

  /// The ids and all values of so many rows.
  func wholeRowsSQL(count: Int) -> String {
    let columns = ["\"id\""] + storedSlots.map { slots[$0].column }
    return "SELECT \(columns.joined(separator: ", ")) FROM \(table) WHERE \"id\" IN (\(marks(count)))"
  }

  /// New values of some columns of one row, whatever its version, which is the next then.
  func rewriteSQL(_ slots: [Int]) -> String {
    let columns = slots.map { "\(self.slots[$0].column) = ?, " }.joined()
    return "UPDATE \(table) SET \(columns)\"_version\" = \"_version\" + 1 WHERE \"id\" = ?"
  }

  /// New values of some columns of one row, if it still has a version.
  func updateSQL(_ slots: [Int]) -> String {
    let columns = slots.map { "\(self.slots[$0].column) = ?, " }.joined()
    // One row, which OR FAIL changes or leaves as ABORT would; ABORT makes the engine copy each page for the case that the
    // statement alone is undone, and SQLCipher 3 keeps the copies until the outermost savepoint ends.
    return "UPDATE OR FAIL \(table) SET \(columns)\"_version\" = \"_version\" + 1 "
      + "WHERE \"id\" = ? AND \"_version\" = ?"
  }

  /// New values of some columns of one row whatever its version, which stays.
  func overwriteSQL(_ slots: [Int]) -> String {
    "UPDATE \(table) SET \(slots.map { "\(self.slots[$0].column) = ?" }.joined(separator: ", ")) WHERE \"id\" = ?"
  }

  /// NULL in some columns of rows, whose versions stay.
  func clearSQL(_ slots: [Int], count: Int) -> String {
    let columns = slots.map { "\(self.slots[$0].column) = NULL" }.joined(separator: ", ")
    return "UPDATE \(table) SET \(columns) WHERE \"id\" IN (\(marks(count)))"
  }

  /// NULL in the to-one of rows, which are new versions then.
  func releaseSQL(_ slot: Int, count: Int) -> String {
    "UPDATE \(table) SET \(slots[slot].column) = NULL, \"_version\" = \"_version\" + 1 "
      + "WHERE \"id\" IN (\(marks(count)))"
  }

  /// The ids that the to-one of rows leads to.
  func targetsSQL(_ slot: Int, count: Int) -> String {
    let column = slots[slot].column
    return "SELECT \(column) FROM \(table) WHERE \"id\" IN (\(marks(count))) AND \(column) NOT NULL"
  }

  /// The ids of the rows whose to-one leads to some ids.
  func referrersSQL(_ slot: Int, count: Int) -> String {
    "SELECT \"id\" FROM \(table) WHERE \(slots[slot].column) IN (\(marks(count)))"
  }

  func deleteSQL(count: Int) -> String { "DELETE FROM \(table) WHERE \"id\" IN (\(marks(count)))" }
}

extension RelationshipMapping {
  /// The whole rows at the other end of a to-many; with the owner's id as last column if asked.
  func membersSQL(ownerCount: Int, withOwner: Bool) -> String {
    let columns = destination.objectColumns
    let owners = ownerCount == 1 ? "= ?" : "IN (\(marks(ownerCount)))"
    switch storage {
    case .join(let join, let isSource):
      let (own, other) = join.columns(from: isSource)
      return "SELECT \(columns)\(withOwner ? ", j.\(own)" : "") FROM \(quoted(join.name)) j "
        + "JOIN \(destination.table) t0 ON t0.\"id\" = j.\(other) WHERE j.\(own) \(owners)"
    case .inverseColumn(let column):
      return "SELECT \(columns)\(withOwner ? ", t0.\(column)" : "") FROM \(destination.table) t0 "
        + "WHERE t0.\(column) \(owners)"
    case .column(let column):
      return "SELECT \(columns)\(withOwner ? ", o.\"id\"" : "") FROM \(owner.table) o "
        + "JOIN \(destination.table) t0 ON t0.\"id\" = o.\(column) WHERE o.\"id\" \(owners)"
    }
  }
}

extension JoinTable {
  /// The links of so many objects that are at the source or the target: the source's id, and the target's.
  func linksSQL(fromSource: Bool, count: Int) -> String {
    let (source, target) = columns(from: true)
    return "SELECT \(source), \(target) FROM \(quoted(name)) "
      + "WHERE \(columns(from: fromSource).own) IN (\(marks(count)))"
  }

  /// A link: the source's id, and the target's. One that is there already stays.
  var linkSQL: String {
    let (source, target) = columns(from: true)
    return "INSERT OR IGNORE INTO \(quoted(name)) (\(source), \(target)) VALUES (?, ?)"
  }

  /// The end of a link.
  var unlinkSQL: String {
    let (source, target) = columns(from: true)
    return "DELETE FROM \(quoted(name)) WHERE \(source) = ? AND \(target) = ?"
  }

  /// The end of all links of one object that is at the source or the target.
  func unlinkAllSQL(fromSource: Bool) -> String {
    "DELETE FROM \(quoted(name)) WHERE \(columns(from: fromSource).own) = ?"
  }
}
