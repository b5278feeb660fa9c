// Programs beside us: the sqlcipher shell, our own executables.

public import Foundation

/// What a program wrote, and how it ended.
public struct ToolResult: Sendable {
  /// The exit code.
  public let status: Int32
  /// What was written to standard output.
  public let output: String
  /// What was written to standard error.
  public let errors: String
}

/// Runs a program to its end. `input` goes to its standard input.
public func runTool(
  _ path: String, _ arguments: [String], input: String = "", environment: [String: String] = [:],
  directory: String? = nil
) throws -> ToolResult {
  let process = Process()
  if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
  process.executableURL = URL(fileURLWithPath: path)
  process.arguments = arguments
  process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
  let (stdin, stdout, stderr) = (Pipe(), Pipe(), Pipe())
  process.standardInput = stdin
  process.standardOutput = stdout
  process.standardError = stderr
  try process.run()
  try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
  try stdin.fileHandleForWriting.close()
  let output = stdout.fileHandleForReading.readDataToEndOfFile()
  let errors = stderr.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  return ToolResult(
    status: process.terminationStatus, output: String(decoding: output, as: UTF8.self),
    errors: String(decoding: errors, as: UTF8.self))
}

/// The sqlcipher shell of the engine under test: `SQLCIPHER_SHELL`, or the installed one.
public let cipherShell: String? = {
  let named = ProcessInfo.processInfo.environment["SQLCIPHER_SHELL"]
  return [named, "/usr/bin/sqlcipher", "/usr/local/bin/sqlcipher", "/opt/homebrew/bin/sqlcipher"]
    .compactMap { $0 }.first { FileManager.default.isExecutableFile(atPath: $0) }
}()

/// The folder of the executables that were built along with the tests.
public func builtExecutable(_ name: String) -> String {
  // The test bundle lies beside the executables.
  var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
  for _ in 0..<4 {
    let candidate = folder.appendingPathComponent(name).path
    if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
    folder = folder.deletingLastPathComponent()
  }
  return name
}

/// The package's root folder.
public let packageRoot = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
