// Signals within the system calls of commands that only read: the commands end at once, and leave no file.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.faults, .slow), .serialized) struct LookSignals {
  static let lines: [[String]] = [
    ["fetch", "notes.store", "Thing"], ["count", "notes.store", "Thing", "--where", "text != 'x'"],
    ["info", "notes.store"], ["verify", "notes.store", "-m", "Steps"],
    ["status", "notes.store", "-m", "Steps"],
    ["plan", "notes.store", "-m", "Steps"],
  ]

  /// Creates a store that is not in use, and a step folder without its steps.
  private static func bench() async throws -> FetchBench {
    let bench = try FetchBench()
    try await bench.makeThings { context in
      for number in 0..<2000 {
        try context.insert(entity: "Thing") {
          $0["number"] = number
          $0["text"] = String(repeating: "text ", count: 20)
        }
      }
    }
    try FileManager.default.createDirectory(
      at: bench.folder.url.appendingPathComponent("Steps"), withIntermediateDirectories: false)
    return bench
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"), arguments: lines)
  func `wherever a signal interrupts a reading command, no file is left`(_ words: [String]) async throws {
    let bench = try await Self.bench()
    let names = bench.folder.names
    let before = try bench.folder.bytes("notes.store")
    let line = words.map { ["notes.store", "Steps"].contains($0) ? bench.folder.path($0) : $0 }
    func run(_ fault: Fault? = nil) throws -> FaultInjector.Run {
      try FaultInjector.run(
        builtExecutable("store-migrate"), line + FetchBench.keyOptions,
        environment: FetchBench.environment, in: bench.folder.url.path, fault: fault)
    }
    let clean = try run()
    try #require(clean.calls.contains { $0.path.hasSuffix("-shm") }, "\(clean)")
    for (place, index) in FaultInjector.indices(of: clean.calls.count, most: 10).enumerated() {
      let signal = CommandSignals.signals[place % 3]
      let run = try run(Fault(.signal(signal, times: 1), at: index))
      let status = run.result.status
      #expect(status == 128 + signal || status == clean.result.status, "\(index): \(run.result)")
      #expect(bench.folder.names == names, "\(signal) at \(index) of \(clean.calls)")
    }
    #expect(try bench.folder.bytes("notes.store") == before)
  }

  @Test func `the first signal stops an endless step, also while a store is created`() throws {
    let folder = try TemporaryFolder()
    let endless = """
      format: 1
      [up]
      create entity A {
          attribute n string
      }
      seed {
          INSERT INTO $A (n) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0
      }
      """
    try FileManager.default.createDirectory(atPath: folder.path("M"), withIntermediateDirectories: true)
    try folder.write(Data(endless.utf8), to: "M/0001_endless.migration")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: builtExecutable("store-migrate"))
    process.arguments = ["create", folder.path("new.store"), "-m", folder.path("M")] + FetchBench.keyOptions
    process.environment = ProcessInfo.processInfo.environment.merging(FetchBench.environment) { $1 }
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    // The statement is running once a part of the new file exists.
    for _ in 0..<3000 where folder.names.allSatisfy({ !$0.hasPrefix("new.store") }) { usleep(20_000) }
    usleep(300_000)
    kill(process.processIdentifier, SIGTERM)
    for _ in 0..<3000 where process.isRunning { usleep(20_000) }
    try #require(!process.isRunning)
    #expect(process.terminationStatus == 128 + SIGTERM)
    #expect(folder.names == ["M"])
  }

  @Test func `a signal ends a fetch whose output is not read, and another user's files stay`() async throws {
    let bench = try await Self.bench()
    let names = bench.folder.names
    for hasOther in [false, true] {
      let other = hasOther ? try Connection.open(bench.url.path, key: FetchBench.key) : nil
      _ = try other?.rows("SELECT count(*) FROM Thing")
      let before = bench.folder.names
      let process = Process()
      process.executableURL = URL(fileURLWithPath: builtExecutable("store-migrate"))
      process.arguments = ["fetch", bench.url.path, "Thing", "--format", "lines"] + FetchBench.keyOptions
      process.environment = ProcessInfo.processInfo.environment.merging(FetchBench.environment) { $1 }
      let (output, errors) = (Pipe(), Pipe())
      (process.standardOutput, process.standardError) = (output, errors)
      try process.run()
      // The rows exceed the capacity of a pipe: only the first byte is read.
      _ = try output.fileHandleForReading.read(upToCount: 1)
      #expect(bench.folder.names.contains("notes.store-shm"))
      kill(process.processIdentifier, SIGTERM)
      process.waitUntilExit()
      #expect(process.terminationStatus == 128 + SIGTERM)
      let said = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
      #expect(said == "store-migrate: Interrupted (SIGTERM). Nothing was changed.\n")
      #expect(bench.folder.names == (hasOther ? before : names), "\(bench.folder.names)")
      #expect(try other?.value("SELECT count(*) FROM Thing")?.int64 ?? 2000 == 2000)
      other?.close()
      #expect(bench.folder.names == names)
    }
  }
}
