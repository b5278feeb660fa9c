// The plan of a fetch with its warnings: what is slow, and the index that makes it fast.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ExplainedFetches {
  typealias Explain = @Sendable (ObjectContext) throws -> QueryPlan

  struct Case: Sendable {
    let name: String
    /// The warnings, as `kind entity: index`.
    let warnings: [String]
    let explain: Explain
  }

  static let cases: [Case] = [
    Case(name: "equality", warnings: ["fullScan Book: @Attribute(.indexed) var year"]) {
      try $0.fetch(Book.self).where("year == 1999").explain()
    },
    Case(
      name: "equality-and-order",
      warnings: [
        "fullScan Book: Entity(Book.self).index(\\.year, \\.rating)",
        "sort Book: Entity(Book.self).index(\\.year, \\.rating)",
      ]
    ) { try $0.fetch(Book.self).where("year == 1999").sorted(by: \.rating).explain() },
    Case(name: "range", warnings: ["fullScan Book: @Attribute(.indexed) var rating"]) {
      try $0.fetch(Book.self).where("rating > 1 AND title CONTAINS 'x'").explain()
    },
    Case(name: "macro", warnings: ["fullScan Book: @Attribute(.indexed) var year"]) { context in
      let year = 1999
      return try context.fetch(Book.self).where(#Predicate { $0.year == year }).explain()
    },
    Case(name: "contains", warnings: ["fullScan Book: none"]) {
      try $0.fetch(Book.self).where("title CONTAINS 'x'").explain()
    },
    Case(name: "either", warnings: ["fullScan Book: none"]) {
      try $0.fetch(Book.self).where("year == 1999 OR rating > 4").explain()
    },
    Case(name: "order", warnings: ["sort Book: @Attribute(.indexed) var rating"]) {
      try $0.fetch(Book.self).sorted(by: \.rating, .reverse).limit(10).explain()
    },
    Case(name: "two-directions", warnings: ["sort Book: none"]) {
      try $0.fetch(Book.self).sorted(by: \.year).sorted(by: \.rating, .reverse).explain()
    },
    Case(name: "order-of-path", warnings: ["sort Book: none"]) {
      try $0.fetch(Book.self).sorted(by: \.author?.name).explain()
    },
    Case(name: "order-of-members", warnings: ["sort Book: Entity(Book.self).index(\\.author, \\.year)"]) {
      try $0.fetch(Book.self).where("author == %@", ObjectID<Author>(rowID: 7)).sorted(by: \.year).explain()
    },
    Case(name: "path", warnings: ["fullScan Author: @Attribute(.indexed) var age"]) {
      try $0.fetch(Book.self).where("author.age == 31").explain()
    },
    Case(name: "any-member", warnings: ["fullScan Author: @Attribute(.indexed) var year"]) {
      try $0.fetch(Author.self).where("ANY books.year == 1999").explain()
    },
    Case(name: "indexed", warnings: []) { try $0.fetch(Book.self).where("title == 'x'").explain() },
    Case(name: "ids", warnings: []) {
      try $0.fetch(Book.self).where("id IN {1, 2, 3}").sorted(by: \.year).explain()
    },
    Case(
      name: "without-case",
      warnings: [
        "fullScan Book: Entity(Book.self).index(\\.year, \\.title, comparing: .caseInsensitive)",
        "sort Book: Entity(Book.self).index(\\.year, \\.title, comparing: .caseInsensitive)",
      ]
    ) {
      try $0.fetch(Book.self).where("year == 1999").sorted(by: \.title, comparing: .caseInsensitive).explain()
    },
    Case(
      name: "without-marks",
      warnings: ["fullScan Book: @Attribute(.indexed([.caseInsensitive, .diacriticInsensitive])) var title"]
    ) { try $0.fetch(Book.self).where("title BEGINSWITH[cd] 'x'").explain() },
    Case(name: "everything", warnings: []) { try $0.fetch(Book.self).explain() },
    Case(name: "small-table", warnings: []) {
      try $0.fetch(Genre.self).where("name CONTAINS 'x'").sorted(by: \.name).explain()
    },
  ]

  /// A store with 1500 books and 1100 authors, whose file other connections have written.
  private static func store() async throws -> TemporaryStore {
    let temporary = try await TemporaryStore(library)
    try onFile(of: temporary) { connection in
      let numbers: SQL = "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k LIMIT "
      try connection.execute(
        """
        INSERT INTO Author(id, name, age) \(numbers)\(number: 1100)) SELECT i, 'a' || i, i % 90 FROM k
        """)
      try connection.execute(
        """
        INSERT INTO Book(id, title, year, rating, author_id) \(numbers)\(number: 1500))
        SELECT i, 't' || i, 1900 + i % 120, i % 50 / 10.0, i % 1100 + 1 FROM k
        """)
    }
    return temporary
  }

  private static func onFile(of temporary: TemporaryStore, _ body: (Connection) throws -> Void) throws {
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    try body(connection)
  }

  private static func text(_ warning: QueryPlan.Warning) -> String {
    "\(warning.kind) \(warning.entity): \(warning.index?.schemaLine ?? "none")"
  }

  @Test func `each slow fetch has its warnings, and its plan equals its golden file`() async throws {
    let temporary = try await Self.store()
    let context = temporary.store.makeContext()
    for each in Self.cases {
      let plan = try each.explain(context)
      #expect(plan.warnings.map(Self.text) == each.warnings, "\(each.name):\n\(plan)")
      let difference = try Golden.difference(
        of: "\(plan)\n", from: "explain-\(each.name).txt", in: "ObjectVaultTests")
      #expect(difference == nil, "\(difference ?? "")")
    }
  }

  @Test func `each golden file of an explained fetch belongs to a case`() throws {
    let names = Set(Self.cases.map { "explain-\($0.name)" })
    for file in try Golden.names(in: "ObjectVaultTests") where file.hasPrefix("explain-") {
      #expect(names.contains(String(file.prefix { $0 != "." })), "\(file)")
    }
  }

  @Test func `with the index of a warning in the file, the engine uses it and the warning ends`() async throws
  {
    let temporary = try await Self.store()
    // With an index in the schema, a condition on members is another statement.
    for each in Self.cases where each.name != "any-member" {
      let before = try each.explain(temporary.store.makeContext())
      guard let index = before.warnings.compactMap(\.index).first else { continue }
      // An index that ignores case is used where the schema has it: see FoldedIndexes.
      guard index.comparing.isEmpty else { continue }
      let columns = index.properties.map { $0 == "author" ? "author_id" : $0 }
      try Self.onFile(of: temporary) {
        try $0.execute(
          "CREATE INDEX advised ON \(identifier: index.entity) (\(.names(columns.map { SQLName($0) })))")
      }
      let after = try each.explain(temporary.store.makeContext())
      #expect(after.steps.contains { $0.index == "advised" }, "\(each.name):\n\(after)")
      #expect(after.warnings.isEmpty, "\(each.name):\n\(after)")
      try Self.onFile(of: temporary) { try $0.execute("DROP INDEX advised") }
    }
  }

  @Test func `a scan for each row of another table is reported`() async throws {
    let temporary = try await Self.store()
    try Self.onFile(of: temporary) { try $0.executeScript("DROP INDEX ix_Book_author") }
    let context = temporary.store.makeContext()
    let plan = try context.fetch(Author.self).where("NONE books.rating == 1").explain()
    let kinds = plan.warnings.map(\.kind)
    #expect(kinds.contains(.correlatedScan) || kinds.contains(.automaticIndex), "\(plan)")
    #expect(kinds.contains(.fullScan))
    #expect("\(plan.warnings[1])".contains("verify()"), "\(plan)")
  }

  @Test func `a plan is not run, and an invalid fetch throws its error`() async throws {
    let temporary = try await Self.store()
    let context = temporary.store.makeContext()
    _ = try context.fetch(Book.self).where("year == 1").explain()
    #expect(context.statistics.queries == 0)
    #expect(throws: StoreError.self) { try context.fetch(Book.self).sorted(byPath: "yaer").explain() }
    context.insert(Book.self) { $0.year = 1 }
    #expect(try context.fetch(Book.self).where("year == 1").explain().warnings.count == 1)
    let deleted = try #require(try context.fetch(Book.self).first())
    context.delete(deleted)
    let plan = try context.fetch(Book.self).where("year == 1").includingPending(false).explain()
    #expect(plan.warnings.count == 1)
  }

  @Test func `all fetches of a closure are explained, each statement once`() async throws {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      for number in 0..<1200 {
        context.insert(Book.self) {
          ($0.title, $0.year, $0.rating) = ("t\(number)", number % 7, Double(number))
        }
      }
    }
    let context = temporary.store.makeContext()
    func statements(_ body: () throws -> Void) throws -> [String] {
      try context.explain(body).map(\.statement.text)
    }
    let books = context.fetch(Book.self)
    #expect(try statements { _ = try books.grouped(by: \.year, .count) }.count == 1)
    #expect(try statements { _ = try books.grouped(by: \.year, .count) }[0].contains("GROUP BY"))
    let plans = try context.explain {
      for year in 0..<5 { _ = try books.where("year == %@", year).sorted(by: \.rating).values(\.title) }
    }
    #expect(plans.count == 1 && plans[0].warnings.map(\.kind) == [.fullScan, .sort], "\(plans)")
    #expect(plans[0].warnings[0].index?.schemaLine == "Entity(Book.self).index(\\.year, \\.rating)")
    #expect(try statements { _ = try books.first(ofEach: \.author) }.count >= 1)
    #expect(
      try statements { _ = try context.fetch(Author.self).annotated(with: .count(\.books)).all() }.count == 1)
    #expect(try statements { _ = try (books.count(), books.exists(), books.sum(\.year)) }.count == 3)
    #expect(try statements { _ = try books.sorted(by: \.title).page(size: 3) }.count == 1)
    #expect(try statements {} == [])
    // Without a condition there is no warning about one; a range of ids may be the whole table.
    let page = try context.explain { try books.sorted(by: \.title).page(size: 3) }
    #expect(page.flatMap(\.warnings).map(\.kind).allSatisfy { $0 == .sort }, "\(page)")
    #expect(try books.where("id > 0").sorted(by: \.year).explain().warnings.map(\.kind) == [.sort])
    // One inside another, and one that throws.
    let outer = try context.explain {
      _ = try books.count()
      #expect(try context.explain { _ = try books.exists() }.count == 1)
    }
    #expect(outer.count == 2)
    #expect(throws: StoreError.self) { try context.explain { try books.where("yer == 1").all() } }
    #expect(try statements { _ = try books.count() }.count == 1)
    // With changes in the context, the statement for the other objects is explained.
    try #require(try books.first()).year = 100
    #expect(try statements { _ = try books.grouped(by: \.year, .count) }.count >= 1)
  }
}
