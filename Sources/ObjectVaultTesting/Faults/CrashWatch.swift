// Copies of a database's files while a connection works on it: what a process leaves that is killed in that moment.

package import CipherSQLite
package import Foundation

/// Takes copies of a database when statements of a connection end.
package final class CrashWatch: Sendable {
  /// A copy, taken behind so many statements.
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

  /// - Parameters:
  ///   - file: The database.
  ///   - stride: How many statements lie between two copies; 0 takes none, and counts alone.
  package init(_ file: URL, every stride: Int) throws {
    self.file = file
    self.stride = stride
    folder = try TestFolder(isInMemory: true)
  }

  /// How many statements have ended.
  package var statements: Int { state.withLock { $0.statements } }

  /// The copies.
  /// - Throws: What went wrong with one of them.
  package func copies() throws -> [Copy] {
    try state.withLock { state in
      if let error = state.error { throw error }
      return state.copies
    }
  }

  /// Watches a connection until it is closed, or ``leave(_:)``.
  package func watch(_ connection: Connection) throws {
    // So that pages are written before the commit, as a large change would have it.
    if stride > 0 { try connection.setPragma("cache_size", to: 10) }
    connection.onStatement { [self] _ in
      state.withLock { state in
        state.statements += 1
        guard stride > 0, state.statements % stride == 0, state.error == nil else { return }
        let url = folder.file("\(state.statements).store")
        do {
          try copyAsItLies(file, to: url)
          state.copies.append(Copy(statement: state.statements, url: url))
        } catch { state.error = error }
      }
    }
  }

  package func leave(_ connection: Connection) { connection.onStatement(nil) }

  /// Which of so many moments are tried: all, or so many of them, spread evenly, the first and the last among them.
  static func moments(of count: Int, most: Int) -> [Int] {
    guard count > most else { return count > 0 ? Array(1...count) : [] }
    guard most > 1 else { return Array((1...count).prefix(max(0, most))) }
    return (0..<most).map { 1 + $0 * (count - 1) / (most - 1) }
  }
}
