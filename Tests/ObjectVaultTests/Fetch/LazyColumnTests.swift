// The columns of lazy attributes: after all others in the table, in new stores and after steps.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

private final class Document: ManagedObject {
  @Attribute(.lazy) var content: Data
  @Attribute var name: String
  @Attribute(.lazy) var summary: String?
  @Attribute var pages: Int = 1
}

@Suite struct LazyColumns {
  private static let schema = Schema { Entity(Document.self) }

  /// Overwrites the pages in the last two thirds of a file: the overflow pages of the value that was
  /// written last.
  private static func damageEnd(of url: URL) throws {
    let handle = try FileHandle(forUpdating: url)
    defer { try? handle.close() }
    let end = try handle.seekToEnd()
    for offset in stride(from: end / 3, to: end - 64, by: 1024) {
      try handle.seek(toOffset: offset)
      try handle.write(contentsOf: Data(repeating: 0xA5, count: 64))
    }
  }

  @Test func `other attributes are read without the pages of a large value`() async throws {
    let temporary = try await TemporaryStore(Self.schema)
    try await temporary.store.write { context in
      _ = context.insert(Document.self) {
        ($0.name, $0.content, $0.summary) = ("large", Data(repeating: 7, count: 1_000_000), "s")
      }
    }
    temporary.store.close()
    try Self.damageEnd(of: temporary.store.url)
    let again = try await temporary.again()
    defer { again.close() }
    let context = again.makeContext()
    let document = try context.fetch(Document.self).one()
    #expect(document.name == "large" && document.pages == 1)
    #expect(context.faultErrors.isEmpty)
    // The value itself lies in the damaged pages: the pages were not read before.
    #expect(document.content == Data() && context.faultErrors.count == 1)
    #expect(document.name == "large" && document.state == .loaded)
  }

  @Test func `steps bring the columns of lazy attributes after all others, and keep them there`()
    async throws
  {
    let steps = [
      "create entity Document {\n attribute content data\n attribute name string\n}",
      "make Document.content lazy", "add attribute Document.pages int default 1",
      "add attribute Document.notes string optional lazy",
      "create entity Folder {\n attribute name string\n}\nadd relationship Document.folder -> Folder",
      "rename attribute Document.content -> bytes", "make Document.notes eager", "make Document.bytes eager",
      "add attribute Document.last int optional",
    ]
    let columns = [
      ["content", "name"], ["name", "content"], ["name", "pages", "content"],
      ["name", "pages", "content", "notes"], ["name", "pages", "folder_id", "content", "notes"],
      ["name", "pages", "folder_id", "bytes", "notes"], ["name", "pages", "notes", "folder_id", "bytes"],
      ["name", "pages", "notes", "folder_id", "bytes"],
      ["name", "pages", "notes", "folder_id", "bytes", "last"],
    ]
    let lab = try await DowngradeLab(
      steps, fill: ["INSERT INTO Document(id, content, name) VALUES (1, x'0102', 'a')"])
    func present() throws -> [String] {
      try lab.rows("PRAGMA table_info(Document)").dropFirst(2).compactMap { $0[1].string }
    }
    #expect(try present() == columns[0])
    for version in 2...steps.count {
      try await lab.up(version)
      #expect(try present() == columns[version - 1], "after step \(version)")
    }
    #expect(
      try lab.rows("SELECT bytes, name, pages FROM Document") == [
        [.blob(Data([1, 2])), .text("a"), .integer(1)]
      ])
    try await lab.down(1)
    #expect(try lab.rows("SELECT content, name FROM Document") == [[.blob(Data([1, 2])), .text("a")]])
  }

  @Test func `a transform in Swift reads and writes lazy attributes`() async throws {
    let lab = try await FunctionLab(
      [
        "create entity Document {\n attribute content string lazy\n attribute name string\n}",
        "transform swift swap on Document",
      ],
      [
        .objects("swap") { object, _ in
          let (name, content): (String, String) = (object["name"], object["content"])
          object["name"] = content
          object["content"] = name
        }
      ], fill: ["INSERT INTO Document(id, content, name) VALUES (1, 'c', 'n'), (2, 'd', 'm')"])
    try await lab.up(allowing: ["Document"])
    #expect(
      try lab.rows("SELECT content, name FROM Document ORDER BY id") == [
        [.text("n"), .text("c")], [.text("m"), .text("d")],
      ]
    )
  }

  @Test func `the model, its JSON, its Swift and a proposed step state that an attribute is lazy`() throws {
    let schema = Self.schema
    #expect(
      schema.entity(named: "Document")?.attributes.filter(\.isLazy).map(\.name) == ["content", "summary"])
    let coded = try JSONDecoder().decode(Schema.self, from: JSONEncoder().encode(schema))
    #expect(coded == schema)
    #expect(schema.rendered(as: .swift).text.contains("@Attribute(.lazy) var content: Data"))
    let eager = Schema(
      entities: schema.entities.map { entity in
        var entity = entity
        for index in entity.attributes.indices { entity.attributes[index].isLazy = false }
        return entity
      })
    #expect(eager != schema)
    let text = "format: 1\n[up]\n"
    func step(_ number: Int, _ operations: [MigrationOperation]) throws -> MigrationStep {
      try MigrationStep(
        number: number, name: "s", text: text + operations.map(\.description).joined(separator: "\n"))
    }
    var set = try MigrationSet([step(1, MigrationSet([]).proposal(for: schema).operations)])
    #expect(try set.model(at: 1) == schema)
    let back = try set.proposal(for: eager).operations
    #expect(back.map(\.description) == ["make Document.content eager", "make Document.summary eager"])
    set = try MigrationSet([set.steps[0], step(2, back)])
    #expect(try set.model(at: 2) == eager)
    #expect(
      try set.proposal(for: schema).operations.map(\.description)
        == ["make Document.content lazy", "make Document.summary lazy"])
  }
}
