// Copies the files of a database while a connection works on it. Each copy is what the process would
// leave if it were killed at that moment.

package import CipherSQLite
package import Foundation

/// Copies a database when statements of a connection end.
package final class CrashWatch: Sendable {
  /// A copy, and the number of statements that had ended.
  package struct Copy: Sendable {
    package let statement: Int
    package let url: URL
  }

  private struct State {
    var statements = 0
    var copies: [Copy] = []
    var error: (any Error)?
  }
  private let state = Locked(State())
  private let file: URL
  private let folder: TestFolder
  private let stride: Int

  /// Creates a watch, which takes its copies in a separate folder.
  /// - Parameters:
  ///   - file: The database.
  ///   - stride: The number of statements from one copy to the next; 0 only counts statements.
  package init(_ file: URL, every stride: Int) throws {
    self.file = file
    self.stride = stride
    folder = try TestFolder(isInMemory: true)
  }

  /// The number of statements that have ended.
  package var statements: Int { state.withLock { $0.statements } }

  /// Returns the copies.
  /// - Throws: The error of a copy that failed.
  package func copies() throws -> [Copy] {
    try state.withLock { state in
      if let error = state.error { throw error }
      return state.copies
    }
  }

  /// Watches a connection until it is closed, or until ``leave(_:)``.
  package func watch(_ connection: Connection) throws {
    // With a small cache, pages are written before the commit, as in a large change.
    if stride > 0 { try connection.setPragma("cache_size", to: 10) }
    connection.onStatement { [self] _ in
      state.withLock { state in
        state.statements += 1
        guard stride > 0, state.statements % stride == 0, state.error == nil else { return }
        let url = folder.file("\(state.statements).store")
        do {
          try copyDatabaseFiles(file, to: url)
          state.copies.append(Copy(statement: state.statements, url: url))
        } catch { state.error = error }
      }
    }
  }

  package func leave(_ connection: Connection) { connection.onStatement(nil) }

  /// Returns the numbers of the moments to try: all, or `most` of them, spread evenly and including the
  /// first and, if `most` is above 1, the last.
  static func moments(of count: Int, most: Int) -> [Int] {
    guard count > most else { return count > 0 ? Array(1...count) : [] }
    guard most > 1 else { return Array((1...count).prefix(max(0, most))) }
    return (0..<most).map { 1 + $0 * (count - 1) / (most - 1) }
  }
}
