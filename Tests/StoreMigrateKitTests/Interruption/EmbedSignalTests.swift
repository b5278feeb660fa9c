// Ctrl-C, once and twice, within the system calls of `embed`: the message about the generated files is true.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.faults, .pure)) struct EmbedSignals {
  private static let names = ["migrations.lock", "schema.json", "Embedded.swift"]

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `wherever a signal interrupts embed, the message states which files are written`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Steps"), withIntermediateDirectories: false)
    try folder.write(
      Data("format: 1\n[up]\ncreate entity A {\n attribute n int\n}\n".utf8), to: "Steps/0001_a.migration")
    func run(_ fault: Fault? = nil) throws -> FaultInjector.Run {
      for name in Self.names { try? FileManager.default.removeItem(atPath: folder.path("Steps/\(name)")) }
      return try FaultInjector.run(
        builtExecutable("store-migrate"), ["embed", "-m", folder.path("Steps"), "--no-input"],
        in: folder.url.path,
        fault: fault)
    }
    let clean = try run()
    try #require(clean.result.status == 0 && !clean.calls.isEmpty, "\(clean)")
    for (place, index) in FaultInjector.indices(of: clean.calls.count, most: 24).enumerated() {
      let times = 1 + place % 2
      let run = try run(Fault(.signal(SIGINT, times: times), at: index))
      let written = Self.names.filter { FileManager.default.fileExists(atPath: folder.path("Steps/\($0)")) }
      let last = run.result.errors.split(separator: "\n").last.map(String.init) ?? ""
      let comment: Comment = "\(times) at \(index) of \(clean.calls.count): \(run.result), \(written)"
      switch written.count {
      case 0:
        #expect(
          last.contains("No generated file was changed") || last.contains("Nothing was changed"), comment)
      case Self.names.count: #expect(run.result.status == 0 || last.contains("files are written"), comment)
      default: #expect(last.contains("embed -m") && written.allSatisfy { !last.contains($0) }, comment)
      }
    }
  }
}
