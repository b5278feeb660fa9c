// A moment while a store writes to its files, at which a disk fails or a process dies.

internal import CipherSQLite

/// A moment while a store writes to its file and to its WAL. Writes and syncs are counted from the time
/// of arming.
///
/// A transaction is written to the WAL and is committed with its last frame. From time to time the WAL is
/// copied into the file.
public enum SaveMoment: Sendable, Hashable, Codable {
  /// Before the write with this number, from 1.
  case write(Int)
  /// During the write with this number, from 1: half of its bytes are written.
  case halfWrite(Int)
  /// Before the sync with this number, from 1. A sync happens when the WAL is begun and when it is copied
  /// into the file; with `isFullSync` also at each commit.
  case sync(Int)
  /// Before the write that commits a transaction; everything else of it is written.
  case commit
  /// When a transaction is committed, and the call that commits it has not returned yet. No write that
  /// could fail is left then, so an error of the disk affects the last write: it is done, and is reported
  /// as failed.
  case committed
}

extension SaveMoment: CustomStringConvertible {
  /// The moment in words, such as `write 3`.
  public var description: String {
    switch self {
    case .write(let number): "write \(number)"
    case .halfWrite(let number): "half of write \(number)"
    case .sync(let number): "sync \(number)"
    case .commit: "the commit"
    case .committed: "the moment after the commit"
    }
  }
}

/// The numbers of writes and syncs of a store.
struct SaveCounts: Sendable, Codable {
  var writes = 0
  var syncs = 0

  /// Counts a call.
  /// - Returns: Whether this call is the one at `moment`, or a later one of the same kind.
  mutating func add(_ call: FileCall, reaching moment: SaveMoment?) -> Bool {
    switch call {
    case .write, .commit: writes += 1
    case .sync: syncs += 1
    case .commitWritten, .committed, .torn, .full: break
    }
    return switch moment {
    case .write(let number), .halfWrite(let number): writes >= number && (call == .write || call == .commit)
    case .sync(let number): syncs >= number && call == .sync
    case .commit: call == .commit
    case .committed: call == .committed
    case nil: false
    }
  }

  /// Returns the moments to try for a run with these counts, spread evenly: up to `most` writes,
  /// alternately before the write and in the middle of it; up to a quarter as many syncs, but at least
  /// one if there is any; the commit, and the moment after it.
  func moments(most: Int) -> [SaveMoment] {
    CrashWatch.moments(of: writes, most: most).enumerated().map {
      $0.isMultiple(of: 2) ? .write($1) : .halfWrite($1)
    }
      + CrashWatch.moments(of: syncs, most: max(1, most / 4)).map { .sync($0) } + [.commit, .committed]
  }
}

extension Connection {
  /// Counts the calls to the connection's files, until the next `onFileCall(_:)`.
  func count(in counts: Locked<SaveCounts>) throws {
    try onFileCall { call in
      _ = counts.withLock { $0.add(call, reaching: nil) }
      return .proceeds
    }
  }
}
