// The tables and columns that were read, as a value.

/// The tables and columns that statements have read.
package struct ReadRegion: Sendable, Hashable {
  /// The names of the columns by table. A table of which only rows were counted has none.
  package private(set) var columns: [String: Set<String>] = [:]
  /// Whether other tables may have been read, too.
  package private(set) var isUnknown = false

  package init() {}

  package mutating func add(_ column: String?, of table: String) {
    columns[table, default: []].formUnion(column.map { $0.isEmpty ? [] : [$0] } ?? [])
  }

  package mutating func addUnknown() { isUnknown = true }

  package mutating func formUnion(_ other: ReadRegion) {
    columns.merge(other.columns) { $0.union($1) }
    isUnknown = isUnknown || other.isUnknown
  }

  /// Returns the part of the region that concerns some tables.
  package func limited(to tables: Set<String>) -> ReadRegion {
    var region = self
    region.columns = columns.filter { tables.contains($0.key) }
    return region
  }
}
