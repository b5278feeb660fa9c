// Dependencies between folders point one way: the table in each module's architecture.md is the rule, and
// the names that the sources use are compared with it. The checker itself is tested with invented sources.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow, .pure)) struct HouseTests {
  static let modules = [
    "CipherSQLite", "ObjectVault", "VaultAuthoring", "StoreMigrateKit", "ObjectVaultTesting",
  ]

  static func house(_ module: String) throws -> House {
    let root = packageRoot.appendingPathComponent("Sources/\(module)")
    let page = try String(
      contentsOf: root.appendingPathComponent("Documentation.docc/architecture.md"), encoding: .utf8)
    let sources = try Architecture.sources(module).map { path, text in
      SwiftSource(path: String(path.dropFirst(module.count + 1)), text: text, module: module)
    }
    return House(sources, FolderTable(page: page))
  }

  @Test(arguments: modules)
  func `every folder has a line in the table of its module`(_ module: String) throws {
    let missing = try Self.house(module).missing
    #expect(missing.isEmpty, "\(module): \(missing.joined(separator: "\n"))")
  }

  @Test(arguments: modules)
  func `every folder uses only what its line allows`(_ module: String) throws {
    let violations = try Self.house(module).violations
    #expect(violations.isEmpty, "\(module): \(violations.joined(separator: "\n"))")
  }

  @Test(arguments: modules)
  func `no table allows a circle, and no group of files that use each other is large`(_ module: String) throws
  {
    let house = try Self.house(module)
    #expect(house.circles.isEmpty, "\(module): \(house.circles.joined(separator: "\n"))")
    #expect(house.knots.isEmpty, "\(module): \(house.knots.joined(separator: "\n"))")
  }
}

/// Invented sources: a value, a file with the value, and a store above both.
@Suite(.tags(.pure)) struct HouseCheckerTests {
  static let table = FolderTable(
    page: """
      # A page

      | folder | holds | may use |
      | --- | --- | --- |
      | `Values` | what is stored | nothing |
      | `Files` | where it lies | `Values` |
      | `Store` | who asks for it | `Values`, `Files` |

      More text.
      """)
  static let sound = [
    "Values/Value.swift":
      "public struct Value { func text() -> String { \"Value\" } }\nfunc quoted(_ t: String) {}",
    "Files/File.swift": "final class File {\n  var value: Value?\n  func read() { quoted(\"a\") }\n}",
    "Store/Store.swift": "struct Store { let file: File }\nextension Value { var store: Store? { nil } }",
  ]

  static func house(_ changes: [String: String] = [:], table: FolderTable = table) -> House {
    let texts = sound.merging(changes) { $1 }.sorted { $0.key < $1.key }
    return House(texts.map { SwiftSource(path: $0.key, text: $0.value, module: "Shop") }, table)
  }

  @Test func `the table of folders is read line by line`() {
    #expect(Self.table.allowed == ["Values": [], "Files": ["Values"], "Store": ["Values", "Files"]])
    #expect(FolderTable(page: "# No table").allowed.isEmpty)
  }

  @Test func `the checker accepts sources that point downward`() {
    let house = Self.house()
    #expect(house.missing + house.violations + house.circles + house.knots == [])
  }

  @Test func `a reference upward is reported with the file, the name and both folders`() {
    let house = Self.house(["Values/Value.swift": "struct Value { var owner: Store? }"])
    #expect(
      house.violations == ["Values/Value.swift uses Store of Store/Store.swift: Values may not use Store"])
  }

  @Test(arguments: [
    "extension File { var isEmpty: Bool { true } }",
    "func open() { let text = \"\\(File().name)\" }",
    "func open() { Shop.File() }",
    "func open(_ files: [String: File]) {}",
    "let size = #\"\\#(File.size)\"#",
  ])
  func `a name counts wherever it is code`(_ text: String) {
    #expect(Self.house(["Values/Other.swift": text]).violations.count == 1, "\(text)")
  }

  @Test(arguments: [
    "// File\n/* File /* Store */ File */ struct Other {}",
    "let text = \"File\"\nlet more = #\"a \"File\" \"#\nlet long = \"\"\"\n  File \"Store\"\n  \"\"\"",
    "struct Other { struct File {}\n  let file = File() }",
    "struct Box<File> { let file: File }\nfunc open<Store: Sequence>(_ store: Store) {}",
    "let member = other.File\nlet pattern = #/File \"/#",
    "func file() { let read = 1; _ = read }",
  ])
  func `text that is not code, and names of the file itself, do not count`(_ text: String) {
    #expect(Self.house(["Values/Other.swift": text]).violations == [], "\(text)")
  }

  @Test func `a function of a folder above counts when it is called, unless it is private there`() {
    let call = "func other() { assembled() }"
    let open = Self.house(["Values/Other.swift": call, "Store/Made.swift": "func assembled() {}"])
    #expect(open.violations.count == 1)
    let hidden = Self.house(["Values/Other.swift": call, "Store/Made.swift": "private func assembled() {}"])
    #expect(hidden.violations == [])
  }

  @Test func `folders without a line and lines without a folder are reported`() {
    let house = Self.house(["Attic/Thing.swift": "struct Thing {}", "Loose.swift": "struct Loose {}"])
    #expect(
      house.missing == ["Loose.swift lies in no folder", "the table has no line for the folder Attic"])
    let table = FolderTable(allowed: ["Values": [], "Files": ["Cellar"], "Store": ["Files"], "Attic": []])
    #expect(
      Self.house(table: table).missing == [
        "the table has a line for Attic, and there is no such folder",
        "Files may use Cellar, which has no line",
      ])
  }

  @Test func `a table that allows a circle is reported`() {
    let table = FolderTable(allowed: ["Values": ["Store"], "Files": ["Values"], "Store": ["Files"]])
    #expect(
      Self.house(table: table).circles == [
        "the table lets these folders use each other in a circle: Files, Store, Values"
      ])
  }

  @Test func `four files may use each other, and five may not`() {
    func ring(_ count: Int) -> [String: String] {
      Dictionary(
        uniqueKeysWithValues: (0..<count).map {
          ("Values/Part\($0).swift", "struct Part\($0) { let next: Part\(($0 + 1) % count)? }")
        })
    }
    #expect(Self.house(ring(4)).knots == [])
    #expect(Self.house(ring(5)).knots.count == 1)
  }
}
