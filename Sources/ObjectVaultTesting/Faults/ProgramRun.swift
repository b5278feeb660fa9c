// One run of a program on a copy of a store, to its end or to its death.

#if os(macOS) || os(Linux)
  internal import CipherSQLite
  internal import Dispatch
  internal import Foundation
  internal import ObjectVault

  /// A program of an app, as a test runs it.
  struct TestedProgram {
    let url: URL
    let arguments: [String]
    /// How long it may run: one that waits for something would have the test wait for ever.
    let limit: Duration
  }

  /// How a program ended, and the folder that it worked in.
  struct ProgramRun {
    let folder: TestFolder
    /// How much it did; nil when it did not come to its end.
    let counts: SaveCounts?
    private let status: Int32
    private let isSignal: Bool
    private let errors: String
    /// How long it ran, where that was too long.
    private let overdue: Duration?

    /// Runs it on a copy of a store that nobody has open.
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
      // A file and not a pipe: what a program writes before it dies stays, and nobody waits for one who does not read.
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

    /// Runs a program to its end.
    /// - Returns: Whether it was ended because it ran for too long.
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
          // Under the lock: who waits for the end of the process reads what is said of it here behind that.
          isOverdue.withLock {
            // Of a process that has ended another one may have the number.
            $0 = process.isRunning && kill(id, SIGKILL) == 0
          }
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + limit / .seconds(1), execute: overdue)
        end = overdue
      }
      // Nobody waits for what no test is about any more.
      end?.cancel()
      return isOverdue.withLock { $0 }
    }

    var wasKilled: Bool { isSignal && status == SIGKILL && overdue == nil }
    var isDone: Bool { counts != nil && !isSignal && status == 0 }

    /// Such as `ended with the status 1: no such file`.
    var ending: String {
      let text = errors.trimmingCharacters(in: .whitespacesAndNewlines)
      let end =
        isDone
        ? "come to its end"
        : overdue.map { "run for \($0 / .seconds(1)) seconds without an end" }
          ?? (isSignal ? "ended by the signal \(status)" : "ended with the status \(status)")
      return text.isEmpty ? end : "\(end): \(text.suffix(500))"
    }

    var file: URL { folder.file(TestStore.fileName) }

    /// What lies in the folder and is not the store's.
    var strangers: [String] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)) ?? []
      let own = ["", "-wal", "-shm"].map { TestStore.fileName + $0 }
      return names.filter { !own.contains($0) }.sorted()
    }
  }
#endif
