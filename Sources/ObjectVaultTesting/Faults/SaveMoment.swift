// A moment in what a store does to its files while it writes: where a disk fails, or a process dies.

internal import CipherSQLite

/// A moment in what a store does to its file, and to the log beside it, while it writes; counted from when it was
/// armed.
///
/// A transaction is written to the log and counts from its last frame on; now and then the log is copied into the file.
public enum SaveMoment: Sendable, Hashable, Codable {
  /// Before the write of this number, from 1.
  case write(Int)
  /// In the midst of the write of this number, from 1: half of its bytes are written.
  case halfWrite(Int)
  /// Before the sync of this number, from 1. There is one when the log is begun and when it is copied into the file,
  /// and with `isFullSync` at each commit.
  case sync(Int)
  /// When all of a transaction is written but what makes it count.
  case commit
  /// When a transaction counts, and whoever asked for it has not heard yet. No write is left then that could fail: an error of
  /// the disk takes the one before, which is done and told to have failed.
  case committed
}

extension SaveMoment: CustomStringConvertible {
  /// Such as `write 3`.
  public var description: String {
    switch self {
    case .write(let number): "write \(number)"
    case .halfWrite(let number): "half of write \(number)"
    case .sync(let number): "sync \(number)"
    case .commit: "the commit"
    case .committed: "the moment behind the commit"
    }
  }
}

/// How much a store has done to its files.
struct SaveCounts: Sendable, Codable {
  var writes = 0
  var syncs = 0

  /// Counts a call.
  /// - Returns: Whether `moment` is reached by it, or was before.
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

  /// At most so many moments of a run that did so much, spread evenly: the whole and half writes take turns.
  func moments(most: Int) -> [SaveMoment] {
    CrashWatch.moments(of: writes, most: most).enumerated().map {
      $0.isMultiple(of: 2) ? .write($1) : .halfWrite($1)
    }
      + CrashWatch.moments(of: syncs, most: max(1, most / 4)).map { .sync($0) } + [.commit, .committed]
  }
}

extension Connection {
  /// Counts what is done to the files, until ``onFileCall(_:)`` is given something else.
  func count(in counts: Locked<SaveCounts>) throws {
    try onFileCall { call in
      _ = counts.withLock { $0.add(call, reaching: nil) }
      return .goesOn
    }
  }
}
