// The one way in which a database takes the place of another.
//
// Whoever replaces a file by renaming another over it has to keep away everybody who could go on with the old one: a
// process that waits for a lock on it, or opens it at this moment, would write to a file without a name. So the file
// is held alone from the first look to the last sync, no log of it is left behind, and when it has lost its name its
// content is made unreadable, so that who still has it open meets an error and not yesterday's data.

private import CSQLCipher
private import Foundation

/// A file that nobody else can open while this object lives.
final class FileHold {
  /// Reads the file; nil when it does not open under the key, which may be why it is to be replaced.
  let connection: Connection?
  let file: DatabasePath
  private let raw: RawBox?
  private var isReplaced = false

  // A value that cannot be copied, in an object that can be kept.
  private final class RawBox {
    let value: RawFile
    init(_ value: consuming RawFile) { self.value = value }
  }

  private init(_ file: DatabasePath, _ connection: Connection?, _ raw: RawBox?) {
    self.file = file
    self.connection = connection
    self.raw = raw
  }

  deinit { connection?.close() }

  /// Holds a file that opens.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` while somebody has it open in WAL mode, or works with it;
  ///   as ``Connection/open(_:key:configuration:)``.
  static func take(
    _ file: DatabasePath, unlocked: UnlockedKey, configuration: Connection.Configuration
  ) throws -> FileHold {
    try checkReplaceable(file)
    let deadline = Deadline(configuration.busyTimeout)
    while true {
      do { return try takeOnce(file, unlocked, configuration) } catch SQLError.busy(let path, _, let holders)
      {
        guard !deadline.isOver else {
          throw SQLError.busy(file: path, waitedSeconds: deadline.waited, holders: holders)
        }
        Thread.sleep(forTimeInterval: .random(in: 0.002...0.02))
      }
    }
  }

  /// Waits shortly alone: a connection that shall keep its lock keeps the first part of it, too, while it waits for the
  /// rest, and another that wants to commit would wait for it.
  private static let attemptSeconds = 0.05

  private static func takeOnce(
    _ file: DatabasePath, _ unlocked: UnlockedKey, _ configuration: Connection.Configuration
  ) throws -> FileHold {
    var patient = configuration
    patient.busyTimeout = min(configuration.busyTimeout, attemptSeconds)
    return try Settling(file, seconds: configuration.busyTimeout).run { _ in
      let connection = try Connection.keyed(file, unlocked: unlocked, configuration: patient)
      do {
        // Before the first read: in WAL mode SQLite then takes its exclusive lock with it, and keeps its index of the log
        // in its own memory; in other modes the transaction takes it. It stays until the connection is closed.
        try connection.executeScript("PRAGMA main.locking_mode = EXCLUSIVE")
        try connection.execute("BEGIN EXCLUSIVE")
        try connection.execute("COMMIT")
        guard !connection.hasMoved else { throw SQLError.fileReplaced(file: file.given) }
        try connection.applySettings()
        connection.isVerified = true
      } catch SQLError.engine(let code, _, _, _) where code == 26 || code == 11 {
        throw connection.meaning()
      } catch SQLError.busy(let path, let seconds, _) {
        // It has the first part of the lock itself, and waits for who has the rest.
        throw SQLError.busy(
          file: path, waitedSeconds: seconds, holders: LockHolder.blocking(file, isWriting: true))
      }
      return FileHold(file, connection, nil)
    }
  }

  /// Holds a file that is to go, whatever it is. The lock is the file's own, so that it is seen where processes cannot
  /// see each other.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``, ``SQLError/permissionDenied(file:)``.
  static func take(_ file: DatabasePath, key: Key, configuration: Connection.Configuration) throws -> FileHold
  {
    do {
      let opened = try Connection.open(file, key: key, configuration: configuration)
      let unlocked = opened.unlocked
      opened.close()
      return try take(file, unlocked: unlocked, configuration: configuration)
    } catch let error as SQLError {
      switch error {
      case .wrongKey, .corrupted, .notADatabase, .notEncrypted, .cipherSettingsMismatch, .emptyFile,
        .saltMissing,
        .unauthenticated, .keyChanged, .engine, .readOnly:
        return try takeUnread(file, seconds: configuration.busyTimeout)
      default: throw error
      }
    }
  }

