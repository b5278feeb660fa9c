// A way to stop the engine's change of a key. sqlite3_rekey commits by itself, within the call, and asks nobody before;
// a ROLLBACK behind it undoes nothing. What it cannot do without is its files.

internal import CSQLCipher

/// Stands between the engine and the files of one connection while its key is changed: a write that a gate forbids
/// fails, and the engine undoes the transaction as it does when a disk fails.
///
/// For the thread that uses the connection, and for the length of one call of the engine.
@safe final class CommitWatch {
  // `file` and `original` are the engine's, whose connection is open until end(); `room` is ours from stand() to end().
  @unsafe private struct Place {
    let file: UnsafeMutablePointer<sqlite3_file>
    let original: UnsafePointer<sqlite3_io_methods>
    let room: UnsafeMutableRawPointer
  }

  // The gate is held by the watch, whose end() takes the table away before both go.
  /// What the functions below find behind the table that they were called through.
  @unsafe fileprivate struct Context {
    let original: UnsafePointer<sqlite3_io_methods>
    let gate: Unmanaged<CommitGate>
    let isLog: Bool
    /// The engine undoes a transaction by writing, too: one failure is enough.
    var hasRefused = false
  }

  private let gate: CommitGate
  private var places: [Place] = unsafe []

  /// - Parameters:
  ///   - connection: With a transaction open, so that its log is.
  ///   - gate: Asked before each write, and told of the commit.
  init(_ connection: Connection, _ gate: CommitGate) {
    self.gate = gate
    unsafe stand(before: rawFile(of: connection.handle), isLog: false)
    // Without a log there is a journal, whose deletion is the commit; the sync of the file comes before that.
    if let log = unsafe logFile(of: connection.handle), unsafe log != places.first?.file {
      unsafe stand(before: log, isLog: true)
    }
  }

  /// Goes out of the way. Must be called before the connection is closed.
  func end() {
    while let place = unsafe places.popLast() {
      unsafe place.file.pointee.pMethods = unsafe place.original
      unsafe place.room.deallocate()
    }
  }

  deinit { end() }

  private func stand(before file: UnsafeMutablePointer<sqlite3_file>?, isLog: Bool) {
    guard let file = unsafe file, let original = unsafe file.pointee.pMethods else { return }
    let room = unsafe UnsafeMutableRawPointer.allocate(
      byteCount: contextOffset + MemoryLayout<Context>.size, alignment: 16)
    var methods = unsafe original.pointee
    unsafe methods.xWrite = { file, bytes, count, offset in unsafe guardedWrite(file, bytes, count, offset) }
    if !isLog {
      unsafe methods.xFileControl = { file, operation, argument in
        unsafe guardedControl(file, operation, argument)
      }
    }
    unsafe room.initializeMemory(as: sqlite3_io_methods.self, to: methods)
    unsafe (room + contextOffset).initializeMemory(
      as: Context.self,
      to: Context(original: original, gate: Unmanaged.passUnretained(gate), isLog: isLog))
    unsafe file.pointee.pMethods = unsafe UnsafePointer(room.assumingMemoryBound(to: sqlite3_io_methods.self))
    unsafe places.append(Place(file: file, original: original, room: room))
  }
}

// Behind the table of functions, so that a function that is called with the file finds it.
private let contextOffset = (MemoryLayout<sqlite3_io_methods>.size + 15) / 16 * 16

private func context(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<
  CommitWatch.Context
>? {
  guard let methods = unsafe file?.pointee.pMethods else { return nil }
  return unsafe UnsafeMutableRawPointer(mutating: UnsafeRawPointer(methods) + contextOffset)
    .assumingMemoryBound(to: CommitWatch.Context.self)
}

private func guardedWrite(
  _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32,
  _ offset: sqlite3_int64
) -> Int32 {
  guard let context = unsafe context(file), let write = unsafe context.pointee.original.pointee.xWrite else {
    return SQLITE_IOERR
  }
  let gate = unsafe context.pointee.gate.takeUnretainedValue()
  if unsafe !context.pointee.hasRefused {
    // File format, "The Write-Ahead Log": the header of a frame has 24 bytes, and those from 4 to 7 are other than
    // zero in the frame that commits.
    let isCommit =
      unsafe context.pointee.isLog && count == 24
      && bytes.map { unsafe $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self) != 0 } ?? false
    if isCommit ? !gate.mayCommit() : gate.current == .stopped {
      unsafe context.pointee.hasRefused = true
      return SQLITE_IOERR
    }
  }
  let code = unsafe write(file, bytes, count, offset)
  if code & 0xff == SQLITE_FULL { gate.didFindDiskFull() }
  return code
}

private func guardedControl(
  _ file: UnsafeMutablePointer<sqlite3_file>?, _ operation: Int32, _ argument: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context = unsafe context(file), let control = unsafe context.pointee.original.pointee.xFileControl
  else {
    return SQLITE_NOTFOUND
  }
  let gate = unsafe context.pointee.gate.takeUnretainedValue()
  // Sent when all pages are written and only the journal has to go.
  if operation == SQLITE_FCNTL_SYNC, unsafe !context.pointee.hasRefused, !gate.mayCommit() {
    unsafe context.pointee.hasRefused = true
    return SQLITE_IOERR
  }
  let code = unsafe control(file, operation, argument)
  if operation == SQLITE_FCNTL_COMMIT_PHASETWO, unsafe !context.pointee.hasRefused { gate.didCommit() }
  return code
}
