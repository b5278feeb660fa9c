// Registers the files that this process is building, so that they can be removed when the process is
// terminated: one of them may be a whole copy in clear text.

private import Foundation

/// The temporary files of this process, by their paths.
///
/// May be used from any thread, and from the handler of a dispatch source; not from a POSIX signal
/// handler.
package enum Temporaries {
  private struct State {
    var paths: Set<String> = []
    var isEnding = false
    var aside: [RenamedFile] = []
  }

  /// A log or journal that has another name until its database has been replaced.
  private struct RenamedFile {
    let file: DatabasePath
    let status: FileStatus
    let suffix: String
    let path: String
  }
  private static let state = Locked(State())

  /// Creates a file or folder and registers its name, as one step under a lock. ``removeAll()`` runs
  /// either before this step, and then nothing is created, or after it, and then removes what was created.
  /// - Throws: `CancellationError` when the process is ending; what `make` throws, and then nothing is
  ///   registered.
  static func register<Made>(_ path: String, making make: () throws -> Made) throws -> Made {
    try state.withLock { state in
      guard !state.isEnding else { throw CancellationError() }
      let made = try make()
      state.paths.insert(path)
      return made
    }
  }

  /// Creates and registers a folder whose name is known only once it is created.
  static func registerFolder(making make: () throws -> String) throws -> String {
    try state.withLock { state in
      guard !state.isEnding else { throw CancellationError() }
      let path = try make()
      state.paths.insert(path)
      return path
    }
  }

  /// Registers a name that other code will create. Prefer ``register(_:making:)``.
  package static func register(_ path: String) throws { try register(path) {} }

  /// Renames a log or a journal while its database is being replaced. If the process is terminated
  /// meanwhile, ``removeAll()`` restores the name.
  /// - Parameters:
  ///   - file: The database.
  ///   - status: The status of the file that is being replaced.
  ///   - suffix: `-wal` or `-journal`.
  ///   - path: The new name.
  /// - Returns: `false`, with `errno`, when the rename fails.
  /// - Throws: `CancellationError` when the process is ending.
  static func setAside(
    logOf file: DatabasePath, status: FileStatus, suffix: String, as path: String
  ) throws -> Bool {
    try state.withLock { state in
      guard !state.isEnding else { throw CancellationError() }
      guard unsafe rename(file.path + suffix, path) == 0 else { return false }
      state.aside.append(RenamedFile(file: file, status: status, suffix: suffix, path: path))
      return true
    }
  }

  /// Discards the records of renamed logs: the file was replaced, or its logs have their own names again.
  static func discardRenamedLogs(of file: DatabasePath) {
    state.withLock { $0.aside.removeAll { $0.file == file } }
  }

  /// Whether this process is building the file, or the database that it is a companion of.
  static func isBuilding(_ path: String) -> Bool {
    state.withLock { state in
      ([""] + DatabasePath.companionSuffixes).contains { suffix in
        path.hasSuffix(suffix) && state.paths.contains(String(path.dropLast(suffix.count)))
      }
    }
  }

  /// Removes a name from the registry: the file was deleted, or has its final name now.
  package static func unregister(_ path: String) { state.withLock { _ = $0.paths.remove(path) } }

  /// Deletes every registered file and folder, and the companions that the engine keeps next to them.
  /// Restores the names of renamed logs and journals whose database was not replaced. No file can be
  /// registered afterwards, because the process is ending. A file that was renamed to its final name
  /// before stays.
  package static func removeAll() {
    state.withLock { state in
      state.isEnding = true
      for path in state.paths {
        var status = stat()
        if unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
          try? FileManager.default.removeItem(atPath: path)
        }
        // The file before its companions: once it is deleted, no thread can give it its final name.
        for suffix in [""] + DatabasePath.companionSuffixes { unsafe unlink(path + suffix) }
      }
      state.paths = []
      // From here on no database can be replaced. If the database is still the old one, its log gets its
      // name back; if it was replaced, the log is obsolete.
      for log in state.aside {
        if FileStatus(log.file.path)?.isSameFile(as: log.status) ?? false {
          _ = unsafe rename(log.path, log.file.path + log.suffix)
        } else {
          unsafe unlink(log.path)
        }
      }
      state.aside = []
    }
  }
}
