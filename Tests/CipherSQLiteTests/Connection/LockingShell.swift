// An sqlcipher shell that holds a lock.

import Foundation

/// A shell that has the lock of a file when `init` returns.
struct LockingShell {
  private let process = Process()
  private let input = Pipe()

  var processID: Int32 { process.processIdentifier }

  /// - Parameters:
  ///   - path: The database. The shell creates a file beside it once it has the lock.
  ///   - opening: The pragmas that open the database.
  ///   - transaction: The statements that take the lock.
  /// - Throws: `NotLocked` if the shell could not take the lock.
  init(_ program: String, path: String, opening: String, transaction: String = "BEGIN IMMEDIATE;") throws {
    let sign = path + ".locked"
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["-bail", path]
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    input.fileHandleForWriting.write(
      Data(".timeout 60000\n\(opening)\n\(transaction)\n.shell touch '\(sign)'\n".utf8))
    for _ in 0..<3000 where !FileManager.default.fileExists(atPath: sign) {
      guard process.isRunning else { throw NotLocked() }
      usleep(20_000)
    }
    guard FileManager.default.fileExists(atPath: sign) else { throw NotLocked() }
  }

  func end() { process.terminate() }

  struct NotLocked: Error {}
}
