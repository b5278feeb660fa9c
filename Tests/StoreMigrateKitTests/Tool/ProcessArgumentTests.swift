// The source of the words of the command line: a system without /proc has them as well.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct ProcessArguments {
  /// Runs a program where /proc is empty, as in a chroot or a rescue system.
  private static func runWithoutProc(_ words: [String], in folder: String) throws -> ToolResult {
    try runTool(
      "/usr/bin/unshare",
      ["-rm", "/bin/sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" \"$@\""] + words,
      environment: ["STORE_MIGRATE_KEY": "horse"], directory: folder)
  }

  private static let canHideProc: Bool =
    (try? runWithoutProc(["/bin/sh", "-c", "test ! -e /proc/self"], in: "/").status) == 0

  @Test func `program arguments equal those of the runtime where that can read them`() {
    #expect(ProgramArguments.all == CommandLine.arguments.map { .text($0) })
    #expect(ProgramArguments.program == CommandLine.arguments.first)
  }

  @Test(.enabled(if: canHideProc, "needs unshare and the right to mount"))
  func `without proc every argument arrives unchanged`() throws {
    let folder = try TemporaryFolder()
    let words = ["arguments", "a b", "", "--x=\u{F6}", "'\"", "-"]
    // The memory before the arguments differs each time.
    for _ in 1...5 {
      let child = builtExecutable("test-child")
      let result = try Self.runWithoutProc([child] + words, in: folder.url.path)
      #expect(result.status == 0, "\(result)")
      #expect(result.output == ([child] + words).map { "\($0)\n" }.joined())
    }
  }

  @Test(.enabled(if: canHideProc, "needs unshare and the right to mount"))
  func `without proc a command reports that before it begins, in every run`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Steps"), withIntermediateDirectories: false)
    try folder.write(
      Data("format: 1\n[up]\ncreate entity A {\n attribute n int\n}\n".utf8), to: "Steps/0001_a.migration")
    for _ in 1...10 {
      let result = try Self.runWithoutProc(
        [builtExecutable("store-migrate"), "create", "a.store", "-m", "Steps", "--no-input"],
        in: folder.url.path)
      #expect(result.status == 1 && result.output.isEmpty, "\(result)")
      #expect(result.errors.contains("mount -t proc proc /proc\nNothing was done."), "\(result)")
      #expect(folder.names == ["Steps"])
    }
  }

  @Test(arguments: [[], ["--json"], ["--quiet"], ["--"]])
  func `a line without a command is an error, and prints nothing else`(_ words: [String]) throws {
    let result = try runTool(builtExecutable("store-migrate"), words)
    #expect(result.status == 64, "\(result)")
    #expect(
      (result.output + result.errors).contains("A command is missing. See: store-migrate --help"), "\(result)"
    )
  }

  @Test(arguments: [["--help"], ["help"], ["-h"], ["--version"]])
  func `help and version exit with 0`(_ words: [String]) throws {
    #expect(try runTool(builtExecutable("store-migrate"), words).status == 0)
  }
}
