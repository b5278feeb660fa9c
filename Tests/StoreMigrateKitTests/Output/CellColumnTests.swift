// Columns of reports with names whose characters take two cells: the text after the names is aligned.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct CellColumns {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("Steps"), withIntermediateDirectories: false)
    for (name, step) in [
      ("0001_first", "create entity A {\n attribute n int\n}"),
      ("0002_日本語のステップ", "add attribute A.b int optional"),
      ("0003_third", "add attribute A.c int optional"), ("0004_四", "add attribute A.d int optional"),
    ] { try folder.write(Data("format: 1\n[up]\n\(step)\n".utf8), to: "Steps/\(name).migration") }
  }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"), line.split(separator: " ").map(String.init) + ["--no-input"],
      environment: ["STORE_MIGRATE_KEY": "horse", "NEW_KEY": "new"], directory: folder.url.path)
  }

  /// The cells before a text, in each line that has it. Of the characters here those of CJK take two cells.
  private func places(of text: String, in output: String) -> [Int] {
    output.split(separator: "\n").compactMap { line in
      line.range(of: text).map { place in
        line[..<place.lowerBound].unicodeScalars.reduce(0) {
          $0 + ((0x3000...0x9FFF).contains($1.value) ? 2 : 1)
        }
      }
    }
  }

  @Test func `the text after the names of steps is aligned`() throws {
    #expect(try run("create a.store -m Steps --to 2").status == 0)
    let status = try run("status a.store -m Steps").output
    let states = places(of: "✓ applied", in: status) + places(of: "• pending", in: status)
    #expect(states.count == 4 && Set(states).count == 1, "\(states)\n\(status)")
    let history = try run("history a.store").output
    let dates = places(of: "  20", in: history)
    #expect(dates.count == 2 && Set(dates).count == 1, "\(dates)\n\(history)")
  }

  @Test func `the text after the names of slots is aligned`() throws {
    #expect(try run("slots create n.keys 陳大文 --new-key-env NEW_KEY").status == 0)
    #expect(try run("slots add n.keys Ann --key-env NEW_KEY --new-key-env NEW_KEY").status == 0)
    let list = try run("slots list n.keys").output
    let kinds = places(of: "  passphrase", in: list)
    #expect(kinds.count == 2 && Set(kinds).count == 1, "\(kinds)\n\(list)")
  }
}
