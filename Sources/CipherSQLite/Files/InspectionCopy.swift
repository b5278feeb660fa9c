// A copy of a file and its journal, for looking at a file that its last user left in the middle of a transaction.

private import Foundation

/// A copy in a private folder, which goes with this object, or with the next one when this process was killed.
final class InspectionCopy {
  private static let prefix = "vault-inspect-"
  private static let lockName = "lock"
  private static let fileName = "copy.store"

  /// The copy. Errors about it name the original.
  let file: DatabasePath
  private let folder: String
  /// Says that somebody uses the folder, until this process ends.
  private let guardian: Int32

  /// Whether a file that nobody can write to cannot be read as it lies: its journal, or its log, has content.
  static func isNeeded(_ file: DatabasePath) -> Bool {
    WriteAheadLog(beside: file) != nil || HotJournal.isThere(file)
  }

  /// Copies a file while nobody writes to it.
  /// - Throws: ``SQLError/journalTooLarge(file:byteCount:)`` before anything is copied; ``SQLError/diskFull(file:)``,
  ///   ``SQLError/busy(file:waitedSeconds:holders:)``.
  init(of original: DatabasePath, seconds: Double) throws {
    let parent = NSTemporaryDirectory()
    guard FileStatus(parent) != nil else { throw SQLError.folderMissing(folder: parent) }
    Self.sweep(parent)
    // Keeps everybody from putting the journal back, and from writing without a log, until all of it is copied.
    let raw = try RawFile.open(original, holding: .shared, seconds: seconds)
    let parts = try Self.parts(of: original, byteCount: raw.byteCount, room: Self.room(in: parent))
    (folder, guardian) = try Self.makeFolder(in: parent)
    file = DatabasePath(temporary: folder + "/" + Self.fileName, of: original)
    let before = FileMark(original)
    try raw.copy(to: file)
    for part in parts { try part.copy(to: file) }
    // The lock keeps nobody from copying a log back into the file.
    guard FileMark(original) == before else {
      throw SQLError.busy(
        file: original.given, waitedSeconds: 0, holders: LockHolder.blocking(original, isWriting: true))
    }
  }

  deinit {
    Self.remove(folder)
    Temporaries.unregister(folder)
    if guardian >= 0 { close(guardian) }
  }

  // MARK: The folder

  /// Makes a folder and locks it.
  private static func makeFolder(in parent: String) throws -> (path: String, guardian: Int32) {
    // Between the making of the lock and the locking somebody's sweep may have it, and takes the folder for one that
    // was left. It goes then, by that sweep or by the next, and another one is made.
    for _ in 0..<100 {
      var template = Array((parent + "/" + prefix + "XXXXXX").utf8CString)
      // The system writes plain letters and digits in the place of the X.
      let folder = try Temporaries.registerFolder {
        guard unsafe mkdtemp(&template) != nil else { throw SQLError.failed("mkdtemp", on: parent) }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      }
      let lock = folder + "/" + lockName
      let guardian = unsafe open(lock, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0o600)
      let code = guardian < 0 || flock(guardian, LOCK_EX | LOCK_NB) != 0 ? errno : 0
      // A lock on a file that is gone keeps nobody away.
      if code == 0, let held = FileStatus(descriptor: guardian),
        FileStatus(lock)?.isSameFile(as: held) ?? false
      {
        return (folder, guardian)
      }
      if guardian >= 0 { close(guardian) }
      Temporaries.unregister(folder)
      guard code == 0 || code == EWOULDBLOCK else {
        remove(folder)
        throw SQLError.failed("lock", on: folder, code: code)
      }
    }
    throw SQLError.failed("lock", on: parent, code: EWOULDBLOCK)
  }

  // MARK: What is copied

  /// A log or a journal: only what the engine would read of it.
  private struct Part {
    let suffix: String
    let path: String
    let byteCount: Int

    func copy(to target: DatabasePath) throws {
      guard let source = SideFile(path) else { return }
      try write(to: target.path + suffix, naming: target.given, byteCount: byteCount) { count, offset in
        source.read(count, at: offset)
      }
    }
  }

  private static func parts(of file: DatabasePath, byteCount: Int, room: Int) throws -> [Part] {
    var parts: [Part] = []
    if let log = WriteAheadLog(beside: file) {
      parts.append(Part(suffix: "-wal", path: file.log, byteCount: log.validBytes))
    }
    if let journal = SideFile(file.journal)?.byteCount, journal > 0 {
      // Each page once, with 8 bytes; a header of at most 64 KiB for each time that it was synced, hardly ever more
      // than a few. Anybody may have planted a file of that name.
      guard journal <= byteCount * 2 + (16 << 20) else {
        throw SQLError.journalTooLarge(file: file.given + "-journal", byteCount: journal)
      }
      parts.append(Part(suffix: "-journal", path: file.journal, byteCount: journal))
    }
    let whole = byteCount + parts.reduce(0) { $0 + $1.byteCount }
    guard whole <= room else { throw SQLError.diskFull(file: NSTemporaryDirectory()) }
    return parts
  }

  /// Bytes that may be taken in a folder: a tenth stays free for others.
  private static func room(in folder: String) -> Int {
    var information = statvfs()
    guard unsafe statvfs(folder, &information) == 0 else { return 0 }
    return Int(clamping: UInt64(information.f_bavail) &* UInt64(information.f_frsize)) / 10 * 9
  }

  // MARK: What was left

  /// Removes the copies of processes that were killed: their locks ended with them.
  private static func sweep(_ parent: String) {
    for name in Leftovers.names(in: parent)
    where name.hasPrefix(prefix) && name.utf8.count == prefix.utf8.count + 6 {
      let folder = parent + "/" + name
      guard let status = FileStatus(folder), status.isDirectory, status.isOwn,
        Set(Leftovers.names(in: folder)).subtracting([".", ".."]).isSubset(of: contents)
      else { continue }
      let descriptor = unsafe open(folder + "/" + lockName, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { remove(folder) }
      close(descriptor)
    }
  }

  private static let contents = Set(
    [lockName] + ([""] + DatabasePath.companionSuffixes).map { fileName + $0 })

  private static func remove(_ folder: String) {
    for name in contents { unsafe unlink(folder + "/" + name) }
    unsafe rmdir(folder)
  }
}

extension RawFile {
  /// Copies all bytes to a new file of mode 0600.
  borrowing fileprivate func copy(to target: DatabasePath) throws {
    let (file, byteCount) = unsafe (file, byteCount)
    try write(to: target.path, naming: target.given, byteCount: byteCount) { count, offset in
      var bytes = [UInt8](repeating: 0, count: count)
      return unsafe bytes.withUnsafeMutableBytes { unsafe CipherSQLite.read(file, into: $0, at: offset) }
        ? bytes : nil
    }
  }
}

/// Writes a new file of mode 0600, a part at a time.
private func write(
  to path: String, naming given: String, byteCount: Int, _ read: (_ count: Int, _ offset: Int) -> [UInt8]?
) throws {
  let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0o600)
  guard descriptor >= 0 else { throw SQLError.failed("open", on: given) }
  defer { close(descriptor) }
  var offset = 0
  while offset < byteCount {
    guard let bytes = read(min(1 << 20, byteCount - offset), offset) else {
      throw SQLError.failed("read", on: given)
    }
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Foundation.write(descriptor, $0.baseAddress.map { unsafe $0 + written }, bytes.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SQLError.failed("write", on: given, code: count == 0 ? ENOSPC : errno) }
      written += count
    }
    offset += bytes.count
  }
}
