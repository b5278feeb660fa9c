// A process that holds a lock, as errors name it. Files/FileLock.swift finds the holders.

private import Foundation

/// A process that holds a lock for which a connection waits.
public struct LockHolder: Sendable, Hashable {
  /// The process id.
  public let processID: Int32
  /// The program's name, at most 15 bytes; nil if the system does not provide it.
  public let program: String?
  /// Whether this is the calling process: then another of its own connections holds the lock.
  public var isThisProcess: Bool { processID == getpid() }
}

extension LockHolder: CustomStringConvertible {
  /// The holder as text, such as `process 4711 (store-migrate)`, or `another connection of this process`.
  public var description: String {
    if isThisProcess { return "another connection of this process" }
    return "process \(processID)" + (program.map { " (\($0))" } ?? "")
  }
}

extension LockHolder {
  static var thisProcess: LockHolder { LockHolder(process: getpid()) }

  /// Creates the holder for a process id, with the program's name if the system provides it.
  init(process: Int32) { self.init(processID: process, program: Self.programName(process)) }

  private static func programName(_ process: Int32) -> String? {
    FileManager.default.contents(atPath: "/proc/\(process)/comm").map {
      String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
  }
}
