// Reads a file without changing a byte of it.
//
// An inspection must read in a transaction that writers can see, because a file that is unused now may be
// in use at the next moment. So the file is opened as by any reader. The files that opening creates next
// to a file in WAL mode (-shm, and an empty -wal) are removed again, unless another process has begun to
// use them. The file is read without a lock only if no process can write to it, or the caller guarantees
// that none does.

private import Foundation

/// A connection for reading only, with the resources that opening it needed.
public final class Inspection {
  /// The connection. It may be to a copy; ``Connection/path`` is that of the inspected file nevertheless.
  public let connection: Connection
  /// The path that the caller gave.
  public let path: String
  private let file: DatabasePath
  private let copy: InspectionCopy?
  /// Whether the index is deleted with this object: it did not exist before, or the log was empty.
  private let deletesIndex: Bool

  /// Opens a file for inspection.
  ///
  /// A file in WAL mode that is not in use gets its `-shm` and an empty `-wal` while this object lives.
  /// If the last user of a file in another mode died within a transaction, the file has a journal that
  /// must be rolled back. The rollback is done on a copy, encrypted like the file, in a private folder
  /// that is deleted with this object.
  /// - Parameters:
  ///   - path: The file.
  ///   - key: Its key.
  ///   - busyTimeout: How long to wait for another connection's lock, in seconds.
  ///   - profile: Its settings, as in ``Connection/Configuration/profile``.
  ///   - immutable: Whether the caller guarantees that no process writes meanwhile. Then no file is
  ///     created next to the file, and no lock is taken. Exception: if a log or a journal has content, a
  ///     copy is read, as above, and the file is locked while it is copied.
  /// - Throws: ``SQLError``, as ``Connection/open(_:key:configuration:)``;
  ///   ``SQLError/logUnreadable(file:)`` if this user may read the file, but not create its `-shm`;
  ///   ``SQLError/journalTooLarge(file:byteCount:)``.
  public init(
    path: String, key: Key, busyTimeout: Double = 5, profile: CipherProfile? = nil, immutable: Bool = false
  ) throws {
    self.path = path
    file = try DatabasePath(path)
    try PathState.existing(file)
    var configuration = Connection.Configuration()
    configuration.busyTimeout = busyTimeout
    configuration.profile = profile
    configuration.access = .readOnly
    let isNeverWritten = immutable || PathState.isOnReadOnlyMedium(file)
    if isNeverWritten, !InspectionCopy.isNeeded(file) {
      configuration.access = .immutable
      (copy, deletesIndex) = (nil, false)
      connection = try Connection.open(file, key: key, configuration: configuration)
      return
    }
    // A user without write permission must not leave files next to the file that lock out its owner.
    if !isNeverWritten, !PathState.isWritable(file), FileStatus(file.sharedMemory) == nil {
      let unlocked = try UnlockedKey.unlock(path: file, key: key, profile: profile, seconds: busyTimeout)
      let header = PageHeader(of: try RawFile.open(file), unlocked, reserved: unlocked.profile.reservedBytes)
      if header?.isWriteAheadLogged ?? false { throw SQLError.logUnreadable(file: file.given) }
    }
    // An index next to an empty log is not needed either: a killed process left it.
    let deletesIndex = FileStatus(file.sharedMemory) == nil || FileStatus(file.log)?.byteCount ?? 0 == 0
    do {
      guard !isNeverWritten else { throw SQLError.interruptedWrite(file: file.given) }
      let (file, access) = (file, configuration)
      connection =
        deletesIndex
        ? try InspectionIndexes.open(file) { try Connection.open(file, key: key, configuration: access) }
        : try Connection.open(file, key: key, configuration: access)
      (copy, self.deletesIndex) = (nil, deletesIndex)
    } catch SQLError.interruptedWrite {
      let copy = try InspectionCopy(of: file, seconds: busyTimeout)
      configuration.access = .readWrite
      connection = try Connection.open(copy.file, key: key, configuration: configuration)
      try connection.executeScript("PRAGMA query_only = ON")
      (self.copy, self.deletesIndex) = (copy, false)
    } catch {
      if deletesIndex { Self.removeIndex(of: file) }
      throw error
    }
  }

  deinit {
    guard deletesIndex else { return connection.close() }
    InspectionIndexes.close(file) {
      connection.close()
      Self.removeIndex(of: file)
    }
  }

  /// Returns the file's journal mode. If the file was opened as immutable, its header is read for that.
  /// - Throws: ``SQLError`` when the file cannot be read.
  public func journalMode() throws -> String {
    guard connection.configuration.access == .immutable else {
      return try connection.value("PRAGMA journal_mode")?.string ?? "delete"
    }
    let key = connection.unlocked
    let header = PageHeader(of: try RawFile.open(file), key, reserved: key.profile.reservedBytes)
    return header?.isWriteAheadLogged ?? false ? "wal" : "delete"
  }

  /// Removes the index of a log, and a log without content, unless the file is in use. Each connection
  /// that uses the file holds a lock; this call takes the exclusive lock, so that no connection begins to
  /// use the file meanwhile. SQLite does the same when the last connection with write access is closed.
  private static func removeIndex(of file: DatabasePath) {
    guard let raw = try? RawFile.open(file, forWriting: true),
      (try? raw.lock(.exclusive, of: file, seconds: 0)) != nil, !raw.hasMoved
    else { return }
    InspectionIndexes.unlinkIndex(of: file)
  }
}
