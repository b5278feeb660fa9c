// A copy of a file and its journal, for looking at a file that its last user left in the middle of a transaction.

private import Foundation

/// A copy in a private folder, which goes with this object, or with the next one when this process was killed.
final class InspectionCopy {
  private static let fileName = "copy.store"
  private static let kind = PrivateFolder.Kind(prefix: "vault-inspect-", files: [fileName])

  /// The copy. Errors about it name the original.
  let file: DatabasePath
  private let folder: PrivateFolder

  /// Whether a file that nobody can write to cannot be read as it lies: its journal, or its log, has content.
  static func isNeeded(_ file: DatabasePath) -> Bool {
    WriteAheadLog(beside: file) != nil || HotJournal.isThere(file)
  }

  /// Copies a file as it is at one moment, whoever works with it meanwhile; once more for each time that somebody begins a new
  /// log while it is copied.
  /// - Parameter seconds: How long to wait for somebody's lock, or for a moment in which nobody begins a new log.
  /// - Throws: ``SQLError/journalTooLarge(file:byteCount:)`` before anything is copied; ``SQLError/diskFull(file:)``,
  ///   ``SQLError/busy(file:waitedSeconds:holders:)``.
  init(of original: DatabasePath, seconds: Double) throws {
    let parent = NSTemporaryDirectory()
    let deadline = Deadline(seconds)
    // Keeps everybody from putting the journal back, and from writing without a log, until all of it is copied.
    let raw = try RawFile.open(original, holding: .shared, seconds: seconds)
    folder = try PrivateFolder(Self.kind)
    file = DatabasePath(temporary: folder.path + "/" + Self.fileName, of: original)
    while try !Self.copy(raw, of: original, to: file, parent) {
      guard !deadline.isOver else {
        throw SQLError.busy(
          file: original.given, waitedSeconds: deadline.waited,
          holders: LockHolder.blocking(original, isWriting: true))
      }
      usleep(5000)
    }
  }

  /// Copies the file, and the log behind it.
  ///
  /// The lock keeps nobody from committing to a log, nor from copying a log into the file. What of it comes into the file
  /// while that is copied stands in the log when it is copied afterwards, and takes precedence there: as long as it is the
  /// same log. A log that is begun anew has another header.
  /// - Returns: false when what was copied may be of two moments.
  private static func copy(
    _ raw: borrowing RawFile, of original: DatabasePath, to file: DatabasePath, _ parent: String
  ) throws -> Bool {
    for suffix in [""] + DatabasePath.companionSuffixes { unsafe unlink(file.path + suffix) }
    let before = Moment(original)
    let journal = try journal(of: original, byteCount: raw.byteCount)
    let whole = raw.byteCount + before.logBytes + (journal?.byteCount ?? 0)
    // A tenth stays free for others.
    guard whole <= DiskRoom.bytes(in: parent).map({ $0 / 10 * 9 }) ?? .max else {
      throw SQLError.diskFull(file: NSTemporaryDirectory())
    }
    do { try raw.copy(to: file) } catch {
      // Somebody's copying of a log has made it shorter.
      guard raw.byteCount < before.byteCount else { throw error }
      return false
    }
    do { try journal?.copy(to: file) } catch {
      // Its writer has taken it back, and cut it.
      guard SideFile(original.journal)?.byteCount ?? 0 == journal?.byteCount ?? 0 else { return false }
      throw error
    }
    // Whole, without looking for its end, which takes longer than the others need to begin a new one: the engine will.
    let log = Moment(original)
    guard before.leads(to: log) else { return false }
    do {
      if log.logHeader != nil {
        try Part(suffix: "-wal", path: original.log, byteCount: log.logBytes).copy(to: file)
      }
    } catch {
      // It was cut, or is gone.
      guard before.leads(to: Moment(original)) else { return false }
      throw error
    }
    return before.leads(to: Moment(original))
  }

  /// What tells a log from the one before it, and a file that is copied from one that somebody changes.
  private struct Moment {
    /// Nil where there is no log, or nothing in it that the engine would read.
    let logHeader: [UInt8]?
    let logBytes: Int
    private let hasLog: Bool
    private let file: FileStatus?
    var byteCount: Int { file?.byteCount ?? 0 }
    private let time = Date()

    init(_ original: DatabasePath) {
      let log = SideFile(original.log)
      logHeader = WriteAheadLog.header(of: log)
      (hasLog, logBytes) = (log != nil, logHeader == nil ? 0 : log?.byteCount ?? 0)
      file = FileStatus(original.path)
    }

    /// Whether what was copied from this moment to a later one belongs together.
    func leads(to later: Moment) -> Bool {
      if let logHeader { return later.logHeader == logHeader }
      guard later.logHeader == nil, later.hasLog == hasLog else { return false }
      // Who uses a log has one from the first read to the last, if an empty one: without, the lock is enough.
      guard hasLog else { return true }
      // A log may have come and gone: nobody has written to the file then. The system's times go by ticks.
      guard let file, file == later.file else { return false }
      let modified = Double(file.modified[0]) + Double(file.modified[1]) / 1e9
      // It may lie in the future, which a write would end.
      return abs(time.timeIntervalSince1970 - modified) > 0.1
    }
  }

  // MARK: What is copied

  /// A log or a journal.
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

  /// The journal beside a file, if there is one with something in it.
  private static func journal(of file: DatabasePath, byteCount: Int) throws -> Part? {
    guard let journal = SideFile(file.journal)?.byteCount, journal > 0 else { return nil }
    // Each page once, with 8 bytes; a header of at most 64 KiB for each time that it was synced, hardly ever more
    // than a few. Anybody may have planted a file of that name.
    guard journal <= byteCount * 2 + (16 << 20) else {
      throw SQLError.journalTooLarge(file: file.given + "-journal", byteCount: journal)
    }
    return Part(suffix: "-journal", path: file.journal, byteCount: journal)
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
