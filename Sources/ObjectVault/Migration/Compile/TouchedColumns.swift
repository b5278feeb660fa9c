// Records where a step has written values, so that these are checked.

internal import CipherSQLite

/// The tables and columns that SQL has written to, by their lower-case names.
struct TouchedColumns {
  private(set) var columns: [String: Set<String>] = [:]
  private(set) var tables: Set<String> = []
  /// The tables from which rows may have been deleted. A deletion leaves no values to check.
  private var emptied: Set<String> = []

  /// Every table that was written to, in lower case.
  var writtenTables: Set<String> { tables.union(emptied).union(columns.keys) }

  var isEmpty: Bool { columns.isEmpty && tables.isEmpty }

  /// Records what a statement will write. SQLite reports that while it prepares the statement.
  mutating func note(_ action: AuthorizerAction) {
    switch action {
    case .insert(let table): tables.insert(table.lowercased())
    case .delete(let table): emptied.insert(table.lowercased())
    case .update(let table, let column): insert(table, column: column)
    default: break
    }
  }

  mutating func insert(_ entity: String, column attribute: String) {
    columns[entity.lowercased(), default: []].insert(attribute.lowercased())
  }

  mutating func insert(wholeTable table: String) { tables.insert(table.lowercased()) }

  mutating func rename(entity: String, to new: String?) {
    let (name, new) = (entity.lowercased(), new?.lowercased())
    let (wasWhole, wasEmptied) = (tables.remove(name) != nil, emptied.remove(name) != nil)
    let former = columns.removeValue(forKey: name)
    guard let new else { return }
    if wasWhole { tables.insert(new) }
    if wasEmptied { emptied.insert(new) }
    if let former { columns[new, default: []].formUnion(former) }
  }

  mutating func rename(_ entity: String, column: String, to new: String?) {
    guard columns[entity.lowercased()]?.remove(column.lowercased()) != nil, let new else { return }
    insert(entity, column: new)
  }

  mutating func formUnion(_ other: TouchedColumns) {
    tables.formUnion(other.tables)
    emptied.formUnion(other.emptied)
    columns.merge(other.columns) { $0.union($1) }
  }

  /// Removes a table from the record, because its columns have been checked.
  mutating func remove(_ table: String) {
    columns[table.lowercased()] = nil
    tables.remove(table.lowercased())
  }

  /// Whether a statement may update a column of existing rows. Inserted and replaced rows do not count.
  func updates(_ table: String, column: String) -> Bool {
    columns[table.lowercased()]?.contains(column.lowercased()) == true
  }

  /// Whether anything in a table was written, apart from deletions.
  func contains(_ entity: String) -> Bool {
    tables.contains(entity.lowercased()) || columns[entity.lowercased()]?.isEmpty == false
  }

  func contains(_ entity: String, column: String) -> Bool {
    tables.contains(entity.lowercased())
      || columns[entity.lowercased()]?.contains(column.lowercased()) == true
  }
}