  private static func takeUnread(_ file: DatabasePath, seconds: Double) throws -> FileHold {
    // Who may not write cannot lock it either.
    guard PathState.isWritable(file) else { throw SQLError.readOnly(file: file.given) }
    return FileHold(file, nil, RawBox(try RawFile.open(file, holding: .exclusive, seconds: seconds)))
  }

  /// What would keep the file from being replaced, told before anything is built.
  private static func checkReplaceable(_ file: DatabasePath) throws {
    guard let status = FileStatus(file.path) else { throw SQLError.notFound(file: file.given) }
    Leftovers.sweep(file.folder)
    try PathState.requireOneName(file)
    guard status.isOwn || geteuid() == 0 else { throw SQLError.ownerWouldChange(file: file.given) }
  }

  /// Puts a file in the place of this one, which gets its owner, group and mode.
  ///
  /// - Throws: As ``SealedFile/replace(_:)``. The file is then as it was; where the disk failed after the
  ///   renaming, it is the new one.
  func replace(with sealed: SealedFile) throws {
    guard let old = FileStatus(file.path), !isReplaced else { throw SQLError.notFound(file: file.given) }
    let aside = AsideLogs(of: file, old)
    let wasLogged = try connection?.value("PRAGMA main.journal_mode")?.string == "wal"
    do {
      if let connection {
        // Copies the log, and deletes it. The lock stays.
        if wasLogged, try connection.value("PRAGMA main.journal_mode = delete")?.string != "delete" {
          throw connection.waitingError()
        }
        // Both are done with, and the engine does not report whether it could remove them. A log left here would be read with the
        // new file, a journal by the next program that opens it.
        try Self.remove(file.log, file)
        try Self.remove(file.journal, file)
      } else {
        try aside.putAside()
      }
      // The index is made anew from the log.
      try Self.remove(file.sharedMemory, file)
      try sealed.replace(old)
    } catch {
      // The renaming may have been done, and the sync of the folder not.
      isReplaced = FileStatus(file.path)?.isSameFile(as: old) == false
      if isReplaced { finish(aside) } else { giveUp(aside, wasLogged: wasLogged) }
      throw error
    }
    isReplaced = true
    finish(aside)
  }

  private static func remove(_ path: String, _ file: DatabasePath) throws {
    guard unsafe unlink(path) == 0 || errno == ENOENT else { throw SQLError.failed("unlink", on: file.given) }
  }

  /// Leaves the file as it was, with its log or its journal mode.
  private func giveUp(_ aside: AsideLogs, wasLogged: Bool) {
    aside.bringBack()
    guard let connection else { return }
    // Not by this connection: its journal has no name any more, and could not be put back after a crash.
    let (unlocked, configuration) = (connection.unlocked, connection.configuration)
    connection.close()
    guard wasLogged, let next = try? Connection.open(file, unlocked: unlocked, configuration: configuration)
    else {
      return
    }
    try? next.setJournalMode(.wal)
    next.close()
  }

  /// Lets go of what belonged to the former file, and makes it unreadable for who waited with it open: it has no name
  /// any more.
  private func finish(_ aside: AsideLogs) {
    aside.remove()
    let open = unsafe connection.map { unsafe rawFile(of: $0.handle) } ?? raw?.value.file
    guard let open = unsafe open, let write = unsafe open.pointee.pMethods?.pointee.xWrite else { return }
    let zeros = [UInt8](repeating: 0, count: 1024)
    // What fails here leaves a file that nobody finds.
    _ = unsafe write(open, zeros, Int32(zeros.count), 0)
  }
}
