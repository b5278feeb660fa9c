// A store with a step that was edited and then folded with others: the advice of the tool can be followed.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FoldedConflicts {
  @Test func `the advice for a step that was edited and then folded works`() throws {
    let folder = try TemporaryFolder()
    let (steps, old, store) = (folder.path("Steps"), folder.path("Old"), folder.path("a.store"))
    try Data(repeating: 7, count: 32).write(to: URL(fileURLWithPath: folder.path("key")))
    func run(_ words: String..., steps: String) throws -> ToolResult {
      let key =
        ["up", "status", "repair", "create"].contains(words[0]) ? ["--key-file", folder.path("key")] : []
      return try runTool(
        builtExecutable("store-migrate"), words + ["-m", steps, "--no-input"] + key,
        directory: folder.url.path)
    }
    func write(_ name: String, text: String) throws {
      try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
        to: URL(fileURLWithPath: "\(steps)/\(name).migration"))
    }
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    try write("0001_s1", text: "create entity A {\n attribute n int\n}")
    try write("0002_s2", text: "add attribute A.m int default 0\ntransform sql { UPDATE $A SET $A.m = 1 }")
    #expect(try run("create", store, steps: steps).status == 0)
    try write("0002_s2", text: "add attribute A.m int default 0\ntransform sql { UPDATE $A SET $A.m = 2 }")
    try FileManager.default.copyItem(atPath: steps, toPath: old)
    #expect(try run("squash", "--to", "2", steps: steps).status == 0)

    for command in ["status", "up"] {
      let told = try run(command, store, steps: steps)
      let text = told.output + told.errors
      #expect(told.status == 3, "\(told)")
      #expect(
        text.contains("0002 s2 ran on \(store) in another form than the one folded into 0002 s2"), "\(text)")
      #expect(text.contains("repair \(store) 0002 --migrations FOLDER --key-file"), "\(text)")
      #expect(!text.contains("only the formatting") && !text.contains("Undo the edit"), "\(text)")
    }
    #expect(try run("repair", store, "0002", "--yes", steps: steps).status != 0)
    #expect(try run("repair", store, "0002", "--yes", steps: old).status == 0)
    #expect(try run("status", store, steps: steps).status == 0)
  }
}
