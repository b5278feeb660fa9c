// Faults that a test causes while a store writes. The engine produces them, in this process, on every
// system.

package import CipherSQLite
internal import Foundation
internal import ObjectVault

/// A fault that a test causes when a store writes.
///
/// The engine itself fails, with its own error codes, on the store's writing connection:
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
/// An armed fault also affects a change of the store's key. That change disarms the fault, whether it
/// succeeds or not, because the store then writes on a new connection.
///
/// Two faults are not offered: a page that is read with damage, and a power loss that keeps some writes
/// and loses others. These require a process on a file system that causes them.
public enum SaveFault: Sendable, Hashable {
  /// The statement with this number, from 1, fails with `SQLError.interrupted`; if it cannot be
  /// interrupted, the next one that can. Later statements run.
  case interrupted(atStatement: Int)
  /// The engine refuses every commit: `SQLError.constraint`.
  case commitRefused
  /// One write or sync fails as on a faulty disk: `SQLError.engine` with the code 10 (`SQLITE_IOERR`).
  /// Later ones succeed.
  case ioError(at: SaveMoment)
  /// The disk is full from this moment on: `SQLError.diskFull`, whenever something is written.
  case noSpace(from: SaveMoment)
  /// The file cannot grow by more than this number of pages: `SQLError.diskFull`. Data that fits into
  /// free or partly filled pages is still written.
  case diskFull(afterPages: Int)
  /// `SIGKILL` ends this process at once. This is for a program that a test runs:
  /// ``TestStore/killed(at:running:arguments:within:)`` arms it there.
  case kill(at: SaveMoment)
}

extension SaveFault: CustomStringConvertible {
  /// The fault in words, such as `interrupted at statement 3`.
  public var description: String {
    switch self {
    case .interrupted(let number): "interrupted at statement \(number)"
    case .commitRefused: "commit refused"
    case .ioError(let moment): "I/O error at \(moment)"
    case .noSpace(let moment): "no space from \(moment) on"
    case .diskFull(let pages): "disk full after \(pages) page\(pages == 1 ? "" : "s")"
    case .kill(let moment): "killed at \(moment)"
    }
  }
}

/// Kills this process as the system would: no more code runs in it. It is a free function, because inside
/// the enum the case `kill` hides the system's function.
private func endProcess() { _ = kill(getpid(), SIGKILL) }

extension SaveFault {
  /// More pages than any file of a test has. Both engines accept this number.
  private static let mostPages = 1_073_741_823

  /// Makes a connection fail from now on.
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
          return state.isReached && (call == .write || call == .commit) ? .isFull : .proceeds
        }
      }
    case .diskFull(let pages):
      let count = try connection.pragma("page_count", as: Int.self) ?? 0
      try connection.setPragma("max_page_count", to: count + max(0, pages))
    }
  }

  /// The calls of a connection so far, and whether the moment was reached.
  private struct State {
    var counts = SaveCounts()
    var isReached = false
  }

  /// Causes one failure at a moment: an error, or the end of the process.
  private func fail(_ connection: Connection, at moment: SaveMoment) throws {
    let state = Locked(State())
    let kills = if case .kill = self { true } else { false }
    let isHalf = if case .halfWrite = moment { true } else { false }
    try connection.onFileCall { call in
      state.withLock { state -> FileAnswer in
        let isReached = state.counts.add(
          !kills && call == .commitWritten ? .committed : call, reaching: moment)
        if kills, call == .torn || (isReached && !isHalf) { endProcess() }
        guard isReached, !state.isReached else { return .proceeds }
        state.isReached = true
        return isHalf ? .tears : .fails
      }
    }
  }

  /// Makes a connection work again.
  package static func disarm(_ connection: Connection) throws {
    connection.onStatement(nil)
    connection.onProgress(every: 1, nil)
    connection.onCommit(nil)
    try connection.onFileCall(nil)
    try connection.setPragma("max_page_count", to: mostPages)
  }
}

extension TestStore {
  /// Makes the store's writes fail from now on. A fault that was armed before is replaced.
  ///
  /// ```swift
  /// try test.arm(.diskFull(afterPages: 0))
  /// let isSaved = (try? await test.store.write { context in
  ///   _ = context.insert(User.self) { $0.name = "Binger" }
  /// }) != nil
  /// try test.disarm()
  /// ```
  /// It waits for writes that were requested before. Other stores that are open on the same file are not
  /// affected.
  /// - Parameter fault: The fault to cause.
  /// - Throws: `SQLError.closed` when the store is closed; `SQLError` for what the engine rejects.
  public func arm(_ fault: SaveFault) throws { try store.withWritingConnection { try fault.arm($0) } }

  /// Makes the store work again.
  /// - Throws: The errors of ``arm(_:)``.
  public func disarm() throws { try store.withWritingConnection { try SaveFault.disarm($0) } }
}
