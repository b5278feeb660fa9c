// Several commands in one folder of steps: one at a time, and who waits says for what.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct StepFolderLocks {
  let folder: TemporaryFolder
  var steps: String { folder.path("Steps") }

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    for number in 1...4 {
      try write("000\(number)_s\(number)", "create entity E\(number) {\n attribute n int\n}")
    }
    #expect(try run("embed").status == 0)
  }

  private func write(_ name: String, _ text: String) throws {
    try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
      to: URL(fileURLWithPath: "\(steps)/\(name).migration"))
  }

  private func run(_ words: String...) throws -> ToolResult {
    try runTool(builtExecutable("store-migrate"), words + ["-m", steps, "--no-input"])
  }

  private func start(_ line: [String]) -> Task<ToolResult, any Error> {
    Task {
      try await onThread {
        try runTool(builtExecutable("store-migrate"), line + ["-m", steps, "--no-input"])
      }
    }
  }

  private func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: steps).filter { $0.hasSuffix(".migration") }.sorted()
  }

  /// Holds the lock of the folder while commands start, and gives it up.
  private func waiting(_ lines: [[String]]) async throws -> [ToolResult] {
    let descriptor = open(steps, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    let runs = lines.map { start($0) }
    try await Task.sleep(for: .milliseconds(400))
    let before = try files()
    close(descriptor)
    #expect(before == ["0001_s1.migration", "0002_s2.migration", "0003_s3.migration", "0004_s4.migration"])
    var results: [ToolResult] = []
    for run in runs { results.append(try await run.value) }
    return results
  }

  @Test func `new steps that are made at once have numbers of their own`() async throws {
    let results = try await waiting((1...4).map { ["new", "branch \($0)"] })
    #expect(results.allSatisfy { $0.status == 0 }, "\(results)")
    #expect(
      results.contains { $0.errors.contains("Waiting for another command that is at work in \(steps)") })
    #expect(try files().map { String($0.prefix(4)) } == (1...8).map { "000\($0)" })
    #expect(try run("embed").status == 0 && run("check").status == 0)
  }

  @Test func `of two squashes at once the second finds what the first has left`() async throws {
    let results = try await waiting([["squash", "--to", "3"], ["squash", "--to", "3"], ["check"]])
    #expect(results.prefix(2).map(\.status).sorted() == [0, 5], "\(results)")
    #expect(try files() == ["0003_s3.migration", "0004_s4.migration"])
    let check = try run("check")
    #expect(check.status == 0 && check.errors.isEmpty, "\(check)")
  }

  @Test func `a folder that new has made goes when there is nothing to write`() throws {
    let path = folder.path("None")
    let result = try runTool(
      builtExecutable("store-migrate"), ["new", "x", "--rename", "A.b=c", "-m", path, "--no-input"])
    #expect(result.status == 64 && !FileManager.default.fileExists(atPath: path), "\(result)")
  }

  @Test func `who reads the steps waits until those are whole again`() async throws {
    try Data(repeating: 7, count: 32).write(to: URL(fileURLWithPath: folder.path("key")))
    let lines = [
      ["lint"], ["lint", "--all"], ["create", folder.path("a.store"), "--key-file", folder.path("key")],
    ]
    let first = "\(steps)/0001_s1.migration"
    let descriptor = open(steps, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    try FileManager.default.moveItem(atPath: first, toPath: first + ".moving")
    let runs = lines.map { start($0) }
    try await Task.sleep(for: .milliseconds(800))
    try FileManager.default.moveItem(atPath: first + ".moving", toPath: first)
    close(descriptor)
    for run in runs {
      let result = try await run.value
      #expect(result.status == 0, "\(result)")
      #expect(result.errors.contains("Waiting for another command"), "\(result)")
    }
  }

  @Test(arguments: [true, false])
  func `a folder that was taken away while a command waited is made, or waited for, anew`(_ isAnother: Bool)
    async throws
  {
    let path = folder.path("Empty")
    func lock() throws -> Int32 {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      return descriptor
    }
    let descriptor = try lock()
    let run = Task {
      try await onThread {
        try runTool(builtExecutable("store-migrate"), ["new", "x", "-m", path, "--no-input"])
      }
    }
    try await Task.sleep(for: .milliseconds(1200))
    #expect(rmdir(path) == 0)
    let second = isAnother ? try lock() : nil
    close(descriptor)
    if let second {
      try await Task.sleep(for: .milliseconds(300))
      #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
      close(second)
    }
    let result = try await run.value
    #expect(result.status == 0, "\(result)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["0001_x.migration"])
  }
}
