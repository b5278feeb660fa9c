// Command lines that the tool suggests: they repeat the options of the run, and their statements are true.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct OperatorLines {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("My Steps"), withIntermediateDirectories: false)
    try write("0001_base", step: "create entity A {\n attribute n int\n}")
    try write("0002_b", step: "add attribute A.b int optional")
    try write("0003_c", step: "add attribute A.c int optional")
  }

  private func write(_ name: String, step: String, head: String = "") throws {
    try folder.write(Data("format: 1\n\(head)[up]\n\(step)\n".utf8), to: "My Steps/\(name).migration")
  }

  private func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: folder.path("My Steps/\(name).migration"))
  }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      line.split(separator: " ").map(String.init) + ["-m", "My Steps", "--no-input"],
      environment: ["KEY": String(repeating: "5a", count: 32)], directory: folder.url.path)
  }
  private static let key = "--key-env KEY --key-format hex"

  @Test func `up --vacuum works on a store with decimals, whose collation the engine lacks`() throws {
    try write("0004_d", step: "add attribute A.d decimal optional indexed")
    #expect(try run("create a.store --to 3 \(Self.key)").status == 0)
    let up = try run("up a.store --vacuum --yes \(Self.key)")
    #expect(up.status == 0, "\(up)")
  }

  @Test func `the suggested line that creates a missing store can be pasted`() throws {
    for command in ["status", "plan", "up"] {
      let absent = try run("\(command) a.store \(Self.key)")
      #expect(
        absent.status == 10
          && absent.errors.contains(
            "store-migrate create a.store -m 'My Steps' --key-env KEY --key-format hex"),
        "\(absent)")
    }
    let some = try run("up a.store --to 2 \(Self.key) --cipher rounds=1000")
    #expect(some.errors.contains("create a.store --to 2 --new-cipher rounds=1000 -m"), "\(some)")
    // A command that only reads suggests no new store.
    #expect(try !run("history a.store \(Self.key)").errors.contains("create"))
    #expect(try run("create a.store \(Self.key)").status == 0)
  }

  @Test func `an error while a store is created does not mention an unchanged store`() throws {
    try write("0004_bad", step: "seed { INSERT INTO $A($A.n) VALUES (NULL) }")
    let result = try run("create a.store \(Self.key)")
    #expect(result.status == 1 && !result.errors.contains("unchanged"), "\(result)")
    #expect(result.errors.contains("a.store was not created"), "\(result)")
    #expect(result.errors.contains("store-migrate: 0004_bad.migration:3 failed at seed: "), "\(result)")
  }

  @Test func `a step that fails on a store is named by its file and line`() throws {
    #expect(try run("create a.store --to 1 \(Self.key)").status == 0)
    try write(
      "0004_bad", step: "add attribute A.d int optional\n\nseed { INSERT INTO $A($A.n) VALUES (NULL) }")
    let up = try run("up a.store \(Self.key)")
    #expect(
      up.status == 1 && up.errors.contains("store-migrate: 0004_bad.migration:5 failed at seed: "),
      "\(up)")
    #expect(!up.errors.contains("Step 0004"), "\(up)")
    let json = try run("up a.store --json \(Self.key)")
    #expect(json.output.contains("\"error\":\"0004_bad.migration:5 failed at "), "\(json)")
    // After steps of the same run that are committed.
    let stopped = try run("up a.store --tx step \(Self.key)")
    #expect(
      stopped.errors.contains("0004_bad.migration:5 failed at ")
        && stopped.errors.contains("is at version 3"),
      "\(stopped)")
    // Two operations of the same text could be either.
    try write(
      "0004_bad",
      step: "seed { INSERT INTO $A($A.n) VALUES (NULL) }\nseed { INSERT INTO $A($A.n) VALUES (1) }")
    let either = try run("up a.store \(Self.key)")
    #expect(either.errors.contains("store-migrate: 0004_bad.migration failed at seed"), "\(either)")
  }

  @Test func `a loss that is allowed already is not suggested`() throws {
    #expect(try run("create a.store \(Self.key)").status == 0)
    try write("0004_d", step: "drop attribute A.b")
    try write("0005_e", step: "drop attribute A.c")
    let other = try run("up a.store --allow lossy:A.b --allow lossy:A.x \(Self.key)")
    #expect(
      other.status == 5
        && other.errors.contains("--allow lossy:A.x has no effect: no step of this run has that loss."),
      "\(other)")
    #expect(other.errors.contains("Did you mean \"lossy:A.c\"?"), "\(other)")
    let done = try run(
      "up a.store --allow lossy:A.b --allow lossy:A.c --allow lossy:A.n --no-backup \(Self.key)")
    #expect(done.status == 0 && done.errors.contains("--allow lossy:A.n has no effect"), "\(done)")
    #expect(!done.errors.contains("Did you mean"), "\(done)")
  }

  @Test func `the line suggested for two steps of one number has the folder of the run`() throws {
    try write("0003_other", step: "add attribute A.d int optional")
    for command in ["check", "lint", "squash --to 2"] {
      let result = try run(command)
      #expect(
        result.status == 3
          && result.errors.contains("store-migrate rebase 0003_other.migration -m 'My Steps'"), "\(result)")
    }
  }

  @Test func `a rebased step that does not fit is named by its file, with the next command`() throws {
    try write("0004_theirs", step: "rename attribute A.c -> d")
    for (step, words) in [
      ("add index A(c)", "\"add index A(c)\": there is no property A.c"),
      ("transform sql { UPDATE $A SET $A.c = 1 }", "\"transform sql\": the model has no property \"$A.c\""),
    ] {
      try write("0004_ours", step: step)
      let result = try run("rebase 0004_ours.migration")
      #expect(result.status == 2 && result.errors.contains("0004_ours.migration:"), "\(result)")
      #expect(result.errors.contains(words) && !result.errors.contains("0005_ours"), "\(result)")
      #expect(
        result.errors.contains("store-migrate rebase 0004_ours.migration -m 'My Steps'")
          && result.errors.contains("No file was renamed."), "\(result)")
    }
  }

  @Test func `squash reports which steps can be folded, and how`() throws {
    let beyond = try run("squash --to 9")
    #expect(beyond.status == 64 && beyond.errors.contains("there is no such step; the last one is 0003"))
    #expect(try run("embed --released 1.0").status == 0)
    let released = try run("squash --to 2")
    let line = "store-migrate squash --to 2 --allow-released -m 'My Steps'"
    #expect(released.status == 5 && released.errors.contains(line), "\(released)")
    try write("0004_d", step: "add attribute A.d int optional")
    let after = try run("squash --to 4")
    #expect(
      after.status == 5 && after.errors.contains("squash --to 3 --allow-released -m 'My Steps'"),
      "\(after)")
    #expect(try run("squash --to 3 --allow-released").status == 0)
    // No released step is left.
    let rest = try run("squash --to 4")
    #expect(rest.status == 5 && rest.errors.contains("until these steps are released"), "\(rest)")
  }

  @Test func `squash names the step before a block that cannot be folded`() throws {
    try write("0004_seed", step: "seed { INSERT INTO $A($A.n) VALUES (random()) }")
    let refused = try run("squash --to 4")
    #expect(refused.status == 5 && refused.errors.contains("Fold up to 0003, the step before"), "\(refused)")
  }

  @Test func `a squash that was interrupted is completed, and reports what it removed`() throws {
    let second = try folder.bytes("My Steps/0002_b.migration")
    #expect(try run("squash --to 3").status == 0)
    try folder.write(second, to: "My Steps/0002_b.migration")
    let told = try run("lint")
    let path = folder.url.resolvingSymlinksInPath().lastPathComponent
    #expect(
      told.errors.contains("squash --to 3 -m '") && told.errors.contains("\(path)/My Steps'"), "\(told)")
    let finished = try run("squash --to 3")
    #expect(finished.status == 0 && finished.output.contains("removed   0002_b.migration"), "\(finished)")
    #expect(!finished.output.contains("wrote     \(folder.path("My Steps/0003_c.migration"))"))
  }

  @Test func `steps whose names have spaces can be folded`() throws {
    try remove("0002_b")
    try write("0002_b and more", step: "add attribute A.b int optional")
    #expect(try run("create a.store \(Self.key)").status == 0)
    let folded = try run("squash --to 3")
    #expect(folded.status == 0, "\(folded)")
    let status = try run("status a.store \(Self.key)")
    #expect(status.status == 0 && status.output.contains("3 of 3 checksums match"), "\(status)")
    #expect(try run("check").status == 0)
  }

  @Test func `SQL that the engine rejects is reported with the engine`() throws {
    try write("0004_q", step: "require \"x\" { SELECT nofunction(1) FROM $A }")
    let check = try run("check")
    #expect(
      check.status == 2 && check.output.contains("no such function: nofunction")
        && check.output.contains("; reported by SQLCipher "), "\(check)")
    try write("0004_q", step: "create raw view V { SELECT nofunction(1) FROM $A }")
    #expect(try run("check").output.contains("; reported by SQLCipher "))
  }

  @Test(arguments: ["0004_", "+4_x", "_0004_x", "٠٠٠٤_x", "0004 x", " 0004_x", "0000_x", "0004-x"])
  func `a file name that is not one of a step is refused with the reason`(_ name: String) throws {
    try write(name, step: "add attribute A.x int optional")
    let result = try run("check")
    #expect(
      result.status == 1 && result.errors.contains("the file's name ")
        && result.errors.contains("use a name like 0002_add_tags.migration"), "\(result)")
  }

  @Test func `decomposed letters match the model in SQL, and are reported elsewhere`() throws {
    try write("0004_e", step: "add attribute A.caf\u{E9} int optional")
    try write("0005_e", step: "transform sql { UPDATE $A SET $A.cafe\u{301} = 3 }")
    #expect(try run("create a.store \(Self.key)").status == 0)
    try write("0005_e", step: "rename attribute A.cafe\u{301} -> b")
    let result = try run("check")
    #expect(result.errors.contains("composed letters"), "\(result)")
  }
}
