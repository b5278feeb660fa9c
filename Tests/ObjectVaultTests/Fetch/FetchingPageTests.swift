// The SQL that the page "Fetching" shows is the SQL that its examples run.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// The classes of the page.
private enum PageModel {
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

  final class Item: ManagedObject {
    @Attribute(.indexed) var title: String
    @Attribute var kind: String
    @Attribute var bytes: Int
    @ToOne var owner: User?
  }

  final class User: ManagedObject {
    @Attribute var name: String
    @Attribute var city: String?
    @ToMany(inverse: \Item.owner) var items: Set<Item>
  }

  static let schema = Schema {
    Entity(Conversation.self)
    Entity(Message.self).index(\.conversation, \.sentAt)
    Entity(Item.self)
    Entity(User.self)
  }
}

@Suite struct FetchingPage {
  private typealias Item = PageModel.Item
  private typealias Message = PageModel.Message
  private typealias Conversation = PageModel.Conversation

  /// The examples of the page that are followed by SQL, in its order.
  @Sendable private static func examples(_ context: ObjectContext) -> [() throws -> Void] {
    let items = context.fetch(Item.self)
    return [
      {
        _ = try context.fetch(Message.request.where("isRead == NO").sorted(by: \.sentAt, .reverse).limit(50))
          .all()
      },
      { _ = try items.where("kind == 'photo'").count() },
      { _ = try items.sorted(by: \.title).values(\.title, \.bytes) },
      { _ = try items.distinct().sorted(by: \.owner?.city).values(\.owner?.city) },
      { _ = try items.sum(\.bytes) },
      { _ = try items.grouped(by: \.kind, .count, .sum(\.bytes)) },
      { _ = try items.grouped(by: \.kind, .count, having: .count > 10 && .sum(\.bytes) > 1000) },
      {
        _ = try context.fetch(Conversation.self).sorted(by: \.title).annotated(
          with: .count(\.messages, where: "isRead == NO"), .latest(\.messages, by: \.sentAt)
        ).all()
      },
      { _ = try context.fetch(Message.self).sorted(by: \.sentAt, .reverse).first(ofEach: \.conversation) },
      {
        let page = try items.sorted(by: \.title).page(size: 2)
        let cursor = try #require(page.next)
        _ = try items.sorted(by: \.title).page(size: 2, after: cursor)
      },
      {
        _ = try items.sorted(by: \.title, comparing: .caseInsensitive).sorted(by: \.owner?.city, nils: .last)
          .all()
      },
    ]
  }

  @Test func `the SQL of the page is the SQL that its examples run`() async throws {
    let page = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/ObjectVault/Documentation.docc/fetching.md"), encoding: .utf8)
    let blocks = page.components(separatedBy: "```sql\n").dropFirst().map { block in
      Self.spaced(block.components(separatedBy: "\n```")[0])
    }
    let temporary = try await TemporaryStore(PageModel.schema)
    let store = temporary.store
    try await store.write { context in
      for number in 0..<5 {
        context.insert(Item.self) { ($0.title, $0.kind, $0.bytes) = ("\(number)", "a", 1) }
      }
    }
    let statements = try await store.read { context in
      try Self.examples(context).map { example in
        var found: [String] = []
        try context.withConnection { connection in
          connection.onStatement { event in
            found.append(event.sql)
          }
        }
        try example()
        try context.withConnection { $0.onStatement(nil) }
        return found
      }
    }
    #expect(blocks.count == statements.count)
    for (index, (block, found)) in zip(blocks, statements).enumerated() {
      let shown = block.split(separator: ";").map { Self.spaced(String($0)) }
      let run = found.map { Self.plain($0) }
      #expect(shown.allSatisfy { run.contains($0) }, "example \(index):\n\(run.joined(separator: ";\n"))")
    }
  }

  @Test func `firsts of groups and later pages are found by searches in an index`() async throws {
    let temporary = try await TemporaryStore(PageModel.schema)
    try await temporary.store.write { context in
      for number in 0..<50 {
        context.insert(Item.self) { ($0.title, $0.kind, $0.bytes) = ("\(number)", "a", 1) }
      }
    }
    try await temporary.store.read { context in
      let examples = Self.examples(context)
      for example in examples[8...9] {
        var found: [String] = []
        try context.withConnection { connection in
          connection.onStatement { found.append($0.sql) }
        }
        try example()
        try context.withConnection { connection in
          connection.onStatement(nil)
          // The first statement of the pages is that of the first page.
          for sql in found where sql.contains("vault_groups") || sql.contains("WHERE") {
            let filled = sql.replacing("?", with: "1")
            let plan = try connection.query(sql: "EXPLAIN QUERY PLAN \(filled)", []) { $0.text(3) ?? "" }
            let tables = plan.filter { $0.contains("t0") && !$0.contains("SUBQUERY") }
            #expect(tables.allSatisfy { !$0.hasPrefix("SCAN") || $0.contains("SUBQUERY") }, "\(sql)\n\(plan)")
          }
        }
      }
    }
  }

  /// The text with one space between words.
  private static func spaced(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ").replacing("( ", with: "(")
  }

  /// A statement without the function that the rows are passed to.
  private static func plain(_ sql: String) -> String {
    var whole = spaced(sql)
    if let call = whole.firstRange(of: #/vault_(?:take|place)\(/#) {
      var (end, depth) = (call.upperBound, 1)
      while depth > 0, end < whole.endIndex {
        depth += whole[end] == "(" ? 1 : whole[end] == ")" ? -1 : 0
        end = whole.index(after: end)
      }
      let columns = whole[call.upperBound..<whole.index(before: end)]
      whole.replaceSubrange(call.lowerBound..<end, with: String(columns))
    }
    // The statement around one with a limit.
    return whole.wholeMatch(of: #/SELECT (.*?) FROM \((SELECT \1 FROM .*)\) t0/#).map { String($0.output.2) }
      ?? whole
  }
}
