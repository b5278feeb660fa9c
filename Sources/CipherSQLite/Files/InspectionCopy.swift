// Copies a database with its journal and its log. So a database whose latest changes are in these files
// can be inspected without writing to it.

private import Foundation

/// A copy in a private folder. The folder is deleted with this object, or by the next copy if this
/// process was killed.
final class InspectionCopy {
  private static let fileName = "copy.store"
  private static let kind = PrivateFolder.Kind(prefix: "vault-inspect-", files: [fileName])

  /// The path of the copy. Errors about it name the original.
  let file: DatabasePath
  private let folder: PrivateFolder

  /// Whether a file must be copied to be read without writing to it: its journal or its log has content.
  static func isNeeded(_ file: DatabasePath) -> Bool {
    WriteAheadLog(beside: file) != nil || HotJournal.isThere(file)
  }

  /// Copies a file as it is at one moment, even while other connections use it. If one of them starts a
  /// new log during the copy, the copy is repeated.
  /// - Parameter seconds: How long to wait for another connection's lock, or for a moment in which no
  ///   connection starts a new log.
  /// - Throws: ``SQLError/journalTooLarge(file:byteCount:)`` before anything is copied;
  ///   ``SQLError/diskFull(file:)``, ``SQLError/busy(file:waitedSeconds:holders:)``; as
  ///   ``RawFile/open(_:holding:seconds:)`` and ``PrivateFolder/init(_:)``.
  init(of original: DatabasePath, seconds: Double) throws {
    let parent = PrivateFolder.temporary
    let deadline = Deadline(seconds)
    // Until everything is copied, this lock prevents other connections from rolling the journal back, and
    // from writing to the file without a log.
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

  /// Copies the file, its journal, and then its log.
  ///
  /// The lock does not prevent commits to a log, nor checkpoints, which copy a log into the file. Pages
  /// that a checkpoint writes into the file during the copy are also in the log. The log is copied
  /// afterwards, and its pages take precedence. This holds as long as no new log was started; a new log
  /// has another header.
  /// - Returns: `false` when the copied files may be from different moments.
  private static func copy(
    _ raw: borrowing RawFile, of original: DatabasePath, to file: DatabasePath, _ parent: String
  ) throws -> Bool {
    for suffix in [""] + DatabasePath.companionSuffixes { unsafe unlink(file.path + suffix) }
    let before = Moment(original)
    let journal = try journal(of: original, byteCount: raw.byteCount)
    let whole = raw.byteCount + before.logBytes + (journal?.byteCount ?? 0)
    // A tenth of the free space stays free.
    guard whole <= FreeSpace.bytes(in: parent).map({ $0 / 10 * 9 }) ?? .max else {
      throw SQLError.diskFull(file: PrivateFolder.temporary)
    }
    do { try raw.copy(to: file) } catch {
      // A checkpoint of another connection has made the file shorter.
      guard raw.byteCount < before.byteCount else { throw error }
      return false
    }
    do { try journal?.copy(to: file) } catch {
      // The journal's writer has rolled it back, and truncated it.
      guard CompanionFile(original.journal)?.byteCount ?? 0 == journal?.byteCount ?? 0 else { return false }
      throw error
    }
    // The whole log is copied, without searching for its last valid commit, which the engine will do:
    // searching would take longer than other connections need to start a new log.
    let log = Moment(original)
    guard before.leads(to: log) else { return false }
    do {
      if log.logHeader != nil {
        try Part(suffix: "-wal", path: original.log, byteCount: log.logBytes).copy(to: file)
      }
    } catch {
      // The log was truncated or deleted.
      guard before.leads(to: Moment(original)) else { return false }
      throw error
    }
    return before.leads(to: Moment(original))
  }

  /// State that distinguishes a log from its predecessor, and an unchanged file from one that was written
  /// to during the copy.
  private struct Moment {
    /// The header of the log; nil where there is no log, or none that the engine would read.
    let logHeader: [UInt8]?
    let logBytes: Int
    private let hasLog: Bool
    private let file: FileStatus?
    var byteCount: Int { file?.byteCount ?? 0 }
    private let time = Date()

    init(_ original: DatabasePath) {
      let log = CompanionFile(original.log)
      logHeader = WriteAheadLog.header(of: log)
      (hasLog, logBytes) = (log != nil, logHeader == nil ? 0 : log?.byteCount ?? 0)
      file = FileStatus(original.path)
    }

    /// Whether the files that were copied between this moment and a later one belong together.
    func leads(to later: Moment) -> Bool {
      if let logHeader { return later.logHeader == logHeader }
      guard later.logHeader == nil, later.hasLog == hasLog else { return false }
      // A connection that uses a log keeps it, at least as an empty file, from its first read to its last.
      // So where no log exists, no connection uses one, and the lock alone prevents writes.
      guard hasLog else { return true }
      // A log may have been filled, copied into the file, and emptied meanwhile: then the file's status
      // has changed. Timestamps have a coarse resolution, so a file that was modified just before counts
      // as changed.
      guard let file, file == later.file else { return false }
      let modified = Double(file.modified[0]) + Double(file.modified[1]) / 1e9
      // The absolute difference: the file's time may be in the future, and a write would set it to now.
      return abs(time.timeIntervalSince1970 - modified) > 0.1
    }
  }

  // MARK: Parts

  /// A log or a journal.
  private struct Part {
    let suffix: String
    let path: String
    let byteCount: Int

    func copy(to target: DatabasePath) throws {
      guard let source = CompanionFile(path) else { return }
      try write(to: target.path + suffix, naming: target.given, byteCount: byteCount) { count, offset in
        source.read(count, at: offset)
      }
    }
  }

  /// Returns the journal of a file; nil if there is none, or an empty one.
  private static func journal(of file: DatabasePath, byteCount: Int) throws -> Part? {
    guard let journal = CompanionFile(file.journal)?.byteCount, journal > 0 else { return nil }
    // A journal contains each page at most once, with 8 more bytes, and a header of at most 64 KiB for
    // each of its few syncs. The size is bounded, because another user may have placed a large file of
    // that name.
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

/// Writes a new file of mode 0600, in chunks of at most 1 MiB.
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
