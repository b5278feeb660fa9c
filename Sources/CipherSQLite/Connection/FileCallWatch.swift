// What the engine does to the files of a connection, told before it is done, and a way to let it fail: for a change of the
// key, which nothing else stops, and for tests of what is left when a disk fails. Nobody else asks.

internal import CSQLCipher

/// What the engine is about to do to a connection's file or log, or has just done.
package enum FileCall: Sendable, Hashable {
  /// It writes.
  case write
  /// All of a transaction is written but what makes it count. Of a log: it writes the head of the frame by which the
  /// transaction counts, a write like others that is told by this alone. Of a file without a log: its journal goes next.
  case commit
  /// It has written that frame whole. Where the transaction was too large for the cache and wrote a page twice, checksums
  /// are written anew behind this, and the transaction counts when all of them are.
  case commitWritten
  /// The transaction counts, and whoever asked for it has not heard yet. No answer changes that.
  case committed
  /// It wants what was written on the disk.
  case sync
  /// Half of a write is done, as ``FileAnswer/tears`` asked for, and the rest will not be.
  case torn
  /// A write has found no room.
  case full
}

/// What becomes of a call.
package enum FileAnswer: Sendable, Hashable {
  /// What else would.
  case goesOn
  /// It fails as on a disk with an error.
  case fails
  /// So does a write, of which half is done.
  case tears
  /// A write fails for want of room.
  case isFull
}

/// Stands between the engine and the files of one connection.
@safe final class FileCallWatch {
  /// What the functions below find behind the table that they were called through.
  @unsafe fileprivate struct Context {
    // The engine's, for as long as its library is loaded.
    let original: UnsafePointer<sqlite3_io_methods>
    // The connection holds the watch until end() has taken the table away.
    let watch: Unmanaged<FileCallWatch>
    let isLog: Bool
  }

  /// Who asks.
  let body: (FileCall) -> FileAnswer
  /// How far a transaction is.
  fileprivate enum Phase {
    case writing
    /// The head of the frame that commits is written, and its page comes next.
    case beginsCommit
    /// What commits is written.
    case commits
  }
  fileprivate var phase = Phase.writing
  // Tables of ours, each with its context behind it; freed by end().
  private var rooms: [UnsafeMutableRawPointer] = unsafe []

  init(_ handle: OpaquePointer?, _ body: @escaping (FileCall) -> FileAnswer) {
    self.body = body
    let file = unsafe rawFile(of: handle)
    unsafe stand(before: file, isLog: false)
    if let log = unsafe logFile(of: handle), unsafe log != file { unsafe stand(before: log, isLog: true) }
  }

  /// Goes out of the way. Must be called before the connection is closed.
  func end(_ handle: OpaquePointer?) {
    // Asked for anew: the engine may have closed its log since, and freed what a pointer of then leads to.
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
    unsafe methods.xWrite = { file, bytes, count, offset in unsafe watchedWrite(file, bytes, count, offset) }
    unsafe methods.xSync = { file, flags in unsafe watchedSync(file, flags) }
    if !isLog {
      unsafe methods.xFileControl = { file, operation, argument in
        unsafe watchedControl(file, operation, argument)
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

// Behind the table of functions, so that a function that is called with the file finds it.
private let contextOffset = (MemoryLayout<sqlite3_io_methods>.size + 15) / 16 * 16

private func context(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<
  FileCallWatch.Context
>? {
  guard let methods = unsafe file?.pointee.pMethods else { return nil }
  return unsafe UnsafeMutableRawPointer(mutating: UnsafeRawPointer(methods) + contextOffset)
    .assumingMemoryBound(to: FileCallWatch.Context.self)
}

private func watchedWrite(
  _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32,
  _ offset: sqlite3_int64
) -> Int32 {
  guard let context = unsafe context(file), let write = unsafe context.pointee.original.pointee.xWrite else {
    return SQLITE_IOERR
  }
  let watch = unsafe context.pointee.watch.takeUnretainedValue()
  // File format, "The Write-Ahead Log": the head of a frame has 24 bytes, and those from 4 to 7 are other than zero in
  // the frame that commits.
  let isCommit =
    unsafe context.pointee.isLog && count == 24
    && bytes.map { unsafe $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self) != 0 } ?? false
  let isPageOfCommit = unsafe context.pointee.isLog && watch.phase == .beginsCommit && !isCommit
  let former = watch.phase
  // Until it is done: whoever fails has not committed.
  watch.phase = .writing
  switch watch.body(isCommit ? .commit : .write) {
  case .goesOn: break
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
    isCommit ? (former == .commits ? .commits : .beginsCommit) : isPageOfCommit ? .commits : former
  // Done, and the error of a later one: a disk may say so.
  guard isPageOfCommit, watch.body(.commitWritten) != .goesOn else { return code }
  watch.phase = .writing
  return writeError
}

// SQLITE_IOERR_WRITE and SQLITE_IOERR_FSYNC, macros that Swift does not see.
private let (writeError, syncError) = (SQLITE_IOERR | 3 << 8, SQLITE_IOERR | 4 << 8)

private func watchedSync(_ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32) -> Int32 {
  guard let context = unsafe context(file), let sync = unsafe context.pointee.original.pointee.xSync else {
    return SQLITE_IOERR
  }
  let watch = unsafe context.pointee.watch.takeUnretainedValue()
  guard watch.body(.sync) == .goesOn else {
    watch.phase = .writing
    return syncError
  }
  let code = unsafe sync(file, flags)
  // What could not be synced is no commit, and a later transaction that writes nothing is none of it.
  if code != SQLITE_OK { watch.phase = .writing }
  return code
}

/// A file without a log is let go at the end of each transaction. One that put a journal back has written all of its pages and
/// tells of no commit, so that the next one would be taken for it.
private func watchedUnlock(_ file: UnsafeMutablePointer<sqlite3_file>?, _ level: Int32) -> Int32 {
  guard let context = unsafe context(file), let unlock = unsafe context.pointee.original.pointee.xUnlock
  else {
    return SQLITE_IOERR
  }
  unsafe context.pointee.watch.takeUnretainedValue().phase = .writing
  return unsafe unlock(file, level)
}

private func watchedControl(
  _ file: UnsafeMutablePointer<sqlite3_file>?, _ operation: Int32, _ argument: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context = unsafe context(file), let control = unsafe context.pointee.original.pointee.xFileControl
  else {
    return SQLITE_NOTFOUND
  }
  let watch = unsafe context.pointee.watch.takeUnretainedValue()
  // Sent when all pages are written and only the journal has to go.
  if operation == SQLITE_FCNTL_SYNC {
    switch watch.body(.commit) {
    case .goesOn: break
    case .isFull:
      _ = watch.body(.full)
      return SQLITE_FULL
    default: return syncError
    }
    watch.phase = .commits
  }
  let code = unsafe control(file, operation, argument)
  if operation == SQLITE_FCNTL_SYNC, code != SQLITE_OK, code != SQLITE_NOTFOUND { watch.phase = .writing }
  // Of a log, too: behind the last checksum. A transaction that wrote nothing sends it as well.
  if operation == SQLITE_FCNTL_COMMIT_PHASETWO, watch.phase == .commits {
    watch.phase = .writing
    _ = watch.body(.committed)
  }
  return code
}
