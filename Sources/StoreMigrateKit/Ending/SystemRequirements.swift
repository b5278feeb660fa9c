// What every command needs from the system: threads, /proc, and an existing working directory.

import CipherSQLite
import Foundation

enum SystemRequirements {
  /// The threads that a command needs in addition to the first: one for tasks, one for signals, one for
  /// the engine, and one that waits for other processes.
  private static let threads: Int32 = 4

  /// Checks what every command needs. Without it, a command would wait forever, or the runtime would end
  /// it at any moment: call this before anything else.
  /// - Throws: ``RefusedError`` with the remedy.
  static func require() throws {
    try requireProc()
    guard let code = threadStartError(of: threads) else { return }
    throw RefusedError(
      code: .failed,
      description:
        "The system allows this user no more threads (\(systemText(code))). A command needs \(threads) more. "
        + "Raise the limit (ulimit -u, or the container's limit), or end other programs. Nothing was done.")
  }

  /// Checks for /proc: Dispatch, which runs every task, reads the state of its threads there, and ends
  /// the process when it cannot.
  private static func requireProc() throws {
    #if os(Linux)
      guard unsafe access("/proc/\(getpid())/stat", R_OK) != 0 else { return }
      throw RefusedError(
        code: .failed,
        description:
          "/proc is not mounted, as in a chroot or a rescue system. Without it, the runtime of this program "
          + "can end the process at any moment. Mount it and run the command again: mount -t proc proc /proc\n"
          + "Nothing was done.")
    #endif
  }

  /// The sentence to add to an error when the working directory was deleted; nil when it exists.
  static var lostFolder: String? {
    if let path = unsafe getcwd(nil, 0) {
      unsafe free(path)
      return nil
    }
    guard errno == ENOENT else { return nil }
    return
      "The current folder was deleted. Change to another folder, or use absolute paths."
  }
}
