// Runs a program whose system calls fail, wait or kill it at a chosen place. The part that intercepts the
// calls is Tests/FaultInjector/faults.c.

import Foundation

/// A fault in a program, and the call at which it happens.
public struct Fault: Sendable, CustomStringConvertible {
  /// How a call fails.
  public enum Kind: Sendable, Hashable {
    /// The call fails with an error number.
    case error(Int32)
    /// So does every later call.
    case errors(Int32)
    /// The process dies before the call.
    case kill
    /// Half of a write is done, then the process dies.
    case torn
    /// The call is delayed.
    case delay(milliseconds: Int)
    /// The process receives a signal before the call, `times` times.
    case signal(Int32, times: Int)
  }
  /// How the call fails.
  public let kind: Kind
  /// The number of the call, counted from 1.
  public let index: Int

  /// A fault at one call.
  public init(_ kind: Kind, at index: Int) {
    self.kind = kind
    self.index = index
  }

  /// Such as `kill at call 7`.
  public var description: String { "\(kind) at call \(index)" }

  fileprivate var environment: [String: String] {
    let words: [String: String] =
      switch kind {
      case .error(let code): ["VAULT_FAULT_KIND": "error", "VAULT_FAULT_ERRNO": "\(code)"]
      case .errors(let code): ["VAULT_FAULT_KIND": "errors", "VAULT_FAULT_ERRNO": "\(code)"]
      case .kill: ["VAULT_FAULT_KIND": "kill"]
      case .torn: ["VAULT_FAULT_KIND": "torn"]
      case .delay(let time): ["VAULT_FAULT_KIND": "delay", "VAULT_FAULT_MILLISECONDS": "\(time)"]
      case .signal(let number, let times):
        // Time for another thread to handle the signal.
        [
          "VAULT_FAULT_KIND": times > 1 ? "signals" : "signal", "VAULT_FAULT_SIGNAL": "\(number)",
          "VAULT_FAULT_MILLISECONDS": "40",
        ]
      }
    return words.merging(["VAULT_FAULT_AT": "\(index)"]) { $1 }
  }
}

/// Runs programs with faults.
public enum FaultInjector {
  /// A call that was counted.
  public struct Call: Sendable, CustomStringConvertible {
    /// Such as `rename`; `write` is any way to write, `fsync` any way to sync.
    public let name: String
    /// The file; for a rename the new name.
    public let path: String
    /// Such as `rename notes.keys`.
    public var description: String { "\(name) \(URL(fileURLWithPath: path).lastPathComponent)" }
  }

  /// The result of a run, and its calls.
  public struct Run: Sendable {
    /// Output and exit code.
    public let result: ToolResult
    /// All counted calls, in their order. The last call of a killed run is the one with the fault.
    public let calls: [Call]
  }

  private static let folder = try? TemporaryFolder()

  /// The compiled library; nil if there is no compiler, or no way to preload it.
  public static let library: String? = {
    #if os(Linux)
      guard let folder else { return nil }
      let output = folder.path("faults.so")
      let source = packageRoot.appendingPathComponent("Tests/FaultInjector/faults.c").path
      let places = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
      for name in ["cc", "clang", "gcc"] {
        for place in places where FileManager.default.isExecutableFile(atPath: "\(place)/\(name)") {
          let made = try? runTool(
            "\(place)/\(name)", ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", output, source])
          if made?.status == 0 { return output }
        }
      }
    #endif
    return nil
  }()

  /// Whether programs can be run with faults here.
  public static var isAvailable: Bool { library != nil }

  /// Runs a program to its end.
  /// - Parameters:
  ///   - program: The path of the program.
  ///   - arguments: Its arguments.
  ///   - environment: Additional variables.
  ///   - part: Calls are counted on files whose path contains this, such as the folder.
  ///   - calls: The calls that are counted; empty for all.
  ///   - fault: The fault; nil to count only.
  public static func run(
    _ program: String, _ arguments: [String], environment: [String: String] = [:], in part: String,
    calls: [String] = [], fault: Fault? = nil
  ) throws -> Run {
    guard let folder else { throw CocoaError(.featureUnsupported) }
    let log = folder.path("\(UUID().uuidString).log")
    defer { try? FileManager.default.removeItem(atPath: log) }
    let faults = try variables(in: part, calls, fault).merging(["VAULT_FAULT_LOG": log]) { $1 }
    let result = try runTool(program, arguments, environment: environment.merging(faults) { $1 })
    let lines = (try? String(contentsOfFile: log, encoding: .utf8))?.split(separator: "\n") ?? []
    return Run(
      result: result,
      calls: lines.compactMap { line in
        let words = line.split(separator: " ", maxSplits: 2)
        return words.count == 3 ? Call(name: String(words[1]), path: String(words[2])) : nil
      })
  }

  /// Starts a program with a fault, for a test that does something meanwhile. Its calls are not recorded.
  /// - Parameters:
  ///   - directory: The working directory.
  ///   - environment: Additional variables.
  ///   - part: As above, like `calls` and `fault`.
  public static func start(
    _ program: String, _ arguments: [String], directory: String, environment: [String: String],
    in part: String,
    calls: [String], fault: Fault
  ) throws -> StartedTool {
    try StartedTool(
      program, arguments, environment: environment.merging(variables(in: part, calls, fault)) { $1 },
      directory: directory)
  }

  private static func variables(in part: String, _ calls: [String], _ fault: Fault?) throws -> [String:
    String]
  {
    guard let library else { throw CocoaError(.featureUnsupported) }
    return ["LD_PRELOAD": library, "VAULT_FAULT_IN": part, "VAULT_FAULT_CALLS": calls.joined(separator: ",")]
      .merging(fault?.environment ?? [:]) { $1 }
  }

  /// The indices to try of a number of calls: all in the long form, otherwise at most `most`, spread evenly,
  /// with the first and the last.
  public static func indices(of count: Int, most: Int = 12) -> [Int] {
    guard count > max(most, 1), !isTorture else {
      return count > 0 ? Array(1...count) : []
    }
    return most < 2 ? [1] : (0..<most).map { 1 + $0 * (count - 1) / (most - 1) }
  }
}
