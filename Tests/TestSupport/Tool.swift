// Other programs: the sqlcipher shell, and the executables of this package.

public import Foundation

/// The output of a program, and its exit code.
public struct ToolResult: Sendable {
  /// The exit code.
  public let status: Int32
  /// The text on standard output.
  public let output: String
  /// The text on standard error.
  public let errors: String
  /// Whether a signal ended the program; the status is then its number.
  public let isKilled: Bool
}

/// Runs a program to its end, with `input` as its standard input.
/// - Parameter keepsPath: As for ``StartedTool``.
public func runTool(
  _ path: String, _ arguments: [String], input: String = "", environment: [String: String] = [:],
  directory: String? = nil, keepsPath: Bool = false
) throws -> ToolResult {
  try StartedTool(
    path, arguments, input: input, environment: environment, directory: directory, keepsPath: keepsPath
  ).end()
}

/// Replaces the path of an executable of this package in a text by its name.
public func callingByName(_ text: String, _ path: String) -> String {
  let name = URL(fileURLWithPath: path).lastPathComponent
  return text.replacing("'\(path)'", with: name).replacing(path, with: name)
}

/// A program that runs beside the test. All its calls block: a test that awaited while it has what the
/// program waits for would continue only when the other tests let it, which may be minutes later.
public final class StartedTool {
  private let process = Process()
  private let (output, errors) = (Pipe(), Pipe())
  private var said = Data()
  /// The path of the program, if texts should have its name instead.
  private let calledPath: String?

  /// Starts the program, with `input` as its standard input.
  /// - Parameter keepsPath: Whether an executable of this package keeps, in the lines that it suggests, the
  ///   path by which it was called here. Otherwise the lines have its name, which is the same on every
  ///   machine.
  public init(
    _ path: String, _ arguments: [String], input: String = "", environment: [String: String] = [:],
    directory: String? = nil, keepsPath: Bool = false
  ) throws {
    let isOurs = builtExecutable(URL(fileURLWithPath: path).lastPathComponent) == path
    calledPath = isOurs && !keepsPath ? path : nil
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    let stdin = Pipe()
    process.standardInput = stdin
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try stdin.fileHandleForWriting.close()
  }

  /// The process id, while the program runs.
  public var processID: Int32 { process.processIdentifier }

  /// Waits until standard error has a text.
  /// - Returns: Whether it has; false if the program has closed it without the text.
  public func says(_ text: String) throws -> Bool {
    while !String(decoding: said, as: UTF8.self).contains(text) {
      let next = try errors.fileHandleForReading.readNext(1)
      guard !next.isEmpty else { return false }
      said += next
    }
    return true
  }

  /// Waits for the end of the program.
  /// - Returns: All of its output, and its exit code.
  public func end() throws -> ToolResult {
    let output = try output.fileHandleForReading.readWhole()
    said += try errors.fileHandleForReading.readWhole()
    process.waitUntilExit()
    func text(_ data: Data) -> String {
      let text = String(decoding: data, as: UTF8.self)
      return calledPath.map { callingByName(text, $0) } ?? text
    }
    return ToolResult(
      status: process.terminationStatus, output: text(output), errors: text(said),
      isKilled: process.terminationReason == .uncaughtSignal)
  }
}

/// The sqlcipher shell of the engine under test: `SQLCIPHER_SHELL`, or the installed one.
public let cipherShell: String? = {
  let named = ProcessInfo.processInfo.environment["SQLCIPHER_SHELL"]
  return [named, "/usr/bin/sqlcipher", "/usr/local/bin/sqlcipher", "/opt/homebrew/bin/sqlcipher"]
    .compactMap { $0 }.first { FileManager.default.isExecutableFile(atPath: $0) }
}()

/// A `test-child` that works step by step: the parent reads its lines, and sends it lines.
public final class SteppedChild {
  private let process = Process()
  private let (input, output) = (Pipe(), Pipe())

  /// Starts the child.
  public init(_ mode: String, _ path: String = "-", environment: [String: String] = [:]) throws {
    process.executableURL = URL(fileURLWithPath: builtExecutable("test-child"))
    process.arguments = [mode, path]
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
  }

  /// Reads the next line; nil at the end of the output.
  public func line() throws -> String? {
    var line = Data()
    while let byte = try output.fileHandleForReading.readNext(1).first {
      if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      line.append(byte)
    }
    return nil
  }

  /// Sends an empty line.
  public func proceed() throws { try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }

  /// Stops the child, or lets it continue.
  public func setRunning(_ isRunning: Bool) { kill(process.processIdentifier, isRunning ? SIGCONT : SIGSTOP) }

  /// Kills the child, and waits for its end.
  public func killNow() {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Waits for the end of the child.
  /// - Returns: Its exit code.
  public func end() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }
}

/// The path of an executable that was built with the tests; its name if there is none.
public func builtExecutable(_ name: String) -> String {
  // The test bundle is beside the executables.
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

extension FileHandle {
  /// All data until the end. Foundation's own call ends the process when a signal interrupts it, and tests
  /// send signals.
  /// - Throws: The error of the system if reading fails: otherwise half of the data would pass for all of
  ///   it.
  public func readWhole() throws -> Data {
    var whole = Data()
    while case let more = try readNext(65_536), !more.isEmpty { whole += more }
    return whole
  }

  /// The next data; empty at the end.
  fileprivate func readNext(_ count: Int) throws -> Data {
    while true {
      do { return try read(upToCount: count) ?? Data() } catch {
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        guard cause?.domain == NSPOSIXErrorDomain, cause?.code == Int(EINTR) else { throw error }
      }
    }
  }
}
