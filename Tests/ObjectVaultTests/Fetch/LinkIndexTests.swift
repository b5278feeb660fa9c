// Conditions on members that use an index which begins with the link to the owner. As many columns of the
// index are used as the condition has, and no index that begins with rows of all owners.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Talk: ManagedObject {
  @Attribute var title: String
  @ToMany(inverse: \Line.talk) var lines: Set<Line>
  @ToMany(inverse: \Topic.talks) var topics: Set<Topic>
}

private final class Line: ManagedObject {
  @Attribute(.indexed) var sentAt: Int
  @Attribute(.indexed) var kind: Int
  @Attribute(.indexed) var size: Int
  @ToOne var talk: Talk?
}

private final class Topic: ManagedObject {
  @Attribute(.indexed) var name: String
  @ToMany var talks: Set<Talk>
}

private let talks = Schema {
  Entity(Talk.self)
  Entity(Line.self).index(\.talk, \.sentAt).index(\.talk, \.kind, \.size)
  Entity(Topic.self)
}

@Suite struct LinkIndexes {
  private static let fetches: [(name: String, compile: @Sendable (ObjectContext) throws -> CompiledFetch)] = [
    ("latest-of-owner", { try $0.fetch(Line.self).where("NONE talk.lines.sentAt > sentAt").sql }),
    ("any-of-owner", { try $0.fetch(Line.self).where("NOT ANY talk.lines.sentAt > sentAt").sql }),
    ("second-column", { try $0.fetch(Talk.self).where("NONE lines.kind == 7").sql }),
    (
      "third-column",
      { context in
        try context.fetch(Talk.self).where(
          #Predicate { talk in !talk.lines.contains { $0.kind == 7 && $0.size > 3 } }
        ).sql
      }
    ),
    // Without a condition on the second column, the index cannot be used for the third one. Another index
    // would begin with rows of all owners.
    ("without-second-column", { try $0.fetch(Talk.self).where("NONE lines.size > 3").sql }),
    ("own-id", { try $0.fetch(Line.self).where("NONE talk.lines.id > id").sql }),
    ("by-id-of-link", { try $0.fetch(Talk.self).where("NONE topics.name == 'x'").sql }),
  ]

  @Test(arguments: fetches.map(\.name))
  func `the plan of each condition on members equals its golden file`(_ name: String) async throws {
    let temporary = try await TemporaryStore(talks)
    let fetch = try #require(Self.fetches.first { $0.name == name })
    let sql = try fetch.compile(temporary.store.makeContext())
    try QueryPlanGoldens.expectPlan(
      of: sql.text, sql.bindings, temporary.store, file: "members-\(name).txt")
  }

  /// The engine's work for finding the latest line of a single talk, in hundreds of steps, and the number
  /// of lines found.
  private static func steps(lines: Int) async throws -> (steps: Int, found: Int) {
    let temporary = try await TemporaryStore(talks)
    try await temporary.store.write { context in
      let talk = context.insert(Talk.self) { $0.title = "t" }
      for place in 0..<lines {
        context.insert(Line.self) {
          $0.sentAt = place
          ($0.kind, $0.size, $0.talk) = (0, 0, talk)
        }
      }
    }
    let sql = try temporary.store.makeContext().fetch(Line.self).where("NONE talk.lines.sentAt > sentAt").sql
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    var steps = 0
    connection.onProgress(every: 100) {
      steps += 1
      return true
    }
    let found = try connection.rows(sql: sql.text, sql.bindings).count
    return (steps, found)
  }

  @Test func `the work for finding the latest member is linear in the number of members`() async throws {
    let (small, large) = (try await Self.steps(lines: 400), try await Self.steps(lines: 1600))
    #expect(small.found == 1 && large.found == 1)
    #expect(large.steps < 6 * small.steps, "\(small.steps) \(large.steps)")
  }
}
