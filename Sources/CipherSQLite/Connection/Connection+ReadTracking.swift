// Which tables and columns statements read, so that observers know when to run them again.

private import CSQLCipher

extension Connection {
  /// Runs `body`, which prepares statements, and returns the tables and columns that these statements read.
  /// Statements that were cached before are prepared again.
  ///
  /// An engine before SQLite 3.20 does not report a table of which only rows are counted: see
  /// ``noteRead(of:)`` and ``noteUnknownRead()``.
  package func trackingReads<Result>(_ body: () throws -> Result) throws -> (Result, ReadRegion) {
    let outer = readRegion
    readRegion = ReadRegion()
    defer { readRegion = outer }
    let result = try withAuthorizer({ _ in .allow }) {
      // `readRegion` is not nil after `body`: it was set above, and `body` only adds to it.
      let result = try body()
      return (result, readRegion ?? ReadRegion())
    }
    return result
  }

  /// Adds a table to the present region, if reads are tracked.
  package func noteRead(of table: String) { readRegion?.add(nil, of: table) }

  /// Notes that a statement of unknown content runs, if reads are tracked and the engine does not report
  /// all reads.
  package func noteUnknownRead() {
    if readRegion != nil, sqlite3_libversion_number() < 3_020_000 { readRegion?.addUnknown() }
  }
}
