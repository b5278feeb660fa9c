// Verifies that a new database is complete, with a connection that did not write it. An unverified file
// does not get its name.

extension NewFile {
  /// Verifies that the file is a complete database: its log and its journal are empty, it has as many
  /// pages as its header states, it begins with its salt unless its header is in clear, and every page
  /// authenticates under the key. No connection may have it open any more.
  /// - Parameters:
  ///   - unlocked: Its key; nil for a clear-text file, whose structure is checked instead.
  ///   - source: A connection that has the functions and collations that the database's schema uses.
  /// - Throws: ``SQLError/verificationFailed(file:reason:)``.
  func sealed(under unlocked: UnlockedKey?, like source: Connection) throws -> SealedFile {
    try sealed(asDatabase: { try prove(under: unlocked, like: source) })
  }

  private func prove(under unlocked: UnlockedKey?, like source: Connection) throws {
    let fail = { (reason: String) in SQLError.verificationFailed(file: self.target.given, reason: reason) }
    let byteCount = FileStatus(file.path)?.byteCount ?? 0
    var configuration = Connection.Configuration()
    configuration.access = .immutable
    let fresh =
      try unlocked.map {
        try Connection.keyed(file, unlocked: $0, configuration: configuration)
      } ?? Connection.plain(file, access: .immutable)
    defer { fresh.close() }
    do {
      try fresh.adoptFunctions(of: source)
      let pageBytes = try unlocked?.profile.pageBytes ?? Int(fresh.value("PRAGMA page_size")?.int64 ?? 0)
      let pages = Int(try fresh.value("PRAGMA page_count")?.int64 ?? 0)
      guard pages > 0, byteCount == pages * pageBytes else {
        throw fail("it has \(byteCount) bytes, but \(pages) pages of \(pageBytes) bytes")
      }
      if let unlocked {
        let raw = try RawFile.open(file)
        guard unlocked.profile.clearHeaderBytes > 0 || raw.read(16, at: 0) == unlocked.salt else {
          throw fail("it does not begin with its salt")
        }
        let damaged = raw.damagedPages(key: unlocked)
        guard damaged.isEmpty else {
          throw fail("\(damaged.count) of its pages \(damaged.count == 1 ? "is" : "are") damaged")
        }
      } else if let problem = try fresh.integrityErrors(isQuick: true).first {
        throw fail(problem)
      }
    } catch SQLError.engine(_, _, let message, _) { throw fail(message) }
  }
}
