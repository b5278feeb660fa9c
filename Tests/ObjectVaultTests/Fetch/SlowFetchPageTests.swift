// The page "Finding out why a fetch is slow" shows the plan and the error that its examples give.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// The classes of the page.
private enum PageModel {
  final class Item: ManagedObject {
    @Attribute(.indexed) var title: String
    @Attribute var kind: String
    @Attribute var bytes: Int
    @ToOne var owner: User?
  }

  final class Status: ManagedObject {
    @Attribute var text: String
    @ToOne var user: User?
  }

  final class User: ManagedObject {
    @Attribute var name: String
    @ToMany(inverse: \Item.owner) var items: Set<Item>
    @ToMany(inverse: \Status.user) var statuses: Set<Status>
  }

  static let schema = Schema {
    Entity(Item.self)
    Entity(Status.self)
    Entity(User.self)
  }
}

@Suite struct SlowFetchPage {
  private static func blocks() throws -> [String] {
    let page = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/ObjectVault/Documentation.docc/slow-fetches.md"), encoding: .utf8)
    return page.components(separatedBy: "```text\n").dropFirst().map {
      spaced($0.components(separatedBy: "\n```")[0])
    }
  }

  /// The text with one space between words: the page breaks long lines.
  private static func spaced(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  @Test func `the plan and the error of the page are those of its examples`() async throws {
    let temporary = try await TemporaryStore(PageModel.schema)
    try await temporary.store.write { context in
      for number in 0..<1200 {
        context.insert(PageModel.Item.self) { ($0.title, $0.kind, $0.bytes) = ("\(number)", "photo", number) }
      }
      for number in 0..<8 {
        let user = context.insert(PageModel.User.self) { $0.name = "\(number)" }
        context.insert(PageModel.Status.self) { ($0.text, $0.user) = ("", user) }
      }
    }
    let context = temporary.store.makeContext()
    let plan = try context.fetch(PageModel.Item.self).where("kind == 'photo'").sorted(by: \.bytes, .reverse)
      .explain()
    let error = #expect(throws: QueryLimitExceeded.self) {
      try context.withQueryLimit(2) {
        for status in try context.fetch(PageModel.Status.self).all() { _ = status.user?.name }
      }
    }
    #expect(try Self.blocks() == ["\(plan)", error.map { "\($0)" } ?? ""].map(Self.spaced))
  }
}
