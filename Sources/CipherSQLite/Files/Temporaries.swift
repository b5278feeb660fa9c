// What this process is building, so that it can be removed when the process is told to end: a whole copy in clear may
// be among it.

private import Foundation

/// The temporary files of this process, by their names.
///
/// May be used from any thread, from the handler of a dispatch source too; not from a signal handler of the system.
package enum Temporaries {
  private struct State {
    var paths: Set<String> = []
    var isEnding = false
    var aside: [Aside] = []
  }

  /// A log under another name, until another file has taken the place of its own.
  private struct Aside {
    let file: DatabasePath
    let status: FileStatus
    let suffix: String
    let path: String
  }
  private static let state = Locked(State())

  /// Notes a name and makes the file or folder. The two cannot be parted by ``removeAll()``: it comes before, and
  /// nothing is made, or after, and removes it.
  /// - Throws: `CancellationError` when the process is ending; what `make` throws, and then nothing is noted.
  static func register<Made>(_ path: String, making make: () throws -> Made) throws -> Made {
    try state.withLock { state in
      guard !state.isEnding else { throw CancellationError() }
      let made = try make()
      state.paths.insert(path)
      return made
    }
  }

  /// The same for a folder whose name is known when it is made.
  static func registerFolder(making make: () throws -> String) throws -> String {
    try state.withLock { state in
      guard !state.isEnding else { throw CancellationError() }
      let path = try make()
      state.paths.insert(path)
      return path
    }
  }

  /// Notes a name that somebody else will make. Prefer ``register(_:making:)``.
  package static func register(_ path: String) throws { try register(path) {} }

  /// Gives a log or a journal another name for as long as its file is being replaced: a process that ends then gives
  /// it its own again.
  /// - Returns: `false`, with `errno`, when that fails.
  /// - Throws: `CancellationError` when the process is ending.
  static func setAside(_ file: DatabasePath, _ status: FileStatus, _ suffix: String, _ path: String) throws
    -> Bool
  {
    try state.withLock { state in
      guard !state.isEnding else { throw CancellationError() }
      guard unsafe rename(file.path + suffix, path) == 0 else { return false }
      state.aside.append(Aside(file: file, status: status, suffix: suffix, path: path))
      return true
    }
  }

  /// The file was replaced, or its log has its own name again.
  static func forgetWhatIsAside(of file: DatabasePath) {
    state.withLock { $0.aside.removeAll { $0.file == file } }
  }

  /// Whether this process is building the file, or the one that it lies beside.
  static func isBuilding(_ path: String) -> Bool {
    state.withLock { state in
      ([""] + DatabasePath.companionSuffixes).contains { suffix in
        path.hasSuffix(suffix) && state.paths.contains(String(path.dropLast(suffix.count)))
      }
    }
  }

  /// Forgets a name: the file is removed, or has its own name now.
  package static func unregister(_ path: String) { state.withLock { _ = $0.paths.remove(path) } }

  /// Removes every file and folder that is noted, and what the engine keeps beside it. Afterwards none can be made
  /// any more: for a process that ends. What was renamed before has got its own name and stays.
  package static func removeAll() {
    state.withLock { state in
      state.isEnding = true
      for path in state.paths {
        var status = stat()
        if unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
          try? FileManager.default.removeItem(atPath: path)
        }
        // The file first: its name is what a rename still needs.
        for suffix in [""] + DatabasePath.companionSuffixes { unsafe unlink(path + suffix) }
      }
      state.paths = []
      // Nothing can take the place of a file any more.
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
