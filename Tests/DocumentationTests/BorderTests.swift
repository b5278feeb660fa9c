// Which files may name the C libraries, raw pointers, and the bookkeeping tables.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow, .pure)) struct BorderTests {
  @Test(arguments: HouseTests.modules)
  func `C libraries and raw pointers are named only where the table of the module allows it`(_ module: String)
    throws
  {
    let page = packageRoot.appendingPathComponent("Sources/\(module)/Documentation.docc/architecture.md")
    let sources = try Architecture.sources(module).map { path, text in
      (path: String(path.dropFirst(module.count + 1).dropLast(".swift".count)), text: text)
    }
    let violations = Borders(sources, page: try String(contentsOf: page, encoding: .utf8)).violations
    #expect(violations.isEmpty, "\(module): \(violations.joined(separator: "\n"))")
  }

  static let page = """
    | folder | holds | may use |
    | --- | --- | --- |
    | `Files` | where it lies | `Values` |

    | what | only in |
    | --- | --- |
    | `CSQLCipher` | `Files`, `Store/Handle` |
    | pointers | `Store/Handle` |
    """

  static func violations(_ changes: [String: String] = [:]) -> [String] {
    let sound = [
      "Files/File": "private import CSQLCipher\nstruct File {}",
      "Store/Handle": "internal import CSQLCipher\nstruct Handle { let raw: OpaquePointer }",
      "Store/Store": "// An OpaquePointer of CSQLCipher\nlet text = \"Unmanaged\"\nstruct Store {}",
    ]
    let sources = sound.merging(changes) { $1 }.sorted { $0.key < $1.key }
    return Borders(sources.map { (path: $0.key, text: $0.value) }, page: page).violations
  }

  @Test func `the checker accepts files that the table names, by themselves or with their folder`() {
    #expect(Self.violations() == [])
  }

  @Test(arguments: [
    ("let a: UnsafeMutableRawPointer", "pointers"), ("func a(_ b: UnsafeBufferPointer<Int>) {}", "pointers"),
    ("let a = Unmanaged.passRetained(b)", "pointers"), ("let a = unsafeBitCast(b, to: Int.self)", "pointers"),
    ("private import CSQLCipher", "CSQLCipher"), ("import CLibCrypto", "CLibCrypto"),
  ])
  func `the checker reports any other file`(_ text: String, _ thing: String) {
    #expect(
      Self.violations(["Store/Other": text])
        == ["Store/Other names \(thing), and is not among the files that may"])
  }

  @Test func `the checker reports a line of the table that is not needed`() {
    #expect(
      Self.violations(["Store/Handle": "struct Handle {}"]) == [
        "the table lets Store/Handle name CSQLCipher, and it does not",
        "the table lets Store/Handle name pointers, and it does not",
      ])
  }

  @Test(arguments: Architecture.layers.keys.sorted())
  func `SQL with the bookkeeping tables is only in the files of these tables`(_ target: String) throws {
    let sql = #/\b(?:FROM|INTO|UPDATE|FAIL|TABLE|JOIN|EXISTS)\s+"?vault_(?:meta|ids|migrations)|"vault_\w+"/#
    for file in try Architecture.sources(target) {
      let own = file.path.hasPrefix("ObjectVault/Bookkeeping/")
      for line in file.text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
        guard let found = line.firstMatch(of: sql), Self.tables.contains(where: found.0.contains) else {
          continue
        }
        #expect(own, "\(file.path) spells \(found.0): see ObjectVault/Bookkeeping")
      }
    }
  }

  @Test(arguments: ["CipherSQLite", "ObjectVault", "VaultAuthoring", "ObjectVaultTesting"])
  func `the library names no command and no option of the tool`(_ module: String) throws {
    for file in try Architecture.sources(module) {
      for line in file.text.split(separator: "\n")
      where (line.contains("--") || line.contains("store-migrate"))
        && !line.drop(while: { $0 == " " }).hasPrefix("//")
      {
        let isOfTool = line.contains(#/store-migrate|[" (]--[a-z][a-z-]+/#)
        #expect(!isOfTool, "\(file.path): \(line). See StoreMigrateKit/Output/ErrorText.swift")
      }
    }
  }

  static let tables = ["vault_meta", "vault_ids", "vault_migrations"]
}
