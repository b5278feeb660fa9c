// The sqlcipher shell, holding the lock of a writer.

import Foundation

/// A shell that has begun to write to a file before anybody asks about its lock.
struct LockingShell {
  private let process = Process()
  private let input = Pipe()

  var processID: Int32 { process.processIdentifier }

  /// - Parameters:
  ///   - path: The database. A file is made beside it as soon as the lock is held.
  ///   - opening: The pragmas that open it.
  ///   - transaction: What takes the lock.
  /// - Throws: `NotLocked` where the shell could not begin.
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
