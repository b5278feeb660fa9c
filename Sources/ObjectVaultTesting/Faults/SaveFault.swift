// What can go wrong while a store writes, made to go wrong: by the engine's own means, in this process, on every system.

package import CipherSQLite
internal import Foundation
internal import ObjectVault

/// What is to go wrong when a store next writes.
///
/// The engine itself fails, with the codes that it has for it, on the store's writing connection:
///
/// ```swift
/// let test = try await TestStore(schema)
/// try test.arm(.ioError(at: .commit))
/// let context = test.store.makeContext()
/// let user = context.insert(User.self) { $0.name = "Binger" }
/// let isRefused = (try? context.save()) == nil
/// try test.disarm()
/// try context.save()
/// ```
/// A change of the store's key meets what is armed as well, and ends it, whichever way it goes: behind it the store writes on a
/// new connection.
///
/// Not among these: a page that comes back damaged, and a power loss that keeps some writes and loses others. For those a
/// process has to run on a file system that does so.
public enum SaveFault: Sendable, Hashable {
  /// The statement of this number, from 1, is ended with `SQLError.interrupted`, or the next one that can be; later ones run.
  case interrupted(atStatement: Int)
  /// Every commit is refused by the engine: `SQLError.constraint`.
  case commitRefused
  /// One write or sync fails as on a disk with an error: `SQLError.engine` with the code 10 (`SQLITE_IOERR`). Later ones work.
  case ioError(at: SaveMoment)
  /// The disk is full from that write on: `SQLError.diskFull`, whenever something is written.
  case noSpace(from: SaveMoment)
  /// The file cannot grow by more than so many pages: `SQLError.diskFull`. What fits into pages that are free or half full is
  /// still written.
  case diskFull(afterPages: Int)
  /// This process ends at once, by `SIGKILL`: for a program that a test runs. ``TestStore/killed(at:running:arguments:within:)``
  /// arms it there.
  case kill(at: SaveMoment)
}

extension SaveFault: CustomStringConvertible {
  /// Such as `interrupted at statement 3`.
  public var description: String {
    switch self {
    case .interrupted(let number): "interrupted at statement \(number)"
    case .commitRefused: "commit refused"
    case .ioError(let moment): "I/O error at \(moment)"
    case .noSpace(let moment): "no space from \(moment) on"
    case .diskFull(let pages): "disk full after \(pages) pages"
    case .kill(let moment): "killed at \(moment)"
    }
  }
}

/// As a machine that kills a process does it: nothing more runs in it. The name of the case hides the system's function.
private func endProcess() { _ = kill(getpid(), SIGKILL) }

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
    case .ioError(let moment), .kill(let moment): try fail(connection, at: moment)
    case .noSpace(let moment):
      let state = Locked(State())
      try connection.onFileCall { call in
        state.withLock { state -> FileAnswer in
          if state.counts.add(call, reaching: moment) { state.isReached = true }
          return state.isReached && (call == .write || call == .commit) ? .isFull : .goesOn
        }
      }
    case .diskFull(let pages):
      let count = try connection.pragma("page_count", as: Int.self) ?? 0
      try connection.setPragma("max_page_count", to: count + max(0, pages))
    }
  }

  /// How far a connection has come.
  private struct State {
    var counts = SaveCounts()
    var isReached = false
  }

  /// Once, at a moment: an error, or the end.
  private func fail(_ connection: Connection, at moment: SaveMoment) throws {
    let state = Locked(State())
    let kills = if case .kill = self { true } else { false }
    let isHalf = if case .halfWrite = moment { true } else { false }
    try connection.onFileCall { call in
      state.withLock { state -> FileAnswer in
        let isReached = state.counts.add(
          !kills && call == .commitWritten ? .committed : call, reaching: moment)
        if kills, call == .torn || (isReached && !isHalf) { endProcess() }
        guard isReached, !state.isReached else { return .goesOn }
        state.isReached = true
        return isHalf ? .tears : .fails
      }
    }
  }

  /// Lets it work again.
  package static func disarm(_ connection: Connection) throws {
    connection.onStatement(nil)
    connection.onProgress(every: 1, nil)
    connection.onCommit(nil)
    try connection.onFileCall(nil)
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
  /// - Throws: `SQLError.closed` when the store is closed; `SQLError` for what the engine does not take.
  public func arm(_ fault: SaveFault) throws { try store.withWritingConnection { try fault.arm($0) } }

  /// Lets the store work again.
  /// - Throws: As ``arm(_:)``.
  public func disarm() throws { try store.withWritingConnection { try SaveFault.disarm($0) } }
}
