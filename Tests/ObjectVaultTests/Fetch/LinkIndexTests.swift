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

private final class Chat: ManagedObject {
  @Attribute var title: String
  @ToMany(inverse: \Post.chat) var posts: Set<Post>
}

private final class Post: ManagedObject {
  @Attribute(.indexed) var sentAt: Int
  @Attribute(.indexed) var kind: Int
  @Attribute(.indexed) var code: String
  @ToOne var chat: Chat?
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

  // MARK: Indexes without the link

  /// A store with statistics of its posts. `kind` has two values, and `code` another one for each post.
  private static func posts(_ count: Int, chats: Int) async throws -> TemporaryStore {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Chat.self)
        Entity(Post.self)
      })
    try await temporary.store.write { context in
      let chats = (0..<chats).map { number in context.insert(Chat.self) { $0.title = "\(number)" } }
      for place in 0..<count {
        context.insert(Post.self) {
          ($0.sentAt, $0.kind, $0.code) = (place, place % 2, "c\(place)")
          $0.chat = chats[place % chats.count]
        }
      }
    }
    try await temporary.store.updateStatistics()
    return temporary
  }

  /// The engine's work for a condition on posts, in hundreds of steps, and the number of posts found.
  private static func steps(_ count: Int, where condition: String) async throws -> (steps: Int, found: Int) {
    let temporary = try await posts(count, chats: 1)
    let sql = try temporary.store.makeContext().fetch(Post.self).where(condition).sql
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

  @Test(arguments: ["NONE chat.posts.sentAt > sentAt", "ANY chat.posts.code == code"])
  func `with statistics, an index of the compared attribute alone serves the members of one owner`(
    _ condition: String
  ) async throws {
    let counts = isTorture ? (25_000, 100_000) : (1000, 4000)
    let small = try await Self.steps(counts.0, where: condition)
    let large = try await Self.steps(counts.1, where: condition)
    #expect(small.found == (condition.hasPrefix("NONE") ? 1 : counts.0))
    #expect(large.found == (condition.hasPrefix("NONE") ? 1 : counts.1))
    // Quadratic work would be 16 times as much.
    #expect(large.steps < 8 * small.steps, "\(small.steps) \(large.steps)")
  }

  @Test func `with statistics, an index that finds the rows of all owners is not used`() async throws {
    let temporary = try await Self.posts(2000, chats: 500)
    let context = temporary.store.makeContext()
    for condition in ["NONE posts.kind == 1", "NONE posts.sentAt > 1000"] {
      let plan = try context.fetch(Chat.self).where(condition).explain()
      #expect(plan.steps.contains { $0.index == "ix_Post_chat" }, "\(plan)")
    }
  }
}
