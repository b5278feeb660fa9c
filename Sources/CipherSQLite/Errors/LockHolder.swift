// A process that is in the way, as errors name it. Who holds which lock is found out in Files/FileLock.swift.

private import Foundation

/// A process that holds the lock another one waits for.
public struct LockHolder: Sendable, Hashable {
  /// Its process id.
  public let processID: Int32
  /// Its program's name, at most 15 bytes; nil when the system does not tell.
  public let program: String?
  /// Whether it is this process: another of its connections.
  public var isThisProcess: Bool { processID == getpid() }
}

extension LockHolder: CustomStringConvertible {
  /// Such as `process 4711 (store-migrate)`, or `another connection of this process`.
  public var description: String {
    if isThisProcess { return "another connection of this process" }
    return "process \(processID)" + (program.map { " (\($0))" } ?? "")
  }
}

extension LockHolder {
  static var thisProcess: LockHolder { LockHolder(process: getpid()) }

  /// A process by its id, with its name where the system tells.
  init(process: Int32) { self.init(processID: process, program: Self.programName(process)) }

  private static func programName(_ process: Int32) -> String? {
    FileManager.default.contents(atPath: "/proc/\(process)/comm").map {
      String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
  }
}
