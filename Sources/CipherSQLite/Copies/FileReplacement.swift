// Replacement of one database file by another. All replacements are made here.
//
// Renaming a new file over an old one is safe only if no process can continue with the old one. A process
// that waits for the old file's lock, or opens that file at this moment, would write to a file without a
// name. Therefore the old file is locked exclusively from the first check to the last sync, and its log and
// journal are removed. When the old file has lost its name, its beginning is overwritten. A process that
// still has it open then gets an error instead of outdated data.

private import CSQLCipher
private import Foundation

/// An exclusive lock on a file: no other connection can open the file while this object exists.
final class FileReplacement {
  /// A connection to the file; nil if the file does not open under the key, which may
  /// be the reason to replace it.
  let connection: Connection?
  let file: DatabasePath
  private let raw: RawFileBox?
  private var isReplaced = false

  // Boxes the noncopyable RawFile, so that an optional property can hold it.
  private final class RawFileBox {
    let value: RawFile
    init(_ value: consuming RawFile) { self.value = value }
  }

  private init(_ file: DatabasePath, connection: Connection?, raw: RawFileBox?) {
    self.file = file
    self.connection = connection
    self.raw = raw
  }

  deinit { connection?.close() }

  /// Locks a file that opens under the key.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` while another connection has it open in WAL
  ///   mode, or reads or writes it; as ``Connection/open(_:key:configuration:)``.
  static func take(
    _ file: DatabasePath, unlocked: UnlockedKey, configuration: Connection.Configuration
  ) throws -> FileReplacement {
    try checkReplaceable(file)
    let deadline = Deadline(configuration.busyTimeout)
    while true {
      do {
        return try takeInOneAttempt(file, unlocked: unlocked, configuration: configuration)
      } catch SQLError.busy(
        let path, _, let holders)
      {
        guard !deadline.isOver else {
          throw SQLError.busy(file: path, waitedSeconds: deadline.waited, holders: holders)
        }
        Thread.sleep(forTimeInterval: .random(in: 0.002...0.02))
      }
    }
  }

  /// The busy timeout of one attempt, in seconds. It is short because of connections that want to commit.
  /// While this connection waits for the rest of the lock, it keeps the part that it has already, and they
  /// wait for that part.
  private static let attemptSeconds = 0.05

  private static func takeInOneAttempt(
    _ file: DatabasePath, unlocked: UnlockedKey, configuration: Connection.Configuration
  ) throws -> FileReplacement {
    var patient = configuration
    patient.busyTimeout = min(configuration.busyTimeout, attemptSeconds)
    return try OpenRetry(file, seconds: configuration.busyTimeout).run { _ in
      let connection = try Connection.keyed(file, unlocked: unlocked, configuration: patient)
      do {
        // Before the first read. In WAL mode SQLite then takes its exclusive lock with that read, and
        // keeps the index of the log in process memory; in other modes the transaction takes the lock.
        // The lock stays until the connection is closed.
        try connection.executeScript("PRAGMA main.locking_mode = EXCLUSIVE")
        try connection.execute("BEGIN EXCLUSIVE")
        try connection.execute("COMMIT")
        guard !connection.hasMoved else { throw SQLError.fileReplaced(file: file.given) }
        try connection.applySettings()
        connection.isVerified = true
      } catch SQLError.engine(let code, _, _, _) where code == 26 || code == 11 {
        throw connection.meaning()
      } catch SQLError.busy(let path, let seconds, _) {
        // This connection has one part of the lock; the processes with the other part are looked up.
        throw SQLError.busy(
          file: path, waitedSeconds: seconds, holders: LockHolder.blocking(file, isWriting: true))
      }
      return FileReplacement(file, connection: connection, raw: nil)
    }
  }

