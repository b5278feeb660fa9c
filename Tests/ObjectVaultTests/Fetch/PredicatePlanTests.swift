// The engine's plans on a store with the size and shape of Debian's package index, where a wrong guess
// about the content of a table turns a second into a minute.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

final class Pack: ManagedObject {
  @Attribute(.indexed) var name: String
  @Attribute(.indexed) var section: String
  @Attribute var size: Int
  @ToMany(inverse: \Edge.pack, onDelete: .cascade) var edges: Set<Edge>
  @ToMany(inverse: \Edge.target) var needed: Set<Edge>
  @ToMany(inverse: \Mark.packs) var marks: Set<Mark>
}

final class Edge: ManagedObject {
  @Attribute(.indexed) var kind: String
  @ToOne var pack: Pack?
  @ToOne var target: Pack?
}

final class Mark: ManagedObject {
  @Attribute(.unique) var name: String
  @ToMany var packs: Set<Pack>
}

@Suite(.tags(.slow), .serialized) struct PredicatePlans {
  static let packs = 63_440
  static let edges = 287_168

  /// Every tenth edge refers to one package that nearly all others need. The other edges are spread
  /// evenly.
  private func filled() async throws -> TemporaryStore {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Pack.self)
        Entity(Edge.self)
        Entity(Mark.self)
      })
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    defer { connection.close() }
    func numbers(_ count: Int) -> String {
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))"
    }
    try connection.transaction(.immediate) {
      try connection.executeScript(
        """
        INSERT INTO Pack (id, name, section, size)
          \(numbers(Self.packs)) SELECT i, 'pack' || i, 'section' || (i % 60), i * 7919 % 100000 FROM n;
        INSERT INTO Edge (id, kind, pack_id, target_id)
          \(numbers(Self.edges)) SELECT i, CASE WHEN i % 8 THEN 'depends' ELSE 'suggests' END, i * 13 % \(Self.packs) + 1,
          CASE WHEN i % 10 = 0 THEN 1 ELSE i * 31 % \(Self.packs) + 1 END FROM n;
        INSERT INTO Mark (id, name) \(numbers(40)) SELECT i, 'mark' || i FROM n;
        """)
      let join = try #require(
        try connection.value(
          sql:
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%\\_marks' ESCAPE '\\' OR name LIKE '%\\_packs' ESCAPE '\\'"
        )?.string)
      let ends = try connection.query(sql: "PRAGMA table_info(\"\(join)\")") { $0.text(1) ?? "" }
      // Determines which of the two columns refers to Mark.
      let isMark = try connection.query(sql: "PRAGMA foreign_key_list(\"\(join)\")") {
        ($0.text(2), $0.text(3))
      }
      .first { $0.0 == "Mark" }?.1
      let columns = ends.map { $0 == isMark ? "i % 40 + 1" : "i" }.joined(separator: ", ")
      try connection.executeScript("INSERT INTO \"\(join)\" \(numbers(Self.packs)) SELECT \(columns) FROM n;")
    }
    return temporary
  }

  /// Checks the number of results and the plan. A wrong plan takes minutes here, and the bound is far
  /// above the time of a right one on a slow machine.
  private func check<Object: ManagedObject>(
    _ context: ObjectContext, on connection: Connection, fetch: Fetch<Object>, count: Int?,
    scans: Bool = false
  ) throws {
    let sql = try fetch.sql
    let start = threadTime()
    let found = try fetch.ids().count
    // A fetch that must check every object may take longer.
    #expect(threadTime() - start < (scans ? 60 : 10), "\(sql)")
    if let count { #expect(found == count, "\(sql)") }
    let plan = try connection.query(sql: "EXPLAIN QUERY PLAN " + sql.text, sql.bindings) {
      $0.text(3) ?? ""
    }
    // A scan of a table, and not of the numbers that unpack a long list.
    let isScan = plan.contains {
      $0.hasPrefix("SCAN") && !$0.contains("USING") && $0.contains(#/Pack|Edge|Mark|\bt\d/#)
    }
    #expect(isScan == scans, "\(sql)\n\(plan.joined(separator: "\n"))")
  }

  @Test func `a fetch by an indexed property uses the index, through any relationships`() async throws {
    let temporary = try await filled()
    let context = temporary.store.makeContext()
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    let (packs, edges) = (context.fetch(Pack.self), context.fetch(Edge.self))
    let (hub, mark) = ("pack1", "mark7")
    let needers = try packs.where("ANY edges.target.id == 1").count()
    try check(context, on: connection, fetch: edges.where("target.name == %@", hub), count: nil)
    try check(context, on: connection, fetch: edges.where(#Predicate { $0.target?.name == hub }), count: nil)
    try check(
      context, on: connection,
      fetch: packs.where(#Predicate { $0.edges.contains { $0.target?.name == hub } }),
      count: needers)
    try check(context, on: connection, fetch: packs.where("ANY edges.target.name == %@", hub), count: needers)
    try check(
      context, on: connection, fetch: packs.where("NONE edges.target.name == %@", hub),
      count: Self.packs - needers,
      scans: true)
    try check(
      context, on: connection, fetch: packs.where("ANY marks.name == %@", mark), count: Self.packs / 40)
    try check(
      context, on: connection, fetch: packs.where("name == 'pack500' AND ANY edges.target.name == %@", hub),
      count: nil)
    try check(
      context, on: connection,
      fetch: packs.where("section == 'section7' AND ANY edges.target.name == %@", hub),
      count: nil)
    try check(
      context, on: connection, fetch: packs.where("section == 'section7' AND ANY edges.kind == 'depends'"),
      count: nil)
    try check(context, on: connection, fetch: packs.where("ANY edges.kind == 'suggests'"), count: nil)
    try check(
      context, on: connection, fetch: packs.where("ANY edges.target.edges.target.name == 'pack77'"),
      count: nil)
    try check(
      context, on: connection,
      fetch: packs.where("ANY edges.target.marks.name == %@ AND name BEGINSWITH 'pack12'", mark), count: nil)
    try check(
      context, on: connection, fetch: edges.where("pack.name == 'pack500' AND target.name BEGINSWITH 'pack'"),
      count: nil
    )
    try check(
      context, on: connection, fetch: packs.where("name IN %@", (0..<5000).map { "pack\($0)" }), count: 4999)
    try check(
      context, on: connection, fetch: packs.where("ALL edges.target.size > 10"), count: nil, scans: true)
    try check(
      context, on: connection, fetch: packs.where("edges.@count > 4 AND section == 'section7'"), count: nil)
    try check(
      context, on: connection, fetch: edges.where("target.name == %@", hub).sorted(by: \.pack?.name).limit(5),
      count: 5)
  }
}
