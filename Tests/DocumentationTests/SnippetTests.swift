// The Swift code of the pages and of the doc comments compiles, and fits the width of a page.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.documents, .slow, .pure)) struct Snippets {
  static let modules = [
    "CipherSQLite", "ObjectVault", "VaultAuthoring", "StoreMigrateKit", "ObjectVaultTesting",
  ]
  /// The width that a page shows without scrolling.
  static let widestLine = 78

  /// The imports, declarations and parameters that the documents of a module presuppose.
  static let assumed: [String: (preamble: String, parameters: String)] = [
    "CipherSQLite": (
      """
      import CipherSQLite
      import Foundation
      struct Logger: Sendable { func warning(_ text: String) {} }
      let logger = Logger()
      """,
      "path: String, key: Key, text: String, connection: Connection, pool: ConnectionPool"
    ),
    "ObjectVault": (
      #"""
      import Foundation
      import ObjectVault
      import Observation
      final class User: ManagedObject {
        @Attribute(.unique) var name: String
        @Attribute var screenName: String = ""
        @Attribute var city: String?
        @Attribute var joined: Date = .now
        @ToMany(inverse: \Status.user, onDelete: .cascade) var statuses: Set<Status>
      }
      final class Status: ManagedObject {
        @Attribute var text: String
        @Attribute var createdAt: Date = .now
        @ToOne var user: User?
        @ToMany(inverse: \Tag.statuses) var tags: Set<Tag>
      }
      final class Tag: ManagedObject {
        @Attribute(.unique) var name: String
        @ToMany var statuses: Set<Status>
      }
      final class Song: ManagedObject {
        @Attribute var title: String
        @ToOne var album: Album?
      }
      final class Album: ManagedObject {
        @ToMany(inverse: \Song.album) var songs: [Song]
      }
      final class Passport: ManagedObject {
        @Attribute var number: String
        @ToOne var owner: User?
      }
      final class Item: ManagedObject {
        @Attribute var title: String
        @Attribute var kind: String
        @Attribute var bytes: Int
        @Attribute var created: Date = .now
        @ToOne var owner: User?
      }
      final class Conversation: ManagedObject {
        @Attribute var title: String
        @ToMany(inverse: \Message.conversation) var messages: Set<Message>
      }
      final class Message: ManagedObject {
        @Attribute var text: String
        @Attribute var isRead: Bool = false
        @Attribute var sentAt: Date = .now
        @ToOne var conversation: Conversation?
      }
      class Person: ManagedObject {
        @Attribute var name: String
      }
      final class Document: ManagedObject {
        @Attribute var name: String
        @Attribute(.lazy) var content: Data
      }
      """#,
      "url: URL, migrationsURL: URL, schema: Schema, store: Store, context: ObjectContext, user: User, status: Status, document: Document, file: FileHandle, size: Int, object: DynamicObject"
    ),
    "VaultAuthoring": (
      """
      import Foundation
      import ObjectVault
      import VaultAuthoring
      """, "url: URL, schema: Schema"
    ),
    "StoreMigrateKit": (
      """
      import Foundation
      import ObjectVault
      import ObjectVaultTesting
      import StoreMigrateKit
      enum AppMigrations {
        static let steps: [MigrationSet.Embedded] = []
        static let all = Store.Migrations.creatingSchema
      }
      enum AppModel { static let schema = Schema {} }
      """, ""
    ),
    // Its classes are those of ObjectVault's pages, which are compiled in the same module.
    "ObjectVaultTesting": (
      """
      import Foundation
      import ObjectVault
      import ObjectVaultTesting
      enum MicroblogMigrations { static let all = Store.Migrations.creatingSchema }
      let microblog = Schema {
        Entity(User.self)
        Entity(Status.self)
        Entity(Tag.self)
      }
      """,
      "schema: Schema, test: TestStore, store: Store, context: ObjectContext, lab: MigrationLab, old: LabStore, new: LabStore, ada: DynamicID"
    ),
  ]

  /// The documents of a module, with all their blocks: each page, and each comment that shows code.
  static func documents(_ module: String) throws -> [[CodeBlock]] {
    let pages = try PackageFiles.files(in: "Sources/\(module)/Documentation.docc", suffix: ".md").map {
      CodeBlock.blocks(ofPage: try PackageFiles.text($0), file: $0)
    }
    let comments = try PackageFiles.files(in: "Sources/\(module)", suffix: ".swift").flatMap { path in
      // Comments do not continue each other.
      CodeBlock.blocks(ofSource: try PackageFiles.text(path), file: path).map { [$0] }
    }
    return pages + comments
  }

  static func files() throws -> [(module: String, file: SnippetFile)] {
    try modules.map { module in
      let assumed = try #require(assumed[module])
      var file = SnippetFile(preamble: assumed.preamble, parameters: assumed.parameters)
      for document in try documents(module) { file.add(document.filter { $0.language == "swift" }) }
      return (module, file)
    }
  }

  @Test func `the code of pages and comments compiles`() async throws {
    let count = try Self.modules.flatMap { try Self.documents($0).joined() }.count { $0.language == "swift" }
    #expect(count >= 25)
    let sources = try Self.files().map { ("\($0.module).swift", $0.file.text) }
    let build = try await ReaderProgram.check(Dictionary(uniqueKeysWithValues: sources))
    let errors = (build.output + build.errors).split(separator: "\n").filter {
      $0.contains("error:") && ($0.contains(".md:") || $0.contains("Sources/"))
    }
    #expect(build.status == 0, "\(errors.isEmpty ? build.errors : errors.joined(separator: "\n"))")
  }

  @Test(arguments: modules)
  func `code fits the width of a page, and splices no values into SQL`(_ module: String) throws {
    for block in try Self.documents(module).joined() {
      for (index, line) in block.lines.enumerated() {
        let place = "\(block.file):\(block.line + index)"
        #expect(line.count <= Self.widestLine, "\(place) has \(line.count) columns")
        // The label takes text as it is: no example may show how to build an injection.
        #expect(!line.contains(#/sql: "[^"]*\\\(/#), "\(place) splices a value into SQL")
      }
    }
  }

  @Test func `code blocks are found in pages and comments, with their lines`() {
    let page = "# Title\n\n```swift\nlet a = 1\n```\ntext\n```sh\nls\n```\n"
    #expect(
      CodeBlock.blocks(ofPage: page, file: "a.md") == [
        CodeBlock(language: "swift", file: "a.md", line: 4, lines: ["let a = 1"]),
        CodeBlock(language: "sh", file: "a.md", line: 8, lines: ["ls"]),
      ])
    let source =
      "  /// Sums.\n  /// ```swift\n  ///   sum()\n  ///\n  /// ```\n  func sum() {}\n/// ```\nlet b = 1\n"
    #expect(
      CodeBlock.blocks(ofSource: source, file: "a.swift") == [
        CodeBlock(language: "swift", file: "a.swift", line: 3, lines: ["  sum()", ""])
      ])
  }

  @Test func `a later block sees the declarations of earlier ones in its document`() {
    var file = SnippetFile(preamble: "import Foundation", parameters: "a: Int")
    file.add(
      ["let b = a", "@ToOne var c: User?"].map {
        CodeBlock(language: "swift", file: "p.md", line: 7, lines: [$0])
      })
    #expect(
      file.text == """
        import Foundation

        func document1(a: Int) async throws {
        do {
        #sourceLocation(file: "p.md", line: 7)
        let b = a
        #sourceLocation()
        do {
        #sourceLocation(file: "p.md", line: 7)
        final class Holder: ManagedObject { @ToOne var c: User?
        }
        #sourceLocation()
        }
        }
        }

        """)
  }
}
