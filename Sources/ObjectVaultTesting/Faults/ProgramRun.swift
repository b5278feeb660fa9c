// One run of a program on a copy of a store, until it ends or is killed.

#if os(macOS) || os(Linux)
  internal import CipherSQLite
  internal import Dispatch
  internal import Foundation
  internal import ObjectVault

  /// An app's program, as a test runs it.
  struct TestedProgram {
    let url: URL
    let arguments: [String]
    /// How long it may run. Without a limit, a program that hangs would block the test forever.
    let limit: Duration
  }

  /// How a program ended, and the folder that it worked in.
  struct ProgramRun {
    let folder: TestFolder
    /// The writes and syncs of the program; nil when it did not complete.
    let counts: SaveCounts?
    private let status: Int32
    private let isSignal: Bool
    private let errors: String
    /// The time limit, when the program exceeded it; nil otherwise.
    private let overdue: Duration?

    /// Runs a program on a new copy of a test's store.
    init(_ program: TestedProgram, on test: TestStore, killedAt moment: SaveMoment?) async throws {
      let folder = try test.emptyFolder()
      try await test.store.backup(to: folder.file(TestStore.fileName))
      try await self.init(program, in: folder, key: test.keyBytes, killedAt: moment)
    }

    init(
      _ program: TestedProgram, in folder: TestFolder, key: [UInt8], killedAt moment: SaveMoment?
    ) async throws {
      let side = try TestFolder(isInMemory: true)
      let (report, errors, input) = (side.file("report"), side.file("errors"), side.file("order"))
      let order = KillOrder(
        store: folder.file(TestStore.fileName), key: key, moment: moment, report: report)
      // Files, not pipes: what a program writes before it dies is kept, and neither side can block the
      // other.
      try JSONEncoder().encode(order).write(to: input)
      try Data().write(to: errors)
      let process = Process()
      (process.executableURL, process.arguments) = (program.url, program.arguments)
      process.standardInput = try FileHandle(forReadingFrom: input)
      process.standardOutput = FileHandle.nullDevice
      process.standardError = try FileHandle(forWritingTo: errors)
      overdue = try await Self.run(process, atMost: program.limit) ? program.limit : nil
      self.folder = folder
      (status, isSignal) = (process.terminationStatus, process.terminationReason == .uncaughtSignal)
      self.errors = (try? String(contentsOf: errors, encoding: .utf8)) ?? ""
      counts = try? JSONDecoder().decode(SaveCounts.self, from: Data(contentsOf: report))
    }

    /// Runs a process to its end.
    /// - Returns: Whether it was killed because it exceeded the limit.
    private static func run(_ process: Process, atMost limit: Duration) async throws -> Bool {
      let isOverdue = Locked(false)
      var end: DispatchWorkItem?
      try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
        process.terminationHandler = { _ in done.resume() }
        do { try process.run() } catch {
          done.resume(throwing: error)
          return
        }
        let id = process.processIdentifier
        let overdue = DispatchWorkItem {
          // Under the lock, so that the result is complete when it is read after the end of the process.
          isOverdue.withLock {
            // After the process has ended, another process may have its id.
            $0 = process.isRunning && kill(id, SIGKILL) == 0
          }
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + limit / .seconds(1), execute: overdue)
        end = overdue
      }
      // The process has ended, so the limit no longer applies.
      end?.cancel()
      return isOverdue.withLock { $0 }
    }

    var wasKilled: Bool { isSignal && status == SIGKILL && overdue == nil }
    var isDone: Bool { counts != nil && !isSignal && status == 0 }

    /// How the program ended, such as `ended with the status 1: no such file`.
    var ending: String {
      let text = errors.trimmingCharacters(in: .whitespacesAndNewlines)
      let end =
        isDone
        ? "ended normally"
        : overdue.map { "ran for \($0 / .seconds(1)) seconds without ending" }
          ?? (isSignal ? "was ended by the signal \(status)" : "ended with the status \(status)")
      return text.isEmpty ? end : "\(end): \(text.suffix(500))"
    }

    var file: URL { folder.file(TestStore.fileName) }

    /// The names of the files in the folder that do not belong to the store.
    var strangers: [String] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)) ?? []
      let own = ["", "-wal", "-shm"].map { TestStore.fileName + $0 }
      return names.filter { !own.contains($0) }.sorted()
    }
  }
#endif
