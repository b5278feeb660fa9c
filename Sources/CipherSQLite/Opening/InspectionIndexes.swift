// Registers the index files that inspections of this process created next to files in WAL mode, so that
// they are removed when an inspection ends, and also when the process is terminated during one.

private import Foundation

/// The files whose index an inspection of this process removes when it ends.
///
/// May be used from any thread, and from the handler of a dispatch source; not from a POSIX signal
/// handler.
package enum InspectionIndexes {
  private struct State {
    /// One entry for each inspection.
    var files: [DatabasePath] = []
    /// The number of inspections that are being opened.
    var opening = 0
    var isEnding = false

    mutating func remove(_ file: DatabasePath) {
      if let place = files.firstIndex(of: file) { files.remove(at: place) }
    }
  }
  private static let state = Locked(State())

  /// Runs `body`, which opens the file and thereby creates its index.
  /// - Throws: `CancellationError` when the process is ending; what `body` throws, and then nothing is
  ///   registered.
  static func open<Opened>(_ file: DatabasePath, _ body: () throws -> Opened) throws -> Opened {
    try state.withLock { state in
      guard !state.isEnding else { throw CancellationError() }
      state.files.append(file)
      state.opening += 1
    }
    defer { state.withLock { $0.opening -= 1 } }
    do { return try body() } catch {
      state.withLock { $0.remove(file) }
      throw error
    }
  }

  /// Runs `body`, which closes the file and removes its index.
  static func close(_ file: DatabasePath, _ body: () -> Void) {
    state.withLock { state in
      body()
      state.remove(file)
    }
  }

  /// Removes each index that an inspection created. No inspection can be opened afterwards, because the
  /// process is ending.
  package static func removeAll() {
    // Waits for inspections that are being opened, because opening creates the index; at most one second,
    // because they may be waiting for a lock.
    let deadline = Deadline(1)
    while isOpening(), !deadline.isOver { usleep(1000) }
    state.withLock { state in
      for file in state.files { removeIndex(of: file) }
      state.files = []
    }
  }

  private static func isOpening() -> Bool {
    state.withLock { state in
      state.isEnding = true
      return state.opening > 0
    }
  }

  /// Removes the index of a file that a connection of this process still reads. Unlike the engine's
  /// locks, which also conflict with connections of this process, a POSIX lock excludes other processes
  /// only; it is granted only if no other process has the file open.
  private static func removeIndex(of file: DatabasePath) {
    let descriptor = unsafe Foundation.open(file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return }
    // SQLite's file format, "File Locking": the SHARED bytes, on which every process that has the file
    // open holds a lock.
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    (lock.l_start, lock.l_len) = (0x4000_0002, 510)
    if unsafe fcntl(descriptor, F_SETLK, &lock) == 0 { unlinkIndex(of: file) }
    // The descriptor is not closed: that would drop all locks that this process holds on the file. The
    // end of the process closes it.
  }

  /// Removes the index of a log, and a log without content. The caller ensures that no connection uses
  /// the file.
  static func unlinkIndex(of file: DatabasePath) {
    // A file of that name that the engine did not write is not removed.
    if let index = FileStatus(file.sharedMemory), index.isRegular,
      CompanionContent.isEngines(file.sharedMemory, suffix: "-shm", status: index)
    {
      unsafe unlink(file.sharedMemory)
    }
    if let log = FileStatus(file.log), log.isRegular, log.byteCount == 0 { unsafe unlink(file.log) }
  }
}
