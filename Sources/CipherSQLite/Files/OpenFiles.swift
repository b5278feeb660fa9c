// The files that connections of this process have open.
//
// When any descriptor of a file is closed, the system drops all POSIX locks of the process on that file. So
// the index of a log (`-shm`), which has such locks, may be read only while no connection uses it.

/// Counts the open connections by the paths of their files.
enum OpenFiles {
  private static let counts = Locked<[String: Int]>([:])

  /// Registers a connection, before it reads its file.
  static func add(_ path: String) { counts.withLock { $0[path, default: 0] += 1 } }

  /// Removes a connection that was closed.
  static func remove(_ path: String) {
    counts.withLock { counts in
      let rest = counts[path, default: 0] - 1
      counts[path] = rest > 0 ? rest : nil
    }
  }

  /// Runs `body` if no connection of this process has a file open; none begins to use it meanwhile. All
  /// openings and closings wait for `body`, which must do neither.
  /// - Returns: nil if there is such a connection.
  static func ifUnused<Result>(_ path: String, _ body: () -> Result) -> Result? {
    counts.withLock { $0[path] == nil ? body() : nil }
  }
}
