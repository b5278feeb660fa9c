// The engine's plans of usual fetches, compared with golden files. An index that is no longer used shows
// as a difference, before an app becomes slow.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct QueryPlanGoldens {
  typealias Compile = @Sendable (ObjectContext) throws -> CompiledFetch

  static let fetches: [(name: String, compile: Compile)] = [
    ("all", { try $0.fetch(Book.self).sql }),
    ("by-id", { try $0.fetch(Book.self).where("SELF == %@", ObjectID<Book>(rowID: 2)).sql }),
    ("by-ids", { try $0.fetch(Book.self).where("id IN {1, 2, 3}").sql }),
    ("by-indexed-attribute", { try $0.fetch(Book.self).where("title == 'x'").sql }),
    ("by-unique-attribute", { try $0.fetch(Author.self).where("name == 'Ann'").sql }),
    ("by-range", { try $0.fetch(Book.self).where("title >= 'a' AND title < 'b'").sql }),
    ("by-text-prefix", { try $0.fetch(Book.self).where("title BEGINSWITH 'The'").sql }),
    ("by-list", { try $0.fetch(Book.self).where("title IN {'a', 'b', 'c'}").sql }),
    (
      "by-long-list",
      { try $0.fetch(Book.self).where("title IN %@", (0..<2000).map { "t\($0)" }).sql }
    ),
    ("by-attribute-without-index", { try $0.fetch(Book.self).where("year > 1999").sql }),
    ("by-to-one", { try $0.fetch(Book.self).where("author == %@", ObjectID<Author>(rowID: 7)).sql }),
    ("by-to-one-path", { try $0.fetch(Book.self).where("author.name == 'Ann'").sql }),
    ("by-path-of-to-ones", { try $0.fetch(Book.self).where("author.club.name == 'C'").sql }),
    ("by-any-of-many-to-many", { try $0.fetch(Book.self).where("ANY genres.name == 'crime'").sql }),
    ("by-any-of-one-to-many", { try $0.fetch(Author.self).where("ANY books.title == 'x'").sql }),
    ("by-none", { try $0.fetch(Author.self).where("NONE books.title == 'x'").sql }),
    ("by-count", { try $0.fetch(Book.self).where("genres.@count > 2").sql }),
    ("sorted-by-indexed-attribute", { try $0.fetch(Book.self).sorted(by: \.title).limit(10).sql }),
    ("sorted-downward", { try $0.fetch(Book.self).sorted(by: \.title, .reverse).limit(10).sql }),
    ("sorted-by-attribute-without-index", { try $0.fetch(Book.self).sorted(by: \.year).limit(10).sql }),
    ("sorted-by-to-one-path", { try $0.fetch(Book.self).sorted(by: \.author?.name).limit(10).sql }),
    (
      "page-after-a-key",
      {
        try $0.fetch(Book.self).where("title >= 'm' AND (title > 'm' OR id > %@)", ObjectID<Book>(rowID: 7))
          .sorted(by: \.title).limit(10).sql
      }
    ),
    (
      "by-and-sorted-by-the-same",
      { try $0.fetch(Book.self).where("title > 'm'").sorted(by: \.title).limit(10).sql }
    ),
  ]

  @Test(arguments: fetches.map(\.name))
  func `the plan of each usual fetch equals its golden file`(_ name: String) async throws {
    let temporary = try await TemporaryStore(library)
    let fetch = try #require(Self.fetches.first { $0.name == name })
    let sql = try fetch.compile(temporary.store.makeContext())
    try Self.expectPlan(of: sql.text, sql.bindings, temporary.store, file: "plan-\(name).txt")
  }

  /// Compares a statement and its plan with a golden file.
  static func expectPlan(of sql: String, _ bindings: [SQLValue], _ store: Store, file: String) throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    let plan = try connection.query(sql: "EXPLAIN QUERY PLAN " + sql, bindings) { common($0.text(3) ?? "") }
    let text = "\(sql)\n\n\(plan.joined(separator: "\n"))\n"
    let difference = try Golden.difference(of: text, from: file, in: "ObjectVaultTests")
    #expect(difference == nil, "\(difference ?? "")")
  }

  /// Returns a line of a plan in the form that all versions share: older ones name the table beside its
  /// alias.
  static func common(_ line: String) -> String {
    line.replacing(#/TABLE (\S+) AS (\S+)/#) { "\($0.2)" }.replacing("TABLE ", with: "")
      .replacing("EXECUTE ", with: "")
  }

  @Test func `each golden file of a plan belongs to a fetch`() throws {
    let names = Set(Self.fetches.map { "plan-\($0.name)" })
    for file in try Golden.names(in: "ObjectVaultTests") where file.hasPrefix("plan-") {
      #expect(names.contains(String(file.prefix { $0 != "." })), "\(file)")
    }
  }
}
