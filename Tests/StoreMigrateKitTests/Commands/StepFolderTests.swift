// Step folders in which squash or rebase was interrupted: the next command reports what was left, and how to
// complete it.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.faults, .slow)) struct StepFolders {
  let folder: TemporaryFolder
  var steps: String { folder.path("Steps") }

  init() throws {
    folder = try TemporaryFolder()
    try reset()
  }

  /// Creates four steps, and with `isMerged` two more of a branch, the first of which has the number 4 as
  /// well.
  private func reset(isMerged: Bool = false) throws {
    let files = FileManager.default
    if files.fileExists(atPath: steps) { try files.removeItem(atPath: steps) }
    try files.createDirectory(atPath: steps, withIntermediateDirectories: false)
    let texts = [
      "create entity A {\n attribute n int\n}", "add attribute A.b int optional", "rename attribute A.b -> c",
      "add index A(c)",
    ]
    for (index, text) in texts.enumerated() { try write("000\(index + 1)_s\(index + 1)", text: text) }
    _ = try run("embed")
    if isMerged {
      try write("0004_ours", text: "add attribute A.ours int optional")
      try write("0005_ours_too", text: "add attribute A.more int optional")
    }
  }

  private func write(_ name: String, text: String) throws {
    try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
      to: URL(fileURLWithPath: "\(steps)/\(name).migration"))
  }

  private func run(_ words: String..., fault: Fault? = nil) throws -> ToolResult {
    let line = words + ["-m", steps, "--no-input"]
    guard let fault else { return try runTool(builtExecutable("store-migrate"), line) }
    return try FaultInjector.run(
      builtExecutable("store-migrate"), line, in: steps, calls: Self.calls, fault: fault
    )
    .result
  }
  private static let calls = ["rename", "unlink", "write"]

  private var contents: [String: Data] {
    get throws {
      let names = try FileManager.default.contentsOfDirectory(atPath: steps)
      return try Dictionary(
        uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(steps)/\($0)"))) }
      )
    }
  }

  @Test func `the next command reports an interrupted squash, and squash completes it`() throws {
    let before = try contents
    #expect(try run("squash", "--to", "3").status == 0)
    let whole = try contents
    for left in [["0001_s1", "0002_s2"], ["0002_s2"]] {
      for name in left {
        try before["\(name).migration"]?.write(to: URL(fileURLWithPath: "\(steps)/\(name).migration"))
      }
      if left.count == 2 {
        try before["migrations.lock"]?.write(to: URL(fileURLWithPath: "\(steps)/migrations.lock"))
      }
      for words in [["check"], ["lint"], ["sql"], ["embed"], ["schema"]] {
        let told = try runTool(builtExecutable("store-migrate"), words + ["-m", steps, "--no-input"])
        #expect(left.allSatisfy { told.errors.contains("\($0).migration") }, "\(words): \(told)")
        #expect(told.errors.contains("store-migrate squash --to 3 -m "), "\(words): \(told)")
      }
      let finished = try run("squash", "--to", "3")
      #expect(
        finished.status == 0 && finished.output.contains("removed   \(left[0]).migration"), "\(finished)")
      #expect(try contents == whole)
      let check = try run("check")
      #expect(check.status == 0 && check.errors.isEmpty, "\(check)")
    }
    // A completed squash cannot be repeated.
    #expect(try run("squash", "--to", "3").status == 5)
  }

  @Test func `the next command reports a killed rebase`() throws {
    try reset(isMerged: true)
    try FileManager.default.moveItem(
      atPath: "\(steps)/0004_ours.migration", toPath: "\(steps)/0005_ours.migration.rebasing")
    let told = try run("check")
    #expect(
      told.errors.contains("0005_ours.migration.rebasing") && told.errors.contains("rebase was stopped"),
      "\(told)")
    // The suggestion keeps the order of the steps.
    try FileManager.default.moveItem(
      atPath: "\(steps)/0005_ours.migration.rebasing", toPath: "\(steps)/0005_ours.migration")
    let finished = try run("rebase", "0005_ours_too.migration")
    #expect(finished.status == 0, "\(finished)")
    let files = try FileManager.default.contentsOfDirectory(atPath: steps)
    #expect(files.contains("0005_ours.migration") && files.contains("0006_ours_too.migration"), "\(files)")
  }

  @Test(
    .enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"), arguments: ["rebase", "squash"])
  func `the message of a squash or rebase that two signals interrupt is true at any moment`(_ command: String)
    throws
  {
    let line =
      command == "squash"
      ? ["squash", "--to", "3"] : ["rebase", "0004_ours.migration", "0005_ours_too.migration"]
    func attempt(_ fault: Fault?) throws -> FaultInjector.Run {
      try reset(isMerged: command == "rebase")
      return try FaultInjector.run(
        builtExecutable("store-migrate"), line + ["-m", steps, "--no-input"], in: steps, calls: Self.calls,
        fault: fault)
    }
    let clean = try attempt(nil)
    try #require(clean.result.status == 0 && clean.calls.count > 4, "\(clean)")
    try reset(isMerged: command == "rebase")
    let before = try contents
    var said: Set<String> = []
    for index in FaultInjector.indices(of: clean.calls.count, most: 12) {
      let run = try attempt(Fault(.signal(SIGTERM, times: 2), at: index))
      let (status, errors) = (run.result.status, run.result.errors)
      #expect(status == 0 || status == 128 + SIGTERM, "\(index): \(run)")
      let now = try contents.filter {
        !$0.key.hasPrefix(".") && !$0.key.contains(".sb-") && !$0.key.hasPrefix(".dat")
      }
      let isSame =
        now.filter { $0.key.contains(".migration") } == before.filter { $0.key.contains(".migration") }
      let isAsBefore = ["Nothing was changed", "No step was folded", "No file was renamed"].contains(
        where: errors.contains)
      if status != 0 {
        #expect(isAsBefore == isSame, "\(index) of \(clean.calls): \(errors)\n\(now.keys.sorted())")
      }
      if errors.contains("Complete the squash: store-migrate squash") {
        said.insert("squash")
        #expect(try self.run("squash", "--to", "3").status == 0 && self.run("check").status == 0)
      }
      if errors.contains("were being renamed") {
        said.insert("rebase")
        for mv in errors.split(separator: "\n").filter({ $0.hasPrefix("  mv ") }) {
          let words = mv.split(separator: " ")
          try FileManager.default.moveItem(
            atPath: "\(steps)/\(words[1])", toPath: "\(steps)/\(words[2])")
        }
        let names = try contents.keys.filter { $0.hasSuffix(".migration") }.sorted()
        if errors.contains("Complete the renaming in that folder") {
          #expect(names.suffix(3) == ["0004_s4.migration", "0005_ours.migration", "0006_ours_too.migration"])
        } else {
          #expect(names.suffix(3) == ["0004_ours.migration", "0004_s4.migration", "0005_ours_too.migration"])
        }
      }
    }
    #expect(said == [command])
  }
}
