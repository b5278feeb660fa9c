// What can go wrong while a store writes, made to go wrong: by the engine's own means, in this process, on every system.

package import CipherSQLite
internal import ObjectVault

/// What is to go wrong when a store next writes.
///
/// The engine itself fails, with the codes that it has for it, on the store's writing connection. Not among these:
/// an error of the disk at a chosen byte, a page that comes back damaged, and a power loss that keeps some writes and loses
/// others. For those a process has to run on a file system that does so.
public enum SaveFault: Sendable, Hashable {
  /// The statement of this number, from 1, is ended with `SQLError.interrupted`, or the next one that can be; later ones run.
  case interrupted(atStatement: Int)
  /// Every commit is refused by the engine: `SQLError.constraint`.
  case commitRefused
  /// The file cannot grow by more than so many pages: `SQLError.diskFull`. What fits into pages that are free or half full is
  /// still written.
  case diskFull(afterPages: Int)
}

extension SaveFault: CustomStringConvertible {
  /// Such as `interrupted at statement 3`.
  public var description: String {
    switch self {
    case .interrupted(let number): "interrupted at statement \(number)"
    case .commitRefused: "commit refused"
    case .diskFull(let pages): "disk full after \(pages) pages"
    }
  }
}

extension SaveFault {
  /// More pages than any file of a test has; both engines take it.
  private static let mostPages = 1_073_741_823

  /// Lets a connection fail from now on.
  package func arm(_ connection: Connection) throws {
    try Self.disarm(connection)
    switch self {
    case .interrupted(let number):
      let count = Locked((ended: 0, isOver: false))
      connection.onStatement { _ in count.withLock { $0.ended += 1 } }
      connection.onProgress(every: 1) {
        count.withLock { count in
          guard !count.isOver, count.ended >= number - 1 else { return true }
          count.isOver = true
          return false
        }
      }
    case .commitRefused: connection.onCommit { false }
    case .diskFull(let pages):
      let count = try connection.pragma("page_count", as: Int.self) ?? 0
      try connection.setPragma("max_page_count", to: count + max(0, pages))
    }
  }

  /// Lets it work again.
  package static func disarm(_ connection: Connection) throws {
    connection.onStatement(nil)
    connection.onProgress(every: 1, nil)
    connection.onCommit(nil)
    try connection.setPragma("max_page_count", to: mostPages)
  }
}

extension TestStore {
  /// Lets the store's writes fail from now on, instead of what was armed before.
  ///
  /// ```swift
  /// try test.arm(.diskFull(afterPages: 0))
  /// let isSaved = (try? await test.store.write { context in
  ///   _ = context.insert(User.self) { $0.name = "Binger" }
  /// }) != nil
  /// try test.disarm()
  /// ```
  /// It waits for writes that were asked for before. Stores that were opened again on the same file go on working.
  public func arm(_ fault: SaveFault) throws { try store.withWritingConnection { try fault.arm($0) } }

  /// Lets the store work again.
  public func disarm() throws { try store.withWritingConnection { try SaveFault.disarm($0) } }
}