  /// Locks a file that is to be replaced, whether it opens or not. The lock is on the file itself, so it
  /// also works between processes that cannot see each other.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``, ``SQLError/permissionDenied(file:)``,
  ///   ``SQLError/readOnly(file:)``; for a file that opens, ``SQLError/severalNames(file:count:)`` and
  ///   ``SQLError/ownerWouldChange(file:)``.
  static func take(_ file: DatabasePath, key: Key, configuration: Connection.Configuration) throws
    -> FileReplacement
  {
    do {
      let opened = try Connection.open(file, key: key, configuration: configuration)
      let unlocked = opened.unlocked
      opened.close()
      return try take(file, unlocked: unlocked, configuration: configuration)
    } catch let error as SQLError {
      switch error {
      case .wrongKey, .logUnderOtherKey, .corrupted, .notADatabase, .notEncrypted, .cipherSettingsMismatch,
        .emptyFile,
        .saltMissing,
        .unauthenticated, .keyChanged, .engine, .readOnly:
        return try takeWithoutOpening(file, seconds: configuration.busyTimeout)
      default: throw error
      }
    }
  }

  private static func takeWithoutOpening(_ file: DatabasePath, seconds: Double) throws -> FileReplacement {
    // Locking needs write permission.
    guard PathState.isWritable(file) else { throw SQLError.readOnly(file: file.given) }
    return FileReplacement(
      file, connection: nil, raw: RawFileBox(try RawFile.open(file, holding: .exclusive, seconds: seconds)))
  }

  /// Throws the errors that would prevent the replacement, before anything is built.
  private static func checkReplaceable(_ file: DatabasePath) throws {
    guard let status = FileStatus(file.path) else { throw SQLError.notFound(file: file.given) }
    Leftovers.sweep(file.folder)
    try PathState.requireOneName(file)
    guard status.isOwn || geteuid() == 0 else { throw SQLError.ownerWouldChange(file: file.given) }
  }

  /// Replaces the file with another one, which gets the owner, group and mode of the old file.
  ///
  /// - Throws: As ``SealedFile/replace(_:)``. Then the file is unchanged. Exception: if the disk fails after
  ///   the renaming, the path has the new file.
  func replace(with sealed: SealedFile) throws {
    guard let old = FileStatus(file.path), !isReplaced else { throw SQLError.notFound(file: file.given) }
    let aside = RenamedLogs(of: file, old)
    let wasWAL = try connection?.value("PRAGMA main.journal_mode")?.string == "wal"
    do {
      if let connection {
        // Copies the log to the file and deletes the log. The lock stays.
        if wasWAL, try connection.value("PRAGMA main.journal_mode = delete")?.string != "delete" {
          throw connection.waitingError()
        }
        // Log and journal are obsolete, but the engine does not report whether it could remove them. It
        // would apply a remaining log or journal to the new file.
        try Self.remove(file.log, file)
        try Self.remove(file.journal, file)
      } else {
        try aside.renameLogs()
      }
      // The shared memory is not needed: the engine rebuilds it from the log.
      try Self.remove(file.sharedMemory, file)
      try sealed.replace(old)
    } catch {
      // The renaming may have succeeded before the sync of the folder failed.
      isReplaced = FileStatus(file.path)?.isSameFile(as: old) == false
      if isReplaced { finish(aside) } else { giveUp(aside, wasWAL: wasWAL) }
      throw error
    }
    isReplaced = true
    finish(aside)
  }

  private static func remove(_ path: String, _ file: DatabasePath) throws {
    guard unsafe unlink(path) == 0 || errno == ENOENT else { throw SQLError.failed("unlink", on: file.given) }
  }

  /// Gives up the replacement: restores the file's log and journal, or its journal mode.
  private func giveUp(_ aside: RenamedLogs, wasWAL: Bool) {
    aside.restoreNames()
    guard let connection else { return }
    // A new connection sets the journal mode. This connection's journal was unlinked, so its change could
    // not be rolled back after a crash.
    let (unlocked, configuration) = (connection.unlocked, connection.configuration)
    connection.close()
    guard wasWAL, let next = try? Connection.open(file, unlocked: unlocked, configuration: configuration)
    else {
      return
    }
    try? next.setJournalMode(.wal)
    next.close()
  }

  /// Removes the former file's log and journal, and overwrites its beginning, for processes that still have
  /// that file open. It has no name any more.
  private func finish(_ aside: RenamedLogs) {
    aside.remove()
    unsafe overwriteBeginning(of: connection.map { unsafe rawFile(of: $0.handle) } ?? raw?.value.file)
  }
}
