// Interception of the engine's writes and syncs to the files of a connection. A callback is notified before
// each call, and after some of them, and can make the call fail. There are two uses: to stop a change of the
// key, which is not possible by other means, and to test what remains after a disk failure.

internal import CSQLCipher

/// A call of the engine to a connection's file or log, before or after it is made.
package enum FileCall: Sendable, Hashable {
  /// Before a write.
  case write
  /// Before the write that commits a transaction, when all else is written. With a log: before
  /// the header of the commit frame is written; no `write` is reported for it. Without a log:
  /// before the journal is deleted.
  case commit
  /// Only with a log: after the commit frame was written completely. If the transaction exceeded the page
  /// cache and wrote a page twice, checksums are rewritten after this, and the transaction is committed
  /// only when all of them are written. With any answer but ``FileAnswer/proceeds``, the write is
  /// reported as failed.
  case commitWritten
  /// After the commit, before the caller of the transaction continues. The answer has no effect.
  case committed
  /// Before a sync.
  case sync
  /// After half of a write, as requested by ``FileAnswer/tears``; the other half is not written.
  case torn
  /// After a write that found no room on the disk.
  case full
}

/// What the interceptor does with a call.
package enum FileAnswer: Sendable, Hashable {
  /// The call is made.
  case proceeds
  /// The call fails with an I/O error.
  case fails
  /// Half of the write is made, then it fails with an I/O error.
  case tears
  /// The write fails because the disk is full.
  case isFull
}

/// Intercepts the engine's calls to the files of one connection.
@safe final class FileCallInterceptor {
  /// The data of the functions below. It is stored after the function table through which they are called.
  @unsafe fileprivate struct Context {
    // Owned by the engine; valid as long as its library is loaded.
    let original: UnsafePointer<sqlite3_io_methods>
    // The connection retains the interceptor until end() has removed the function table.
    let watch: Unmanaged<FileCallInterceptor>
    let isLog: Bool
  }

  /// The callback.
  let body: (FileCall) -> FileAnswer
  /// The progress of a transaction.
  fileprivate enum Phase {
    case writing
    /// The header of the commit frame is written; its page comes next.
    case commitHeaderWritten
    /// The commit is written.
    case commits
  }
  fileprivate var phase = Phase.writing
  // Our function tables, each followed by its context; freed by end().
  private var rooms: [UnsafeMutableRawPointer] = unsafe []

  init(_ handle: OpaquePointer?, _ body: @escaping (FileCall) -> FileAnswer) {
    self.body = body
    let file = unsafe rawFile(of: handle)
    unsafe stand(before: file, isLog: false)
    if let log = unsafe logFile(of: handle), unsafe log != file { unsafe stand(before: log, isLog: true) }
  }

  /// Restores the original function tables. Must be called before the connection is closed.
  func end(_ handle: OpaquePointer?) {
    // Looked up again: the engine may have closed its log meanwhile, and an older pointer to it would be
    // dangling.
    unsafe leave(rawFile(of: handle))
    unsafe leave(logFile(of: handle))
    while let room = unsafe rooms.popLast() { unsafe room.deallocate() }
  }

  private func leave(_ file: UnsafeMutablePointer<sqlite3_file>?) {
    guard let file = unsafe file, let methods = unsafe file.pointee.pMethods,
      unsafe rooms.contains(UnsafeMutableRawPointer(mutating: UnsafeRawPointer(methods)))
    else { return }
    unsafe file.pointee.pMethods = unsafe context(file)?.pointee.original
  }

  private func stand(before file: UnsafeMutablePointer<sqlite3_file>?, isLog: Bool) {
    guard let file = unsafe file, let original = unsafe file.pointee.pMethods else { return }
    let room = unsafe UnsafeMutableRawPointer.allocate(
      byteCount: contextOffset + MemoryLayout<Context>.size, alignment: 16)
    var methods = unsafe original.pointee
    unsafe methods.xWrite = { file, bytes, count, offset in
      unsafe watchedWrite(file, bytes, count: count, at: offset)
    }
    unsafe methods.xSync = { file, flags in unsafe watchedSync(file, flags) }
    if !isLog {
      unsafe methods.xFileControl = { file, operation, argument in
        unsafe watchedControl(file, operation, argument: argument)
      }
      unsafe methods.xUnlock = { file, level in unsafe watchedUnlock(file, level) }
    }
    unsafe room.initializeMemory(as: sqlite3_io_methods.self, to: methods)
    unsafe (room + contextOffset).initializeMemory(
      as: Context.self, to: Context(original: original, watch: Unmanaged.passUnretained(self), isLog: isLog))
    unsafe file.pointee.pMethods = unsafe UnsafePointer(room.assumingMemoryBound(to: sqlite3_io_methods.self))
    unsafe rooms.append(room)
  }
}

