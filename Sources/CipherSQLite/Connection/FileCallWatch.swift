// What the engine does to the files of a connection, told before it is done, and a way to let it fail: for tests of
// what is left when a disk does. In an app nobody asks.

internal import CSQLCipher

/// What the engine is about to do to a connection's file or log, or has just done.
package enum FileCall: Sendable, Hashable {
  /// It writes.
  case write
  /// It writes to the log the head of the frame by which a transaction counts. A write like others, told by this alone.
  case commit
  /// It has written that frame whole: the transaction counts, and whoever asked for it has not heard yet.
  case committed
  /// It wants what was written on the disk.
  case sync
  /// Half of a write is done, as ``FileAnswer/tears`` asked for, and the rest will not be.
  case torn
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

  fileprivate let body: (FileCall) -> FileAnswer
  /// Whether the head of a frame that commits is written, and its page comes next.
  fileprivate var isCommitting = false
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
  let isPageOfCommit = unsafe context.pointee.isLog && watch.isCommitting && !isCommit
  switch watch.body(isCommit ? .commit : .write) {
  case .goesOn: break
  case .fails: return SQLITE_IOERR | 3 << 8  // SQLITE_IOERR_WRITE, a macro that Swift does not see.
  case .isFull: return SQLITE_FULL
  case .tears:
    _ = unsafe write(file, bytes, count / 2, offset)
    _ = watch.body(.torn)
    return SQLITE_IOERR | 3 << 8
  }
  let code = unsafe write(file, bytes, count, offset)
  watch.isCommitting = isCommit && code == SQLITE_OK
  // Done, and the error of a later one: a disk may say so.
  guard isPageOfCommit, code == SQLITE_OK, watch.body(.committed) != .goesOn else { return code }
  return SQLITE_IOERR | 3 << 8
}

private func watchedSync(_ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32) -> Int32 {
  guard let context = unsafe context(file), let sync = unsafe context.pointee.original.pointee.xSync else {
    return SQLITE_IOERR
  }
  let watch = unsafe context.pointee.watch.takeUnretainedValue()
  // SQLITE_IOERR_FSYNC, a macro that Swift does not see.
  guard watch.body(.sync) == .goesOn else { return SQLITE_IOERR | 4 << 8 }
  return unsafe sync(file, flags)
}
