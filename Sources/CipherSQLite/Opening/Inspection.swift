// Looking at a file without changing a byte of it.
//
// Whoever looks must read in a transaction that those who write know of: a file that nobody uses at this moment may be
// in use at the next. So the file is opened as any reader opens it, and what that needs beside a file in WAL mode (-shm,
// and an empty -wal) is removed again, unless somebody has begun to use it. Only where nobody at all can write, or
// where the caller vouches for that, the file is read without a lock.

private import Foundation

/// A connection for looking only, with whatever it needed to be opened.
public final class Inspection {
  /// The connection. Its path may be that of a copy.
  public let connection: Connection
  /// The path that was asked for.
  public let path: String
  private let file: DatabasePath
  private let copy: InspectionCopy?
  /// What was not there before, and goes with this object.
  private let isIndexOurs: Bool

  /// Opens a file for looking.
  ///
  /// A file in WAL mode that nobody uses gets its `-shm` and an empty `-wal` while this object lives. A file whose last
  /// user died within a transaction has a journal that has to be put back: that is done on a copy, as encrypted as the
  /// file, in a private folder that goes with this object.
  /// - Parameters:
  ///   - path: The file.
  ///   - key: Its key.
  ///   - busyTimeout: How long to wait for somebody else's lock, in seconds.
  ///   - profile: Its settings, as in ``Connection/Configuration/profile``.
  ///   - immutable: Promises that nobody writes meanwhile: takes no lock and creates no file beside it. Where a log or a
  ///     journal has content, it is read with the file from a copy, as above.
  /// - Throws: ``SQLError``, as ``Connection/open(_:key:configuration:)``; ``SQLError/logUnreadable(file:)`` where this
  ///   user may read the file, but not make its `-shm`; ``SQLError/journalTooLarge(file:byteCount:)``.
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
    let isUnchangeable = immutable || PathState.isOnReadOnlyMedium(file)
    if isUnchangeable, !InspectionCopy.isNeeded(file) {
      configuration.access = .immutable
      (copy, isIndexOurs) = (nil, false)
      connection = try Connection.open(file, key: key, configuration: configuration)
      return
    }
    // Whoever may only read must not leave files beside it that keep its owner out.
    if !isUnchangeable, !PathState.isWritable(file), FileStatus(file.sharedMemory) == nil {
      let unlocked = try UnlockedKey.unlock(path: file, key: key, profile: profile, seconds: busyTimeout)
      let header = PageHeader(of: try RawFile.open(file), unlocked, reserved: unlocked.profile.reservedBytes)
      if header?.isWriteAheadLogged ?? false { throw SQLError.logUnreadable(file: file.given) }
    }
    // One that a killed process left, with nothing in the log, nobody needs either.
    let isIndexOurs = FileStatus(file.sharedMemory) == nil || FileStatus(file.log)?.byteCount ?? 0 == 0
    do {
      guard !isUnchangeable else { throw SQLError.interruptedWrite(file: file.given) }
      let (file, access) = (file, configuration)
      connection =
        isIndexOurs
        ? try InspectedFiles.open(file) { try Connection.open(file, key: key, configuration: access) }
        : try Connection.open(file, key: key, configuration: access)
      (copy, self.isIndexOurs) = (nil, isIndexOurs)
    } catch SQLError.interruptedWrite {
      let copy = try InspectionCopy(of: file, seconds: busyTimeout)
      configuration.access = .readWrite
      connection = try Connection.open(copy.file, key: key, configuration: configuration)
      try connection.executeScript("PRAGMA query_only = ON")
      (self.copy, self.isIndexOurs) = (copy, false)
    } catch {
      if isIndexOurs { Self.removeIndex(of: file) }
      throw error
    }
  }

  deinit {
    guard isIndexOurs else { return connection.close() }
    InspectedFiles.close(file) {
      connection.close()
      Self.removeIndex(of: file)
    }
  }

  /// How the file keeps its journal: from its header, where the connection takes it as immutable.
  public func journalMode() throws -> String {
    guard connection.configuration.access == .immutable else {
      return try connection.value("PRAGMA journal_mode")?.string ?? "delete"
    }
    let key = connection.unlocked
    let header = PageHeader(of: try RawFile.open(file), key, reserved: key.profile.reservedBytes)
    return header?.isWriteAheadLogged ?? false ? "wal" : "delete"
  }

  /// Removes the index of a log, and a log without content, when nobody uses the file: who does holds a lock, and
  /// nobody can begin to while this holds one. SQLite does the same when the last connection is closed that may write.
  private static func removeIndex(of file: DatabasePath) {
    guard let raw = try? RawFile.open(file, forWriting: true),
      (try? raw.lock(.exclusive, of: file, seconds: 0)) != nil, !raw.hasMoved
    else { return }
    InspectedFiles.unlinkIndex(of: file)
  }
}
