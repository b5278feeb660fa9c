// The line of `down` that screens offer for a store that is beyond what was asked for, or has another history: it is not offered
// where it would be refused.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct WayBackLines {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("Steps"), withIntermediateDirectories: false)
    try write("0001_base", "create entity U {\n attribute n string\n}")
    try write("0002_more", "add attribute U.m int optional")
  }

  private func write(_ name: String, _ text: String) throws {
    try folder.write(Data("format: 1\n\n[up]\n\(text)\n".utf8), to: "Steps/\(name).migration")
  }

  private func move(_ name: String, to other: String) throws {
    try FileManager.default.moveItem(
      atPath: folder.path("Steps/\(name).migration"), toPath: folder.path("Steps/\(other).migration"))
  }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      line.split(separator: " ").map(String.init) + [
        "-m", "Steps", "--key-env", "KEY", "--key-format", "hex", "--no-input",
      ], environment: ["KEY": Template.hex(Template.key)], directory: folder.url.path)
  }

  /// Expects that a line of `down` is offered by these, or by none of them, as it can be run.
  private func expectOffer(_ line: String, isThere: Bool, code: Int32, in command: String, _ text: String)
    throws
  {
    let told = try run(command)
    #expect(told.status == code, "\(told)")
    let said = told.output + told.errors
    #expect(said.contains("store-migrate \(line)") == isThere && said.contains(text), "\(command): \(told)")
  }

  @Test func `a way back by a function that this tool has not got is not offered`() throws {
    let back = "\n[down]\nretype U.n to string using swift g"
    try write("0003_number", "retype U.n to int using (length($U.n))\n\(back)")
    #expect(try run("create a.store").status == 0)
    try expectOffer(
      "down a.store --to 2", isThere: false, code: 0, in: "up a.store --to 2", "up rolls no step back.\n")
    #expect(try run("down a.store --to 2 --yes --no-backup").status == 5)
    let json = try run("up a.store --to 2 --json").output
    #expect(json.contains(#""next":[]"#), "\(json)")
    try move("0003_number", to: "0004_number")
    try write("0003_other", "add attribute U.o int optional")
    try expectOffer(
      "down a.store --to 2", isThere: false, code: 3, in: "status a.store",
      "this program does not have the function \"g\"")
  }

  @Test
  func `a step of another branch is taken back by the line that is printed, whatever has its number here`()
    throws
  {
    #expect(try run("create a.store").status == 0)
    try move("0002_more", to: "../0002_more")
    try write("0002_other", "add attribute U.o int optional")
    let line = "down a.store --to 1 --allow lossy:U.m"
    for command in ["up a.store", "status a.store", "verify a.store"] {
      try expectOffer(line, isThere: true, code: 3, in: command, "it is a step of another branch")
    }
    #expect(try run("\(line) --no-backup").status == 0)
    #expect(try run("up a.store").status == 0 && run("verify a.store").status == 0)
  }

  @Test func `nor is one of tables that somebody changed, and of others it is`() throws {
    #expect(try run("create a.store").status == 0)
    let line = "down a.store --to 1"
    for isThere in [true, false] {
      if !isThere {
        let connection = try Connection.open(folder.path("a.store"), key: .raw(Template.key))
        try connection.execute("ALTER TABLE U ADD COLUMN shoes TEXT")
        connection.close()
      }
      try expectOffer(line, isThere: isThere, code: 0, in: "up a.store --to 1", "up rolls no step back.")
      try move("0002_more", to: "../0002_more")
      try expectOffer(line, isThere: isThere, code: 4, in: "status a.store", "Update the program.")
      try write("0002_other", "add attribute U.o int optional")
      try move("../0002_more", to: "0003_more")
      try expectOffer(
        line, isThere: isThere, code: 3, in: "status a.store",
        isThere ? "roll it back with the rollback that the store contains" : "its tables differ from its model")
      try FileManager.default.removeItem(atPath: folder.path("Steps/0002_other.migration"))
      try move("0003_more", to: "0002_more")
    }
    #expect(try run("\(line) --yes --no-backup").status == 1)
  }
}
