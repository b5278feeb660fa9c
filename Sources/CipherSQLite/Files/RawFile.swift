// Reads a file's bytes, and takes SQLite's locks on it, through SQLite's own handle and without a key.
//
// A descriptor of our own is not used: closing any descriptor of a file drops all POSIX locks that this
// process holds on it, and another connection of this process may hold some.

internal import CSQLCipher
private import Foundation

@safe struct RawFile: ~Copyable {
  // An unkeyed handle that only this value opens and closes.
  private let handle: OpaquePointer?

  /// Opens the file without a key.
  /// - Throws: ``SQLError/notFound(file:)``, ``SQLError/permissionDenied(file:)``,
  ///   ``SQLError/system(file:operation:code:)``.
  static func open(_ path: DatabasePath, forWriting: Bool = false) throws -> RawFile {
    var handle: OpaquePointer?
    let access = forWriting ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
    let code = FileGate.opening {
      unsafe sqlite3_open_v2(path.path, &handle, access | SQLITE_OPEN_NOMUTEX, nil)
    }
    guard code == SQLITE_OK else {
      let system = unsafe sqlite3_system_errno(handle)
      unsafe sqlite3_close_v2(handle)
      throw SQLError.cannotOpen(path, system: system)
    }
    return unsafe RawFile(handle: handle)
  }

  deinit { unsafe sqlite3_close_v2(handle) }

  var file: UnsafeMutablePointer<sqlite3_file>? { unsafe rawFile(of: handle) }

  /// The file's size in bytes.
  var byteCount: Int { unsafe size(of: file) }

  /// Whether the path now refers to another file, or to none.
  var hasMoved: Bool { unsafe CipherSQLite.hasMoved(handle) }

  /// Returns `count` bytes from `offset`, or nil when the file is shorter or cannot be read.
  func read(_ count: Int, at offset: Int) -> [UInt8]? { unsafe readBytes(of: file, count: count, at: offset) }

  // MARK: Locks

  /// SQLite's locks of a whole file ("File Locking And Concurrency In SQLite Version 3").
  enum Lock: Int32 {
    case none = 0
    /// While it is held, no process writes to a file that uses a rollback journal, and none replaces the
    /// file.
    case shared = 1
    /// While it is held, no other connection has the file open in WAL mode, or reads or writes it in
    /// another mode.
    case exclusive = 4
  }

  /// Takes a lock. While others have a lock that prevents it, waits up to `seconds`.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``; ``SQLError/notFound(file:)`` when the
  ///   engine has no file open; ``SQLError/engine(code:extendedCode:message:sql:)`` when the system
  ///   cannot lock the file.
  borrowing func lock(_ lock: Lock, of path: DatabasePath, seconds: Double) throws {
    guard let file = unsafe file, let take = unsafe file.pointee.pMethods?.pointee.xLock else {
      throw SQLError.notFound(file: path.given)
    }
    let deadline = Deadline(seconds)
    while true {
      var code = unsafe take(file, Lock.shared.rawValue)
      if code == SQLITE_OK, lock == .exclusive {
        code = unsafe take(file, lock.rawValue)
        // Keeping the shared lock while waiting could block the other process.
        if code != SQLITE_OK { unlock() }
      }
      if code == SQLITE_OK { return }
      guard code & 0xff == SQLITE_BUSY else {
        throw unsafe SQLError.engine(
          code: Int(code & 0xff), extendedCode: Int(code), message: String(cString: sqlite3_errstr(code)),
          sql: "lock")
      }
      guard !deadline.isOver else {
        throw SQLError.busy(
          file: path.given, waitedSeconds: deadline.waited,
          holders: LockHolder.blocking(path, isWriting: lock == .exclusive))
      }
      usleep(2000)
    }
  }

  borrowing func unlock() {
    guard let file = unsafe file else { return }
    _ = unsafe file.pointee.pMethods?.pointee.xUnlock?(file, Lock.none.rawValue)
  }

  /// Overwrites the beginning of a file that has no name any more, for processes that still have it open.
  borrowing func overwriteBeginning() { unsafe CipherSQLite.overwriteBeginning(of: file) }

