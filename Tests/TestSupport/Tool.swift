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
  /// Whether a signal ended it, whose number is the status then.
  public let isKilled: Bool
}

/// Runs a program to its end. `input` goes to its standard input.
/// - Parameter keepsPath: As of ``StartedTool``.
public func runTool(
  _ path: String, _ arguments: [String], input: String = "", environment: [String: String] = [:],
  directory: String? = nil, keepsPath: Bool = false
) throws -> ToolResult {
  try StartedTool(
    path, arguments, input: input, environment: environment, directory: directory, keepsPath: keepsPath
  ).end()
}

/// A text in which our own executables are called by their names, where they were called by their paths.
public func callingByName(_ text: String, _ path: String) -> String {
  let name = URL(fileURLWithPath: path).lastPathComponent
  return text.replacing("'\(path)'", with: name).replacing(path, with: name)
}

/// A program that runs beside the test, whose calls all block: a test that awaits while it holds what the program waits
/// for gets its turn again when the other tests let it, which may be minutes later.
public final class StartedTool {
  private let process = Process()
  private let (output, errors) = (Pipe(), Pipe())
  private var said = Data()
  /// The path under which the program calls itself, where texts are to have its name alone.
  private let calledPath: String?

  /// Starts it. `input` goes to its standard input.
  /// - Parameter keepsPath: Whether an executable of ours that offers lines calls itself in them by the path by which it was called
  ///   here; else by its name, which is the same on every machine.
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

  /// Its number, while it runs.
  public var processID: Int32 { process.processIdentifier }

  /// Waits until its standard error has this text.
  /// - Returns: Whether it has; false when the program has closed it without.
  public func says(_ text: String) throws -> Bool {
    while !String(decoding: said, as: UTF8.self).contains(text) {
      let next = try errors.fileHandleForReading.readNext(1)
      guard !next.isEmpty else { return false }
      said += next
    }
    return true
  }

  /// Waits for its end.
  /// - Returns: All that it has written, and how it ended.
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

extension FileHandle {
  /// All that comes until the end. Foundation's own call ends the process when a signal interrupts it, and tests send signals.
  /// - Throws: What the system says where it cannot be read: half of what was written would pass for all of it.
  public func readWhole() throws -> Data {
    var whole = Data()
    while case let more = try readNext(65_536), !more.isEmpty { whole += more }
    return whole
  }

  /// What comes next, and nothing at the end.
  fileprivate func readNext(_ count: Int) throws -> Data {
    while true {
      do { return try read(upToCount: count) ?? Data() } catch {
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        guard cause?.domain == NSPOSIXErrorDomain, cause?.code == Int(EINTR) else { throw error }
      }
    }
  }
}
