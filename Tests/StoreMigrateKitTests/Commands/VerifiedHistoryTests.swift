// verify of damaged files and of differing histories, and of both at once: neither hides the other.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct VerifiedHistory {
  private func run(_ line: String, in folder: CommandFolder) throws -> ToolResult {
    try folder.run(CommandCase(line))
  }

  @Test func `a differing history is reported with the next command and an exit code of its own`()
    async throws
  {
    let folder = try await CommandFolder()
    let edited = try run("verify @new.store -m @Edited", in: folder)
    #expect(edited.status == 3 && edited.output.contains("0001 step was edited"), "\(edited)")
    #expect(edited.output.contains("`repair` cannot record the edit") && edited.errors.isEmpty, "\(edited)")
    let reworded = try run("verify @new.store -m @Reworded", in: folder)
    #expect(reworded.status == 3 && reworded.output.contains("store-migrate repair "), "\(reworded)")
    let newer = try run("verify @new.store -m @First", in: folder)
    #expect(newer.status == 4 && newer.output.contains("these migrations end at 1"), "\(newer)")
    // The wrong step folder is no reason to roll back all steps.
    let none = folder.folder.path("None")
    try FileManager.default.createDirectory(atPath: none, withIntermediateDirectories: false)
    for command in ["verify", "status"] {
      let empty = try run("\(command) @new.store -m @None", in: folder)
      #expect(empty.status == 4 && "\(empty)".contains("there are no steps here"), "\(empty)")
      #expect(!"\(empty)".contains("store-migrate down"), "\(empty)")
    }
  }

  @Test func `damaged pages and a differing history are reported together`() async throws {
    let folder = try await CommandFolder()
    let both = try run("verify @damaged.store -m @Edited", in: folder)
    #expect(both.status == 2 && both.output.contains("page 3 is damaged"), "\(both)")
    #expect(both.output.contains("0001 step was edited"), "\(both)")
    // Steps that cannot be read do not prevent the check of the pages.
    let broken = try run("verify @damaged.store -m @Broken", in: folder)
    #expect(
      broken.status == 2 && broken.output.contains("page 3")
        && broken.output.contains("0001_step.migration:4"),
      "\(broken)")
  }

  @Test func `verify names any damaged page and exits with 2`() async throws {
    let folder = try await CommandFolder()
    let bytes = try folder.folder.bytes("new.store")
    for page in 1...bytes.count / 4096 {
      try folder.folder.write(bytes, to: "page.store")
      try folder.folder.flip("page.store", at: (page - 1) * 4096 + 100)
      let result = try run("verify @page.store -m @Edited", in: folder)
      #expect(result.status == 2, "\(page): \(result)")
      #expect((result.output + result.errors).contains("page \(page) "), "\(page): \(result)")
    }
  }

  @Test func `verify with a missing step folder fails instead of comparing nothing`() async throws {
    let folder = try await CommandFolder()
    let result = try run("verify @new.store -m @Absent", in: folder)
    #expect(result.status == 10 && result.errors.contains("there is no migrations folder"), "\(result)")
  }

  @Test func `unreadable tables on valid pages are reported with the next command`() async throws {
    let folder = try await CommandFolder()
    let connection = try Connection.open(folder.folder.path("new.store"), key: .raw(Template.key))
    // The table gets the root page of an index.
    try connection.executeScript(
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_master SET rootpage = (
        SELECT max(rootpage) FROM sqlite_master WHERE type = 'index' AND tbl_name = 'Note')
      WHERE type = 'table' AND name = 'Note';
      """)
    connection.close()
    let result = try run("fetch @new.store Note", in: folder)
    #expect(result.status == 1 && result.errors.contains("its pages are authentic"), "\(result)")
    #expect(result.errors.contains("store-migrate verify "), "\(result)")
    #expect(try run("verify @new.store", in: folder).status == 2)
  }
}
