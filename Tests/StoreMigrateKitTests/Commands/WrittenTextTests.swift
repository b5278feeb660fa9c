// Texts that cannot be written or read: no text is left half written, and an unreadable one is not taken for
// missing.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.faults, .pure, .slow), .enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
struct WrittenTexts {
  private static let commands = [
    ["new", "foo"], ["embed"], ["squash", "--to", "2"], ["rebase", "0002_s2.migration"],
  ]
  private let folder: TemporaryFolder
  private var steps: String { folder.path("Steps") }

  init() throws {
    folder = try TemporaryFolder()
    try reset()
  }

  private func reset() throws {
    try? FileManager.default.removeItem(atPath: steps)
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    for (name, text) in [
      ("0001_s1", "create entity A {\n attribute n int\n}"), ("0002_s2", "add index A(n)"),
    ] {
      try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
        to: URL(fileURLWithPath: "\(steps)/\(name).migration"))
    }
  }

  private func run(_ words: [String], in part: String, calls: [String], fault: Fault? = nil) throws
    -> FaultInjector.Run
  {
    try FaultInjector.run(
      builtExecutable("store-migrate"), words + ["-m", steps, "--no-input"], in: part, calls: calls,
      fault: fault)
  }

  /// Writes a second step of the same number for rebase, which would have nothing to renumber otherwise.
  private func prepare(_ words: [String]) throws {
    guard words[0] == "rebase" else { return }
    try Data("format: 1\n\n[up]\nadd attribute A.m int optional\n".utf8).write(
      to: URL(fileURLWithPath: "\(steps)/0002_theirs.migration"))
  }

  @Test(arguments: commands)
  func `on a full disk a command that writes texts exits with 6 and leaves no partial text`(_ words: [String])
    throws
  {
    try prepare(words)
    let clean = try run(words, in: steps, calls: ["write"])
    try #require(clean.result.status == 0 && !clean.calls.isEmpty, "\(clean)")
    for index in 1...clean.calls.count {
      try reset()
      try prepare(words)
      let former = Set(try FileManager.default.contentsOfDirectory(atPath: steps))
      let full = try run(words, in: steps, calls: ["write"], fault: Fault(.errors(ENOSPC), at: index))
      #expect(full.result.status == 6 && full.result.errors.contains("the disk is full"), "\(full)")
      for name in try FileManager.default.contentsOfDirectory(atPath: steps) {
        let text = try String(contentsOfFile: "\(steps)/\(name)", encoding: .utf8)
        #expect(!text.isEmpty && !name.contains(".new-"), "\(name)")
      }
      if words[0] == "new" {
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: steps)) == former)
        // With space on the disk the command succeeds.
        #expect(try run(words, in: steps, calls: []).result.status == 0)
      }
    }
  }

  @Test(arguments: ["migrations.lock", "schema.json", "Embedded.swift"])
  func `a generated file that cannot be read is not reported as missing, and not written`(_ name: String)
    throws
  {
    #expect(try run(["embed", "--released", "1.0"], in: steps, calls: []).result.status == 0)
    let before = try Data(contentsOf: URL(fileURLWithPath: "\(steps)/\(name)"))
    for words in [["check"], ["embed"], ["squash", "--to", "2", "--allow-released"]] {
      // Like a process that has too many files open.
      let result = try run(words, in: "Steps/\(name)", calls: ["open"], fault: Fault(.errors(EMFILE), at: 1))
        .result
      #expect(
        result.status == 1 && result.errors.contains("Steps/\(name): open failed"), "\(words): \(result)")
      #expect(!(result.output + result.errors).contains("missing"), "\(words): \(result)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: "\(steps)/\(name)")) == before)
    }
    #expect(try run(["check"], in: steps, calls: []).result.status == 0)
  }
}
