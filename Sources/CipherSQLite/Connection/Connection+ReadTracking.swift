// Which tables and columns statements read, for those who want to know when to run them again.

private import CSQLCipher

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

extension Connection {
  /// Runs `body`, and returns which tables and columns the statements read that it prepares. Statements
  /// that were cached before are prepared again.
  ///
  /// An engine before SQLite 3.20 does not tell of a table of which only rows are counted: see
  /// ``noteRead(of:)`` and ``noteUnknownRead()``.
  package func trackingReads<Result>(_ body: () throws -> Result) throws -> (Result, ReadRegion) {
    let outer = readRegion
    readRegion = ReadRegion()
    defer { readRegion = outer }
    let result = try withAuthorizer({ _ in .allow }) {
      // Safe to read here: it is set above and only changed by additions.
      let result = try body()
      return (result, readRegion ?? ReadRegion())
    }
    return result
  }

  /// Adds a table to the present region, if reads are tracked.
  package func noteRead(of table: String) { readRegion?.add(nil, of: table) }

  /// Notes that a statement of unknown content runs, if reads are tracked and the engine does not tell of
  /// all of them.
  package func noteUnknownRead() {
    if readRegion != nil, sqlite3_libversion_number() < 3_020_000 { readRegion?.addUnknown() }
  }
}
