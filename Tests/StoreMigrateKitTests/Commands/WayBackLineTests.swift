// The line of `down` that is suggested for a store beyond the requested version, or with another history: it
// is not suggested where it would be refused.

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
    try write("0001_base", text: "create entity U {\n attribute n string\n}")
    try write("0002_more", text: "add attribute U.m int optional")
  }

  private func write(_ name: String, text: String) throws {
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

  /// Expects that the output of a command has, or does not have, a line of `down`, and contains a text.
  private func expectOffer(_ line: String, isThere: Bool, code: Int32, in command: String, text: String)
    throws
  {
    let told = try run(command)
    #expect(told.status == code, "\(told)")
    let said = told.output + told.errors
    #expect(said.contains("store-migrate \(line)") == isThere && said.contains(text), "\(command): \(told)")
  }

  @Test func `down is not suggested if the rollback needs a function that the tool lacks`() throws {
    let back = "\n[down]\nretype U.n to string using swift g"
    try write("0003_number", text: "retype U.n to int using (length($U.n))\n\(back)")
    #expect(try run("create a.store").status == 0)
    try expectOffer(
      "down a.store --to 2", isThere: false, code: 0, in: "up a.store --to 2",
      text: "`up` does not roll back steps.\n")
    #expect(try run("down a.store --to 2 --yes --no-backup").status == 5)
    let json = try run("up a.store --to 2 --json").output
    #expect(json.contains(#""next":[]"#), "\(json)")
    try move("0003_number", to: "0004_number")
    try write("0003_other", text: "add attribute U.o int optional")
    try expectOffer(
      "down a.store --to 2", isThere: false, code: 3, in: "status a.store",
      text: "this program does not have the function \"g\"")
  }

  @Test func `the printed line rolls back a step of another branch, whatever has its number here`() throws {
    #expect(try run("create a.store").status == 0)
    try move("0002_more", to: "../0002_more")
    try write("0002_other", text: "add attribute U.o int optional")
    let line = "down a.store --to 1 --allow lossy:U.m"
    for command in ["up a.store", "status a.store", "verify a.store"] {
      try expectOffer(line, isThere: true, code: 3, in: command, text: "it is a step of another branch")
    }
    #expect(try run("\(line) --no-backup").status == 0)
    #expect(try run("up a.store").status == 0 && run("verify a.store").status == 0)
  }

  @Test func `down is suggested for a store beyond the version, unless its tables were changed`() throws {
    #expect(try run("create a.store").status == 0)
    let line = "down a.store --to 1"
    for isThere in [true, false] {
      if !isThere {
        let connection = try Connection.open(folder.path("a.store"), key: .raw(Template.key))
        try connection.execute("ALTER TABLE U ADD COLUMN shoes TEXT")
        connection.close()
      }
      try expectOffer(
        line, isThere: isThere, code: 0, in: "up a.store --to 1", text: "`up` does not roll back steps.")
      try move("0002_more", to: "../0002_more")
      try expectOffer(line, isThere: isThere, code: 4, in: "status a.store", text: "Use a newer release")
      try write("0002_other", text: "add attribute U.o int optional")
      try move("../0002_more", to: "0003_more")
      try expectOffer(
        line, isThere: isThere, code: 3, in: "status a.store",
        text: isThere
          ? "roll the step back with the rollback that the store contains"
          : "its tables differ from its model")
      try FileManager.default.removeItem(atPath: folder.path("Steps/0002_other.migration"))
      try move("0003_more", to: "0002_more")
    }
    #expect(try run("\(line) --yes --no-backup").status == 1)
  }
}
