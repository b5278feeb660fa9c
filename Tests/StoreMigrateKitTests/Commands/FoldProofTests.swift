// A squash whose proof cannot run: the obstacle is reported, and no step is blamed.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct FoldProofs {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Steps"), withIntermediateDirectories: false)
    let steps = [
      "create entity A {\n attribute n int\n}", "seed { INSERT INTO $A ($A.n) VALUES (1), (2) }",
      "add attribute A.m int optional",
    ]
    for (index, step) in steps.enumerated() {
      try folder.write(
        Data("format: 1\n[up]\n\(step)\n".utf8), to: "Steps/000\(index + 1)_s\(index + 1).migration")
    }
  }

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path("Steps")).sorted() }
  }

  /// Runs squash in a shell.
  private func squash(_ before: String, temporary: String) throws -> ToolResult {
    try runTool(
      "/bin/bash",
      ["-c", "\(before) '\(builtExecutable("store-migrate"))' squash --to 3 -m Steps --no-input"],
      environment: ["TMPDIR": temporary], directory: folder.url.path)
  }

  @Test func `squash without a temporary folder reports that and blames no step`() throws {
    let former = try names
    let result = try squash("", temporary: "/nonexistent")
    #expect(result.status == 1 && result.errors.contains("/nonexistent"), "\(result)")
    #expect(result.errors.contains("set TMPDIR"), "\(result)")
    #expect(!result.errors.contains("rows") && !result.errors.contains("0002"), "\(result)")
    #expect(try names == former)
  }

  @Test func `squash with a full disk for temporary files exits with 6 and blames no step`() throws {
    let former = try names
    // Files of 512 bytes at most: like a full disk, for any user and on any file system.
    let result = try squash("trap '' XFSZ; ulimit -f 1;", temporary: NSTemporaryDirectory())
    #expect(result.status == 6 && result.errors.contains("the disk is full"), "\(result)")
    #expect(!result.errors.contains("rows") && !result.errors.contains("0002"), "\(result)")
    #expect(try names == former)
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `a disk error during the proof of a squash is not blamed on a step`() throws {
    let former = try names
    func run(_ fault: Fault?) throws -> FaultInjector.Run {
      try FaultInjector.run(
        builtExecutable("store-migrate"), ["squash", "--to", "3", "-m", folder.path("Steps"), "--no-input"],
        in: "vault-fold-", calls: ["write"], fault: fault)
    }
    for index in 1...8 {
      let result = try run(Fault(.errors(EIO), at: index)).result
      #expect(result.status == 1, "\(index): \(result)")
      #expect(!result.errors.contains("same rows") && !result.errors.contains("0002"), "\(index): \(result)")
      #expect(try names == former)
    }
    #expect(try run(nil).result.status == 0)
  }

  @Test func `the same squash succeeds with enough space`() throws {
    let result = try squash("", temporary: NSTemporaryDirectory())
    #expect(result.status == 0, "\(result)")
    #expect(try names.filter { $0.hasSuffix(".migration") } == ["0003_s3.migration"])
  }
}