// The context follows the function table, so that a function can find it from the file.
private let contextOffset = (MemoryLayout<sqlite3_io_methods>.size + 15) / 16 * 16

private func context(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<
  FileCallInterceptor.Context
>? {
  guard let methods = unsafe file?.pointee.pMethods else { return nil }
  return unsafe UnsafeMutableRawPointer(mutating: UnsafeRawPointer(methods) + contextOffset)
    .assumingMemoryBound(to: FileCallInterceptor.Context.self)
}

private func watchedWrite(
  _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, count: Int32,
  at offset: sqlite3_int64
) -> Int32 {
  guard let context = unsafe context(file), let write = unsafe context.pointee.original.pointee.xWrite else {
    return SQLITE_IOERR
  }
  let watch = unsafe context.pointee.watch.takeUnretainedValue()
  // File format, "The Write-Ahead Log": the header of a frame has 24 bytes. Bytes 4 to 7 are
  // non-zero only in the commit frame.
  let isCommit =
    unsafe context.pointee.isLog && count == 24
    && bytes.map { unsafe $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self) != 0 } ?? false
  let isCommitPage = unsafe context.pointee.isLog && watch.phase == .commitHeaderWritten && !isCommit
  let former = watch.phase
  // Reset until the write has succeeded: a failed write does not commit.
  watch.phase = .writing
  switch watch.body(isCommit ? .commit : .write) {
  case .proceeds: break
  case .fails: return writeError
  case .isFull:
    _ = watch.body(.full)
    return SQLITE_FULL
  case .tears:
    _ = unsafe write(file, bytes, count / 2, offset)
    _ = watch.body(.torn)
    return writeError
  }
  let code = unsafe write(file, bytes, count, offset)
  if code & 0xff == SQLITE_FULL { _ = watch.body(.full) }
  guard code == SQLITE_OK else { return code }
  watch.phase =
    isCommit ? (former == .commits ? .commits : .commitHeaderWritten) : isCommitPage ? .commits : former
  // If the callback does not let the write of the commit page proceed, an error is reported although the
  // page was written. Disks can do this, too.
  guard isCommitPage, watch.body(.commitWritten) != .proceeds else { return code }
  watch.phase = .writing
  return writeError
}

// SQLITE_IOERR_WRITE and SQLITE_IOERR_FSYNC, macros that Swift does not import.
private let (writeError, syncError) = (SQLITE_IOERR | 3 << 8, SQLITE_IOERR | 4 << 8)

private func watchedSync(_ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32) -> Int32 {
  guard let context = unsafe context(file), let sync = unsafe context.pointee.original.pointee.xSync else {
    return SQLITE_IOERR
  }
  let watch = unsafe context.pointee.watch.takeUnretainedValue()
  guard watch.body(.sync) == .proceeds else {
    watch.phase = .writing
    return syncError
  }
  let code = unsafe sync(file, flags)
  // A failed sync is not a commit. Without this, a later transaction that writes nothing would be reported
  // as committed.
  if code != SQLITE_OK { watch.phase = .writing }
  return code
}

/// Resets the phase at the end of each transaction on a file without a log, when its lock is released. The
/// rollback of a leftover journal writes all pages but reports no commit; without the reset, the next
/// transaction would be reported as committed even if it wrote nothing.
private func watchedUnlock(_ file: UnsafeMutablePointer<sqlite3_file>?, _ level: Int32) -> Int32 {
  guard let context = unsafe context(file), let unlock = unsafe context.pointee.original.pointee.xUnlock
  else {
    return SQLITE_IOERR
  }
  unsafe context.pointee.watch.takeUnretainedValue().phase = .writing
  return unsafe unlock(file, level)
}

private func watchedControl(
  _ file: UnsafeMutablePointer<sqlite3_file>?, _ operation: Int32, argument: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context = unsafe context(file), let control = unsafe context.pointee.original.pointee.xFileControl
  else {
    return SQLITE_NOTFOUND
  }
  let watch = unsafe context.pointee.watch.takeUnretainedValue()
  // The engine sends this when all pages are written and only the journal must be deleted.
  if operation == SQLITE_FCNTL_SYNC {
    switch watch.body(.commit) {
    case .proceeds: break
    case .isFull:
      _ = watch.body(.full)
      return SQLITE_FULL
    default: return syncError
    }
    watch.phase = .commits
  }
  let code = unsafe control(file, operation, argument)
  if operation == SQLITE_FCNTL_SYNC, code != SQLITE_OK, code != SQLITE_NOTFOUND { watch.phase = .writing }
  // The engine sends COMMIT_PHASETWO with a log too, after the last checksum, and also for a transaction
  // that wrote nothing. Hence the check of the phase.
  if operation == SQLITE_FCNTL_COMMIT_PHASETWO, watch.phase == .commits {
    watch.phase = .writing
    _ = watch.body(.committed)
  }
  return code
}
