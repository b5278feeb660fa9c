// Several commands in one step folder: they run one at a time, and a waiting command reports what it waits
// for.

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
      try write("000\(number)_s\(number)", text: "create entity E\(number) {\n attribute n int\n}")
    }
    #expect(try run("embed").status == 0)
  }

  private func write(_ name: String, text: String) throws {
    try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
      to: URL(fileURLWithPath: "\(steps)/\(name).migration"))
  }

  private func run(_ words: String...) throws -> ToolResult {
    try runTool(builtExecutable("store-migrate"), words + ["-m", steps, "--no-input"])
  }

  /// Starts commands while the folder is locked, runs `body` once all of them wait, and then releases the
  /// lock. The commands have written nothing until then.
  private func waiting(_ lines: [[String]], _ body: () throws -> Void = {}) throws -> [ToolResult] {
    let (descriptor, former) = (try lock(steps), try files())
    let runs = try lines.map {
      try StartedTool(builtExecutable("store-migrate"), $0 + ["-m", steps, "--no-input"])
    }
    for run in runs { #expect(try run.says("Waiting for another command that is writing to \(steps)")) }
    #expect(try files() == former)
    try body()
    close(descriptor)
    return try runs.map { try $0.end() }
  }

  private func lock(_ path: String) throws -> Int32 {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return descriptor
  }

  private func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: steps).filter { $0.hasSuffix(".migration") }.sorted()
  }

  @Test func `new commands at the same time give their steps different numbers`() throws {
    let results = try waiting((1...4).map { ["new", "branch \($0)"] })
    #expect(results.allSatisfy { $0.status == 0 }, "\(results)")
    #expect(try files().map { String($0.prefix(4)) } == (1...8).map { "000\($0)" })
    #expect(try run("embed").status == 0 && run("check").status == 0)
  }

  @Test func `the second of two concurrent squashes finds what the first one left`() throws {
    let results = try waiting([["squash", "--to", "3"], ["squash", "--to", "3"], ["check"]])
    #expect(results.prefix(2).map(\.status).sorted() == [0, 5], "\(results)")
    #expect(try files() == ["0003_s3.migration", "0004_s4.migration"])
    let check = try run("check")
    #expect(check.status == 0 && check.errors.isEmpty, "\(check)")
  }

  @Test func `new removes a folder that it created if there is nothing to write`() throws {
    let path = folder.path("None")
    let result = try runTool(
      builtExecutable("store-migrate"), ["new", "x", "--rename", "A.b=c", "-m", path, "--no-input"])
    #expect(result.status == 64 && !FileManager.default.fileExists(atPath: path), "\(result)")
  }

  @Test func `commands that read steps wait until the folder is complete again`() throws {
    try Data(repeating: 7, count: 32).write(to: URL(fileURLWithPath: folder.path("key")))
    let lines = [
      ["lint"], ["lint", "--all"], ["create", folder.path("a.store"), "--key-file", folder.path("key")],
    ]
    let first = "\(steps)/0001_s1.migration"
    try FileManager.default.moveItem(atPath: first, toPath: first + ".moving")
    let results = try waiting(lines) {
      try FileManager.default.moveItem(atPath: first + ".moving", toPath: first)
    }
    #expect(results.allSatisfy { $0.status == 0 }, "\(results)")
  }

  @Test(arguments: [true, false])
  func `a folder that is removed while a command waits is created, or waited for, again`(_ isAnother: Bool)
    throws
  {
    let path = folder.path("Empty")
    func make() throws -> Int32 {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      return try lock(path)
    }
    let descriptor = try make()
    let run = try StartedTool(
      builtExecutable("store-migrate"), ["new", "x", "-m", path, "--no-input"])
    #expect(try run.says("Waiting for another command"))
    #expect(rmdir(path) == 0)
    let second = isAnother ? try make() : nil
    close(descriptor)
    if let second {
      // Time for the command to write, which it must not.
      usleep(300_000)
      #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
      close(second)
    }
    let result = try run.end()
    #expect(result.status == 0, "\(result)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["0001_x.migration"])
  }
}