  /// Opens the file that is at the path, with a lock on it. If another process puts a new file there
  /// meanwhile, that file is opened instead.
  /// - Throws: As ``open(_:forWriting:)`` and ``lock(_:of:seconds:)``; ``SQLError/fileReplaced(file:)``
  ///   where the path still refers to another file after `seconds`, as on a file system whose inode
  ///   numbers change.
  static func open(_ path: DatabasePath, holding lock: Lock, seconds: Double) throws -> RawFile {
    let deadline = Deadline(seconds)
    while true {
      let file = try RawFile.open(path, forWriting: lock == .exclusive)
      try file.lock(lock, of: path, seconds: seconds)
      if !file.hasMoved { return file }
      guard !deadline.isOver else { throw SQLError.fileReplaced(file: path.given) }
    }
  }
}

extension SQLError {
  /// Returns the reason why the engine could not open a file, from the system's error code.
  static func cannotOpen(_ path: DatabasePath, system: Int32) -> SQLError {
    switch system {
    // In some cases the engine reports no cause; the path's status shows it.
    case 0: FileStatus(path.path) == nil ? .notFound(file: path.given) : .permissionDenied(file: path.given)
    case ENOENT: .notFound(file: path.given)
    default: .failed("open", on: path.given, code: system)
    }
  }
}

/// Returns the engine's file object of a connection. The connection owns the file object, and frees it on
/// close. Pointers that are passed to the file object's functions need to be valid during the call only.
func rawFile(of handle: OpaquePointer?) -> UnsafeMutablePointer<sqlite3_file>? {
  guard let handle = unsafe handle else { return nil }
  var file: UnsafeMutablePointer<sqlite3_file>?
  let code = unsafe withUnsafeMutablePointer(to: &file) {
    unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, $0)
  }
  return unsafe code == SQLITE_OK ? file : nil
}

/// Returns the log of a connection in WAL mode that has read; in another mode, the journal if a
/// transaction is open; otherwise nil.
func logFile(of handle: OpaquePointer?) -> UnsafeMutablePointer<sqlite3_file>? {
  guard let handle = unsafe handle else { return nil }
  var file: UnsafeMutablePointer<sqlite3_file>?
  let code = unsafe withUnsafeMutablePointer(to: &file) {
    unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, $0)
  }
  // A journal that is not open yet has no functions.
  return unsafe code == SQLITE_OK && file?.pointee.pMethods != nil ? file : nil
}

/// Overwrites the beginning of a file, so that a process that still has it open gets an error instead of
/// outdated data. An error is ignored: no path leads to the file any more.
func overwriteBeginning(of file: UnsafeMutablePointer<sqlite3_file>?) {
  guard let file = unsafe file, let write = unsafe file.pointee.pMethods?.pointee.xWrite else { return }
  let zeros = [UInt8](repeating: 0, count: 1024)
  _ = unsafe write(file, zeros, Int32(zeros.count), 0)
}

/// Whether the path of an open file now refers to another file, or to none.
func hasMoved(_ handle: OpaquePointer?) -> Bool {
  guard let handle = unsafe handle else { return false }
  var moved: Int32 = 0
  let code = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
  return code == SQLITE_OK && moved != 0
}

func size(of file: UnsafeMutablePointer<sqlite3_file>?) -> Int {
  var size: sqlite3_int64 = 0
  guard let file = unsafe file, unsafe file.pointee.pMethods?.pointee.xFileSize?(file, &size) == SQLITE_OK
  else { return 0 }
  return Int(size)
}

/// Fills the buffer; returns false when the file is too short or cannot be read.
func read(
  _ file: UnsafeMutablePointer<sqlite3_file>?, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
) -> Bool {
  guard let file = unsafe file, let base = buffer.baseAddress,
    let read = unsafe file.pointee.pMethods?.pointee.xRead
  else {
    return false
  }
  return unsafe read(file, base, Int32(buffer.count), sqlite3_int64(offset)) == SQLITE_OK
}

private func readBytes(of file: UnsafeMutablePointer<sqlite3_file>?, count: Int, at offset: Int) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: count)
  return unsafe bytes.withUnsafeMutableBytes { unsafe read(file, into: $0, at: offset) } ? bytes : nil
}
