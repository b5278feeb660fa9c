// What a killed command leaves of the texts that it writes into a folder of steps.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.faults, .pure, .slow), .enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
struct LeftTexts {
  private let folder: TemporaryFolder
  private var steps: String { folder.path("Steps") }
  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: steps).sorted() }
  }

  init() throws { folder = try TemporaryFolder() }

  private func reset() throws {
    try? FileManager.default.removeItem(atPath: steps)
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    for (number, text) in ["create entity A {\n attribute n int\n}", "add index A(n)"].enumerated() {
      try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
        to: URL(fileURLWithPath: "\(steps)/000\(number + 1)_s\(number + 1).migration"))
    }
  }

  private func run(_ words: [String], _ fault: Fault? = nil) throws -> FaultInjector.Run {
    try FaultInjector.run(
      builtExecutable("store-migrate"), words + ["-m", steps, "--no-input"], in: steps,
      calls: ["rename", "unlink", "write", "fsync"], fault: fault)
  }

  @Test(arguments: [["embed"], ["squash", "--to", "2"], ["rebase", "0002_s2.migration"]])
  func `a command removes what a killed command left of its texts`(_ words: [String]) throws {
    func begin() throws {
      try reset()
      if words[0] == "rebase" {
        try Data("format: 1\n\n[up]\nadd attribute A.m int optional\n".utf8).write(
          to: URL(fileURLWithPath: "\(steps)/0002_theirs.migration"))
      }
    }
    try begin()
    let clean = try run(words)
    let whole = try names
    try #require(clean.result.status == 0, "\(clean.result)")
    var hasLeft = false
    for index in FaultInjector.indices(of: clean.calls.count, most: 10) {
      try begin()
      _ = try run(words, Fault(.kill, at: index))
      hasLeft =
        try hasLeft
        || !Set(names).subtracting(whole).filter { $0.contains("Embedded") || $0.contains("lock") }.isEmpty
      // A user's own file with a similar name.
      let own = "migrations.lock.new-0123456789abcdef"
      try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(steps)/\(own)"))
      _ = try run(words)
      _ = try run(["embed"])
      let isOurs = try names.filter { $0.hasPrefix(".") || $0.contains(".new-") && $0 != own }
      #expect(isOurs.isEmpty, "\(index) \(clean.calls[index - 1]): \(isOurs)")
      #expect(try names.contains(own))
    }
    #expect(hasLeft)
  }

  @Test func `a rewritten text keeps the mode and the link of the former one, and a new one is public`()
    throws
  {
    try reset()
    #expect(try run(["embed"]).result.status == 0)
    func mode(_ name: String) throws -> Int {
      let found = try FileManager.default.attributesOfItem(atPath: "\(steps)/\(name)")[.posixPermissions]
      return try #require(found as? NSNumber).intValue
    }
    // The mode follows the umask of the process, like that of a file that the system creates.
    let plain = try #require(
      try runTool(
        "/bin/sh", ["-c", "touch \(folder.path("touched")) && stat -c %a \(folder.path("touched"))"]
      ).output
        .split(separator: "\n").first)
    #expect(try String(mode("Embedded.swift"), radix: 8) == plain)
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: "\(steps)/schema.json")
    try FileManager.default.moveItem(
      atPath: "\(steps)/Embedded.swift", toPath: folder.path("Elsewhere.swift"))
    try FileManager.default.createSymbolicLink(
      atPath: "\(steps)/Embedded.swift", withDestinationPath: "../Elsewhere.swift")
    try Data("format: 1\n\n[up]\nadd attribute A.more int optional\n".utf8).write(
      to: URL(fileURLWithPath: "\(steps)/0003_s3.migration"))
    #expect(try run(["embed"]).result.status == 0)
    #expect(try mode("schema.json") == 0o640)
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: "\(steps)/Embedded.swift")
        == "../Elsewhere.swift")
    #expect(try String(contentsOfFile: folder.path("Elsewhere.swift"), encoding: .utf8).contains("number: 3"))
    #expect(try run(["check"]).result.status == 0)
  }
}
