// A second schema import: what the first one wrote is replaced as long as it is unchanged.

import Foundation
import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.faults, .slow)) struct SchemaImports {
  let folder: TemporaryFolder

  init() async throws { folder = try await CommandFolder().folder }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"), line.split(separator: " ").map(String.init) + ["--no-input"],
      environment: ["NEW_KEY": "correct horse"], directory: folder.url.path)
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOf: folder.url.appendingPathComponent(name), encoding: .utf8)
  }

  private static let line = "schema import coredata.db -m Taken"

  @Test func `schema import replaces an earlier import that is unchanged`() throws {
    #expect(try run(Self.line).status == 0)
    let (step, classes) = (try text("Taken/0001_adopted.migration"), try text("Adopted.swift"))
    #expect(step.contains("relationship person -> Person") && classes.contains("@ToOne"))
    // The suggestion of the first run, applied.
    let second = try run(Self.line + " --to-one Note.person=")
    #expect(second.status == 0, "\(second)")
    #expect(try text("Taken/0001_adopted.migration").contains("attribute person int"))
    #expect(try text("Adopted.swift") != classes)
    // Back to the first form, byte by byte.
    #expect(try run(Self.line).status == 0)
    #expect(try text("Taken/0001_adopted.migration") == step && text("Adopted.swift") == classes)
    let adopted = try run("baseline coredata.db adopted.store -m Taken --to 1 --new-key-env NEW_KEY")
    #expect(adopted.status == 0, "\(adopted)")
  }

  @Test func `status of another program's file suggests schema import, and then baseline`() throws {
    func offered(_ name: String) throws -> String {
      let look = try runTool(
        builtExecutable("store-migrate"), ["status", name, "-m", "Taken", "--no-input"],
        environment: ["STORE_MIGRATE_KEY": "correct horse"], directory: folder.url.path)
      return try #require(look.errors.split(separator: "\n").first { $0.hasPrefix("    ") }, "\(look)")
        .trimmingCharacters(in: .whitespaces)
    }
    #expect(try offered("coredata.db") == "store-migrate schema import coredata.db -m Taken")
    let tool = "store-migrate "
    #expect(try run(String(offered("coredata.db").dropFirst(tool.count))).status == 0)
    let line = try offered("coredata.db")
    #expect(line == "store-migrate baseline coredata.db NEW.store --to 1 -m Taken")
    let taken = try run(line.dropFirst(tool.count) + " --new-key-env NEW_KEY")
    #expect(taken.status == 0, "\(taken)")
    // Another file does not belong to those steps.
    try FileManager.default.copyItem(atPath: folder.path("coredata.db"), toPath: folder.path("other.db"))
    let other = try offered("other.db")
    #expect(other == "store-migrate schema import other.db --migrations NEWFOLDER", "\(other)")
  }

  @Test func `another file with the name of the imported one gets baseline and import suggested`() throws {
    #expect(try run(Self.line).status == 0)
    try FileManager.default.createDirectory(
      atPath: folder.path("Other"), withIntermediateDirectories: false)
    let made = try runTool(
      "/usr/bin/env",
      [
        "python3", "-c",
        "import sqlite3; sqlite3.connect('Other/coredata.db').execute('CREATE TABLE t(x INTEGER)')",
      ], directory: folder.url.path)
    try #require(made.status == 0, "\(made)")
    let look = try runTool(
      builtExecutable("store-migrate"), ["status", "Other/coredata.db", "-m", "Taken", "--no-input"],
      environment: ["STORE_MIGRATE_KEY": "correct horse"], directory: folder.url.path)
    #expect(look.errors.contains("0001_adopted.migration was imported from a file with this name"), "\(look)")
    let lines = look.errors.split(separator: "\n").filter { $0.hasPrefix("    store-migrate ") }
      .map { $0.dropFirst("    store-migrate ".count) }
    try #require(lines.count == 3, "\(look)")
    // The rows of this file fit no table of those steps.
    #expect(try run(lines[0] + " --new-key-env NEW_KEY").status != 0)
    let taken = try run(lines[1] + " --classes Others.swift")
    #expect(taken.status == 0 && lines[1].hasPrefix("schema import Other/coredata.db "), "\(taken)")
    let rows = try run("baseline Other/coredata.db NEW.store --to 1 -m NEWFOLDER --new-key-env NEW_KEY")
    #expect(rows.status == 0, "\(rows)")
  }

  @Test(arguments: ["Taken/0001_adopted.migration", "Adopted.swift"])
  func `schema import keeps an edited file and prints the line that removes it`(_ name: String) throws {
    #expect(try run(Self.line).status == 0)
    let edited = try text(name) + "\n# mine\n"
    try folder.write(Data(edited.utf8), to: name)
    let refused = try run(Self.line)
    #expect(refused.status == 1 && refused.errors.contains("Nothing was written"), "\(refused)")
    #expect(try text(name) == edited)
    let line = try #require(refused.errors.split(separator: "\n").first { $0.hasPrefix("  rm ") })
    #expect(try runTool("/bin/sh", ["-c", String(line)]).status == 0)
    #expect(try run(Self.line).status == 0)
  }

  @Test func `schema import replaces no released step and none with a step after it`() throws {
    #expect(try run(Self.line).status == 0)
    #expect(try run("new more -m Taken").status == 0)
    let beside = try run(Self.line)
    #expect(
      beside.status == 1 && beside.errors.contains("Taken already has 0001_adopted.migration"), "\(beside)")
    try FileManager.default.removeItem(at: folder.url.appendingPathComponent("Taken/0002_more.migration"))
    #expect(try run("embed -m Taken").status == 0 && run(Self.line).status == 0)
    #expect(try run("embed -m Taken --released 1.0").status == 0)
    let released = try run(Self.line)
    #expect(released.status == 1 && released.errors.contains("and was released"), "\(released)")
  }

  /// Runs the lines that a text suggests, and returns them.
  private func pasted(_ text: String) throws -> [String] {
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("  rm ") }.map(String.init)
    for line in lines { #expect(try runTool("/bin/sh", ["-c", line]).status == 0) }
    return lines
  }

  @Test func `no printed line removes a user's own file`() throws {
    #expect(try run(Self.line).status == 0)
    try folder.write(Data("// mine\n".utf8), to: "Models.swift")
    let refused = try run(Self.line + " --classes Models.swift")
    #expect(
      refused.status == 1
        && refused.errors.contains("Models.swift already exists. Give another file with --classes."),
      "\(refused)")
    #expect(try pasted(refused.errors) == [])
    try folder.write(
      Data((text("Taken/0001_adopted.migration") + "# edited\n").utf8), to: "Taken/0001_adopted.migration")
    let edited = try run(Self.line + " --classes Models.swift")
    #expect(edited.status == 1 && !edited.errors.contains("rm "), "\(edited)")
    #expect(try text("Models.swift") == "// mine\n")
  }

  @Test func `the printed line removes classes in another file together with the step`() throws {
    #expect(try run(Self.line).status == 0)
    let other = try run(Self.line + " --classes Other.swift")
    #expect(other.status == 1 && other.errors.contains("with its classes in "), "\(other)")
    let lines = try pasted(other.errors)
    #expect(lines.count == 1 && !folder.names.contains("Adopted.swift"), "\(lines)")
    #expect(try run(Self.line + " --classes Other.swift").status == 0)
    #expect(folder.names.contains("Other.swift"))
  }

  @Test func `schema import refuses to replace another file's step, and reports a replaced one`() throws {
    #expect(try run(Self.line).output.contains("wrote "))
    let (step, classes) = (try text("Taken/0001_adopted.migration"), try text("Adopted.swift"))
    try FileManager.default.copyItem(atPath: folder.path("coredata.db"), toPath: folder.path("other.db"))
    let other = try run("schema import other.db -m Taken")
    #expect(
      other.status == 1 && other.errors.contains("of coredata.db instead of other.db")
        && other.errors.contains("Nothing was written"), "\(other)")
    #expect(try text("Taken/0001_adopted.migration") == step && text("Adopted.swift") == classes)
    let same = try run(Self.line)
    #expect(same.output.contains("replaced ") && !same.output.contains("wrote "), "\(same)")
    #expect(try pasted(other.errors).count == 1)
    #expect(try run("schema import other.db -m Taken").output.contains("wrote "))
  }

  @Test func `file names with line breaks and percent signs are recorded exactly`() throws {
    for name in ["a\nb%0A.db", "陳\u{2028}大.db"] {
      try FileManager.default.copyItem(atPath: folder.path("coredata.db"), toPath: folder.path(name))
      func run() throws -> ToolResult {
        try runTool(
          builtExecutable("store-migrate"),
          ["schema", "import", name, "-m", "To \(name)", "--classes", "\(name).swift", "--no-input"],
          directory: folder.url.path)
      }
      #expect(try run().status == 0)
      let again = try run()
      #expect(again.status == 0 && again.output.contains("replaced "), "\(again)")
    }
  }

  @Test func `schema import writes no step if the classes cannot be written`() throws {
    let missing = try run(Self.line + " --classes nodir/A.swift")
    #expect(
      missing.status == 10 && missing.errors.contains("nodir: this folder does not exist")
        && missing.errors.contains("Nothing was written."), "\(missing)")
    #expect(!folder.names.contains("Taken"))
    // A name that no file system accepts: like a missing permission, but also for the superuser.
    let long = try run(Self.line + " --classes \(String(repeating: "x", count: 244)).swift")
    #expect(long.status != 0 && long.errors.contains("Nothing was written."), "\(long)")
    #expect(!folder.names.contains("Taken"))
    #expect(try run(Self.line).status == 0)
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `schema import keeps the former step if its classes cannot be written`() throws {
    #expect(try run(Self.line).status == 0)
    let (step, classes) = (try text("Taken/0001_adopted.migration"), try text("Adopted.swift"))
    func fail(_ call: String, _ more: String...) throws -> ToolResult {
      let words = ["schema", "import", folder.path("coredata.db"), "-m", folder.path("Taken"), "--no-input"]
      return try FaultInjector.run(
        builtExecutable("store-migrate"), words + ["--classes", folder.path("Adopted.swift")] + more,
        in: folder.url.path, calls: [call], fault: Fault(.error(EIO), at: 2)
      ).result
    }
    let failed = try fail("rename", "--to-one", "Note.person=")
    #expect(failed.status == 1 && failed.errors.contains("Nothing was written."), "\(failed)")
    #expect(try text("Taken/0001_adopted.migration") == step && text("Adopted.swift") == classes)
    // Without former files.
    for name in ["Taken", "Adopted.swift"] { try FileManager.default.removeItem(atPath: folder.path(name)) }
    let before = folder.names
    let first = try fail("write")
    #expect(first.status == 1 && first.errors.contains("Nothing was written."), "\(first)")
    #expect(folder.names == before)
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"), arguments: [false, true])
  func `a killed schema import can be repeated without a question`(_ replaces: Bool) throws {
    let names = ["Taken", "Adopted.swift"]
    let more = ["--to-one", "Note.person="]
    func attempt(_ fault: Fault?) throws -> FaultInjector.Run {
      let words = ["schema", "import", folder.path("coredata.db"), "-m", folder.path("Taken"), "--no-input"]
      return try FaultInjector.run(
        builtExecutable("store-migrate"), words + ["--classes", folder.path("Adopted.swift")] + more,
        in: folder.url.path, calls: ["rename", "link", "unlink", "write"], fault: fault)
    }
    func begin() throws {
      for name in names { try? FileManager.default.removeItem(atPath: folder.path(name)) }
      if replaces { #expect(try run(Self.line).status == 0) }
    }
    try begin()
    let whole = try attempt(nil)
    #expect(whole.result.status == 0 && !whole.calls.isEmpty, "\(whole.result)")
    let (step, classes) = (try text("Taken/0001_adopted.migration"), try text("Adopted.swift"))
    for index in FaultInjector.indices(of: whole.calls.count) {
      try begin()
      let killed = try attempt(Fault(.kill, at: index))
      #expect(killed.result.status != 0, "\(index): \(killed.result)")
      let again = try attempt(nil).result
      #expect(again.status == 0, "\(index) \(killed.calls): \(again)")
      #expect(try text("Taken/0001_adopted.migration") == step && text("Adopted.swift") == classes)
    }
  }

  @Test func `a step without its classes is replaced if it is unchanged, and kept if it was edited`() throws {
    #expect(try run(Self.line).status == 0)
    let step = try text("Taken/0001_adopted.migration")
    try FileManager.default.removeItem(atPath: folder.path("Adopted.swift"))
    try folder.write(Data((step + "# mine\n").utf8), to: "Taken/0001_adopted.migration")
    let refused = try run(Self.line)
    #expect(refused.status == 1 && refused.errors.contains("has been edited since"), "\(refused)")
    try folder.write(Data(step.utf8), to: "Taken/0001_adopted.migration")
    #expect(try run(Self.line).status == 0 && folder.names.contains("Adopted.swift"))
  }
}
