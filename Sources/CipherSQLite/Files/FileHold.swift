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
    let start = DispatchTime.now()
    while true {
      do { return try takeOnce(file, unlocked, configuration) } catch SQLError.busy(let path, _, let holders)
      {
        let waited = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
        guard waited < configuration.busyTimeout else {
          throw SQLError.busy(file: path, waitedSeconds: waited, holders: holders)
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
    while true {
      let raw = try RawFile.open(file, forWriting: true)
      try raw.lock(.exclusive, of: file, seconds: seconds)
      if !raw.hasMoved { return FileHold(file, nil, RawBox(raw)) }
    }
  }

  /// Puts a file in the place of this one, which gets its owner, group and mode.
  ///
  /// A file that does not open keeps its log, under `NAME.replaced-wal`, until the new one has the name.
  /// - Throws: As ``SealedFile/replace(_:)``. The file is then as it was; where the disk failed after the
  ///   renaming, it is the new one.
  func replace(with sealed: SealedFile) throws {
    guard let old = FileStatus(file.path), !isReplaced else { throw SQLError.notFound(file: file.given) }
    let mode = try connection?.value("PRAGMA main.journal_mode")?.string
    do {
      // Copies the log, and deletes it. The lock stays.
      if let connection, mode == "wal" {
        guard try connection.value("PRAGMA main.journal_mode = delete")?.string == "delete" else {
          throw connection.waitingError()
        }
      }
      try setAside(old)
      try sealed.replace(old)
    } catch {
      // The renaming may have been done, and the sync of the folder not.
      isReplaced = FileStatus(file.path)?.isSameFile(as: old) == false
      if !isReplaced {
        bringBack()
        if mode == "wal" { _ = try? connection?.value("PRAGMA main.journal_mode = wal") }
      }
      throw error
    }
    isReplaced = true
    defer { Temporaries.forgetWhatIsAside(of: file) }
    for suffix in Self.logs { unlink(file.path + Self.aside + suffix) }
    spoil()
  }

  // MARK: What lies beside

  private static let aside = ".replaced"
  private static let logs = ["-wal", "-journal"]

  /// Takes away what would be read as the new file's log.
  private func setAside(_ old: FileStatus) throws {
    for suffix in Self.logs where FileStatus(file.path + suffix) != nil {
      // What opens has everything in itself by now.
      let isDone =
        try connection == nil
        ? Temporaries.setAside(file, old, suffix, file.path + Self.aside + suffix)
        : unlink(file.path + suffix) == 0
      guard isDone || errno == ENOENT else { throw SQLError.failed("rename", on: file.given + suffix) }
    }
    // The index is made anew from the log.
    guard unlink(file.sharedMemory) == 0 || errno == ENOENT else {
      throw SQLError.failed("unlink", on: file.given + "-shm")
    }
  }

  private func bringBack() {
    guard connection == nil else { return }
    for suffix in Self.logs { _ = rename(file.path + Self.aside + suffix, file.path + suffix) }
    Temporaries.forgetWhatIsAside(of: file)
  }

  /// Makes the former file unreadable for who waited with it open: it has no name any more.
  private func spoil() {
    let open = connection.map { rawFile(of: $0.handle) } ?? raw?.value.file
    guard let open, let write = open.pointee.pMethods?.pointee.xWrite else { return }
    let zeros = [UInt8](repeating: 0, count: 1024)
    // What fails here leaves a file that nobody finds.
    _ = write(open, zeros, Int32(zeros.count), 0)
  }
}
