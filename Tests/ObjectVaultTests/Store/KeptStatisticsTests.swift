// A store updates the statistics of the query planner: after steps, after large saves, and when it is
// closed.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct KeptStatistics {
  private static func known(_ url: URL) throws -> [[SQLValue]] {
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    guard try connection.tableExists("sqlite_stat1") else { return [] }
    return try connection.rows("SELECT tbl, idx FROM sqlite_stat1 ORDER BY 1, 2")
  }

  @Test func `a step leaves statistics of the tables that it wrote and of an index that it made`()
    async throws
  {
    let rows = "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k LIMIT 1200) SELECT i FROM k"
    let lab = try await MigrationLab(
      "create entity U {\n attribute n int\n attribute m int optional\n}\ncreate entity V {\n attribute a int\n}",
      fill: ["INSERT INTO U(n) \(rows)", "INSERT INTO V(a) VALUES (1)"])
    try await lab.migrate("add index U(m)")
    #expect(try Self.known(lab.url) == [["U", "ix_U_m"]])
    #expect(try lab.isSound())
    let store = try await Store.open(at: lab.url, key: testKey)
    #expect(try await store.verify().isEmpty)
    store.close()
  }

  @Test func `a fetch of nil in a mostly nil property uses another index than a fetch of a value`()
    async throws
  {
    let temporary = try await TemporaryStore(Schema { Entity(Slip.self) })
    let store = temporary.store
    try await store.write { context in
      let first = context.insert(Slip.self) { ($0.made, $0.gone) = (0, 1) }
      for place in 1..<12_000 {
        context.insert(Slip.self) { ($0.made, $0.above) = (12_000 - place, place % 1000 == 0 ? first : nil) }
      }
    }
    func check(_ store: Store) throws {
      let context = store.makeContext()
      for property in ["gone", "above"] {
        let fetch = try context.fetch(Slip.self).where("\(property) == nil").sorted(by: \.made).limit(20)
        #expect(try fetch.sql.text.contains("likelihood(t0"), "\(property)")
        #expect(try fetch.all().map(\.made) == (property == "gone" ? Array(1...20) : Array(0...19)))
        #expect(try Self.plan(fetch.sql.text, store).contains("ix_Slip_made"), "\(property)")
        #expect(
          try context.fetch(Slip.self).where("\(property) != nil").count() == (property == "gone" ? 1 : 11))
        #expect(try context.fetch(Slip.self).where("NOT \(property) == nil OR made < 3").count() > 2)
      }
      let first = try #require(try context.fetch(Slip.self).where("made == 0").first())
      let children = try context.fetch(Slip.self).where("above == %@", first).sorted(by: \.made).limit(20)
      #expect(try children.all().map(\.made) == (1...11).map { $0 * 1000 })
      #expect(try !Self.plan(children.sql.text, store).contains("ix_Slip_made"))
    }
    try check(store)
    store.close()
    try check(try await temporary.again())
  }

  private static func plan(_ sql: String, _ store: Store) throws -> String {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    let numbered = sql.replacing("?", with: "1")
    return try connection.query(sql: "EXPLAIN QUERY PLAN \(numbered)") { $0.text(3) ?? "" }.joined(
      separator: "\n")
  }

  @Test func `a large save and a close leave statistics, and reading does not`() async throws {
    let temporary = try await TemporaryStore(library)
    let (store, url) = (temporary.store, temporary.store.url)
    try await store.write { context in
      for place in 0..<1500 { context.insert(Book.self) { $0.title = "t\(place)" } }
    }
    _ = try await store.read { try $0.fetch(Book.self).count() }
    #expect(try Self.known(url).isEmpty)
    store.close()
    let kept = try Self.known(url)
    #expect(kept.contains(["Book", "ix_Book_title"]) && kept.allSatisfy { $0[0] == "Book" }, "\(kept)")
    let again = try await temporary.again()
    let context = again.makeContext()
    for place in 0..<10_000 { context.insert(Author.self) { $0.name = "a\(place)" } }
    try context.save()
    #expect(try Self.known(url).contains { $0[0] == "Author" })
    #expect(try await again.verify().isEmpty)
    again.close()
  }
}

/// A note. Few notes are gone, and few have another one above them.
final class Slip: ManagedObject {
  @Attribute(.indexed) var made: Int
  @Attribute(.indexed) var gone: Int?
  @ToOne var above: Slip?
  @ToMany(inverse: \Slip.above) var below: Set<Slip>
}
