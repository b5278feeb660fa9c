// What status and info print about the file itself, which the golden files omit, compared with the file and
// the sqlcipher shell.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FileFacts {
  let folder: TemporaryFolder

  init() async throws { folder = try await CommandFolder().folder }

  private func run(_ line: String) throws -> String {
    let result = try runTool(
      builtExecutable("store-migrate"), line.split(separator: " ").map(String.init) + ["--no-input"],
      environment: ["STORE_MIGRATE_KEY": Template.hex(Template.key)], directory: folder.url.path)
    #expect(result.status == 0, "\(result)")
    return result.output
  }

  private struct Status: Decodable {
    struct Store: Decodable { let bytes: Int }
    struct File: Decodable {
      let format: String
      let pageBytes: Int
      let profile: String
    }
    let store: Store
    let file: File
  }

  private struct Info: Decodable {
    let store: Status.Store
    let profile: String
    let pageBytes: Int
    let pages: Int
  }

  @Test(arguments: [("new.store", 4096), ("pages.store", 2048)])
  func `status and info report the actual size, pages and format of a file`(_ name: String, _ page: Int)
    throws
  {
    let bytes = try folder.bytes(name).count
    let status = try JSONDecoder().decode(
      Status.self, from: Data(run("status \(name) -m Steps --key-format hex --json").utf8))
    let info = try JSONDecoder().decode(
      Info.self, from: Data(run("info \(name) --key-format hex --json").utf8))
    #expect(status.store.bytes == bytes && info.store.bytes == bytes)
    #expect(status.file.pageBytes == page && info.pageBytes == page && info.pages == bytes / page)
    let major = Engine.current.cipherMajor
    #expect(status.file.format == "SQLCipher \(major) format, page \(page)")
    #expect(status.file.profile == info.profile)
    // The hash and the rounds of each format, from SQLCipher's own documentation.
    let settings = major == 3 ? ["HMAC-SHA1,", "64000 rounds"] : ["HMAC-SHA512,", "256000 rounds"]
    for text in settings { #expect(info.profile.contains(text), "\(info.profile)") }

    // For people: kilobytes of 1000 bytes, rounded up.
    let size = "\((bytes + 999) / 1000) kB"
    let screen = try run("status \(name) -m Steps --key-format hex")
    let format = "encrypted (SQLCipher \(major) format, page \(page); opened by \(Engine.current))"
    #expect(screen.hasPrefix(name) && screen.contains(" \(size), \(format)\n"), "\(screen)")
    let facts = try run("info \(name) --key-format hex")
    #expect(facts.contains("size         \(size), \(bytes / page) pages of \(page) bytes, "), "\(facts)")
  }

  @Test(
    .enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"),
    arguments: ["new.store", "pages.store"])
  func `the shell opens a file with the reported page size, and with no other`(_ name: String) throws {
    let shell = try #require(cipherShell)
    let info = try JSONDecoder().decode(
      Info.self, from: Data(run("info \(name) --key-format hex --json").utf8))
    func count(page: Int) throws -> ToolResult {
      try runTool(
        shell, [folder.path(name)],
        input: "PRAGMA key = \"x'\(Template.hex(Template.key))'\";\nPRAGMA cipher_page_size = \(page);\n"
          + "PRAGMA page_count;\nSELECT count(*) FROM Author;\n")
    }
    let lines = try count(page: info.pageBytes).output.split(separator: "\n").filter { $0 != "ok" }
    #expect(lines == ["\(info.pages)", "2"], "\(lines)")
    for page in [1024, 2048, 4096, 8192] where page != info.pageBytes {
      let other = try count(page: page)
      #expect(!other.output.split(separator: "\n").contains("2"), "\(page): \(other)")
    }
  }
}
