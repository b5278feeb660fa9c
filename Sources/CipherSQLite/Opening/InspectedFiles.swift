// What an inspection needs beside a file in WAL mode goes with the inspection, and also with a process that is told to end
// in the midst of it.

private import Foundation

/// The files beside which inspections of this process have an index that nobody else needs.
///
/// May be used from any thread, from the handler of a dispatch source too; not from a signal handler of the system.
package enum InspectedFiles {
  private struct State {
    /// One for each inspection.
    var files: [DatabasePath] = []
    /// How many of them are being opened.
    var opening = 0
    var isEnding = false

    mutating func remove(_ file: DatabasePath) {
      if let place = files.firstIndex(of: file) { files.remove(at: place) }
    }
  }
  private static let state = Locked(State())

  /// Runs `body`, which opens the file and with that makes its index.
  /// - Throws: `CancellationError` when the process is ending; what `body` throws, and then nothing is noted.
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

  /// Removes each index that is ours. Afterwards no inspection can begin any more: for a process that ends.
  package static func removeAll() {
    // Whoever opens a file at this moment makes the index within it. A file that somebody has locked is not waited for.
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

  /// Removes the index of a file that a connection of this process still reads. Unlike the engine's locks, which ask this
  /// process' own connections too, the system's keeps everybody else out, and is not given to who is not alone.
  private static func removeIndex(of file: DatabasePath) {
    let descriptor = unsafe Foundation.open(file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return }
    // SQLite's file format, "File Locking": the SHARED bytes, one of which everybody holds who has the file open.
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    (lock.l_start, lock.l_len) = (0x4000_0002, 510)
    if unsafe fcntl(descriptor, F_SETLK, &lock) == 0 { unlinkIndex(of: file) }
    // Not closed: that would drop all locks that this process holds on the file. Its end closes it.
  }

  /// Removes the index of a log, and a log without content. The caller keeps others from using the file.
  static func unlinkIndex(of file: DatabasePath) {
    // Not what somebody planted there, and nobody's notes that are called so.
    if let index = FileStatus(file.sharedMemory), index.isRegular,
      CompanionContent.isEngines(file.sharedMemory, "-shm", index)
    {
      unsafe unlink(file.sharedMemory)
    }
    if let log = FileStatus(file.log), log.isRegular, log.byteCount == 0 { unsafe unlink(file.log) }
  }
}
