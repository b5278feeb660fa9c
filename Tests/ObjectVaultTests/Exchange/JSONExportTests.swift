// Objects as JSON: paths, keys, orders, errors, and the way back.

import CipherSQLite
import Foundation
import ObjectVault
import ObjectVaultTesting
import TestSupport
import Testing

@Suite struct JSONExports {
  private static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  private static func fill(_ context: ObjectContext) throws -> FeedAccount {
    let labels = ["red", "blue"].map { word in context.insert(FeedLabel.self) { $0.word = word } }
    let account = context.insert(FeedAccount.self) {
      ($0.remoteID, $0.nick, $0.isActive) = (1, "ann", true)
      $0.labels = Set(labels)
    }
    account.entries = ["b", "a"].map { text in context.insert(FeedPost.self) { $0.text = text } }
    account.friend = context.insert(FeedAccount.self) { $0.remoteID = 2 }
    try context.save()
    return account
  }

  @Test func `paths choose attributes and related objects, under their keys`() async throws {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    let account = try Self.fill(context)
    #expect(
      try Self.text(account.encoded("nick", "entries.text"))
        == #"{"handle":"ann","posts":[{"text":"b"},{"text":"a"}]}"#)
    #expect(
      try Self.text(account.encoded("entries", "entries.text"))
        == #"{"posts":[{"text":"b"},{"text":"a"}]}"#)
    #expect(try Self.text(account.encoded("labels")) == #"{"labels":[{"word":"red"},{"word":"blue"}]}"#)
    #expect(
      try Self.text(account.encoded(\.remoteID, \.friend)).hasPrefix(#"{"best_friend":{"handle":null,"#))
    #expect(
      try Self.text(account.encoded("friend.friend", "friend.remoteID"))
        == #"{"best_friend":{"best_friend":null,"id":2}}"#)
    var mapping = JSONMapping()
    mapping.names = .snakeCase
    #expect(
      try Self.text(account.encoded(mapping: mapping))
        == #"{"handle":"ann","home_url":null,"id":1,"is_active":true,"screen_name":null}"#)
    // Pending changes count.
    account.nick = "bea"
    account.entries.removeFirst()
    #expect(
      try Self.text(account.encoded("nick", "entries.text")) == #"{"handle":"bea","posts":[{"text":"a"}]}"#)
  }

  @Test func `wrong paths are errors with a suggestion`() async throws {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    let account = try Self.fill(context)
    #expect(throws: StoreError.noProperty(entity: "FeedLabel", property: "wrod", similar: ["word"])) {
      try account.encoded("labels.wrod")
    }
    #expect {
      try account.encoded("nick.length")
    } throws: { error in
      if case StoreError.propertyMisused("FeedAccount", "nick", _) = error { true } else { false }
    }
    #expect(throws: StoreError.self) { try account.encoded("") }
    context.delete(account)
    try context.save()
    #expect(throws: StoreError.self) { try account.encoded("nick") }
    #expect(throws: StoreError.self) { try account.encoded("entries") }
  }

  @Test func `a fetch exports with a query for each relationship`() async throws {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    for number in 0..<300 {
      context.insert(FeedAccount.self) { account in
        account.remoteID = number
        account.entries = [context.insert(FeedPost.self) { $0.text = "p\(number)" }]
        account.labels = [context.insert(FeedLabel.self) { $0.word = "w\(number)" }]
      }
    }
    try context.save()
    let reader = temporary.store.makeContext()
    let all = try reader.fetch(FeedAccount.self).sorted(by: \.remoteID).encoded(
      "remoteID", "entries.text", "labels.word")
    #expect(reader.statistics.queries <= 5)
    let parsed = try JSONSerialization.jsonObject(with: JSONEncoder().encode(all)) as? [[String: Any]]
    #expect(parsed?.compactMap { $0["id"] as? Int } == Array(0..<300))
    #expect(
      parsed?.compactMap { ($0["posts"] as? [[String: String]])?.first?["text"] }
        == (0..<300).map { "p\($0)" })
    #expect(
      parsed?.compactMap { ($0["labels"] as? [[String: String]])?.first?["word"] }
        == (0..<300).map { "w\($0)" })
  }

  @Test func `an import of the export of all types gives the same values`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<60 {
      context.insert(Sample.self) { sample in
        sample.flag = .random(using: &random)
        sample.int = .random(in: .min ... .max, using: &random)
        sample.int8 = .random(in: .min ... .max, using: &random)
        sample.int16 = .random(in: .min ... .max, using: &random)
        sample.int32 = .random(in: .min ... .max, using: &random)
        sample.uint8 = .random(in: .min ... .max, using: &random)
        sample.uint16 = .random(in: .min ... .max, using: &random)
        sample.int64 = .random(in: .min ... .max, using: &random)
        sample.uint32 = .random(in: .min ... .max, using: &random)
        sample.float = .random(in: -1e6...1e6, using: &random)
        sample.double = .random(in: -1e18...1e18, using: &random)
        sample.decimal = Decimal(Int.random(in: -999_999_999...999_999_999, using: &random)) / 1000
        sample.string = String(
          (0..<8).map { _ in Character(Unicode.Scalar(UInt8.random(in: 0...127, using: &random))) })
        sample.data = Data((0..<9).map { _ in UInt8.random(in: 0...255, using: &random) })
        // Dates are written to the millisecond.
        sample.date = Date(
          timeIntervalSince1970: Double(Int.random(in: 0...2_000_000_000, using: &random)) + 0.5)
        sample.uuid = UUID()
        sample.url =
          URL(string: "https://a.example/\(Int.random(in: 0...999, using: &random))?q=ä") ?? URL.placeholder
        sample.mood = Mood.allCases.randomElement(using: &random) ?? .calm
        sample.address = Address(street: "S \(Int.random(in: 0...9, using: &random)) / \"x\"", number: 3)
        sample.maybeInt = Bool.random(using: &random) ? 5 : nil
        sample.maybeDecimal = Bool.random(using: &random) ? Decimal(string: "0.1") : nil
      }
    }
    try context.save()
    let json = try JSONEncoder().encode(context.fetch(Sample.self).sorted(byPath: "id").encoded())
    let other = try await TemporaryStore(library)
    let copy = other.store.makeContext()
    try copy.importJSON(json, into: Sample.self)
    try copy.save()
    func rows(_ context: ObjectContext) throws -> [ChangeSet.Values] {
      try context.fetch(Sample.self).sorted(byPath: "id").all().map { $0.snapshot().values }
    }
    let (before, after) = (try rows(context), try rows(copy))
    #expect(before.count == 60 && before == after, "seed \(seed)")
  }

  @Test func `dates keep their day and their milliseconds through many exports and imports`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let texts = [
      "0001-01-01T00:00:00Z", "0800-12-25T00:00:00Z", "1582-10-04T12:00:00Z", "1582-10-15T00:00:00Z",
      "2024-05-01T18:30:02.001Z", "2024-05-01T18:30:02.002Z", "2024-05-01T18:30:02.999Z",
      "9999-12-31T23:59:59Z",
    ]
    for text in texts {
      var date = "\"\(text)\""
      for _ in 0..<4 {
        let sample = try context.importJSON(Data(#"{"date": \#(date)}"#.utf8), into: Sample.self).objects[0]
        let json = try Self.text(sample.encoded("date"))
        date = String(json.dropFirst(8).dropLast())
      }
      #expect(date == "\"\(text)\"")
    }
    let far = context.insert(Sample.self) { $0.date = Date(timeIntervalSince1970: -1e13) }
    #expect(throws: EncodingError.self) { try Self.text(far.encoded("date")) }
  }

  @Test func `objects of subentities have all of their attributes`() async throws {
    let temporary = try await TemporaryStore(passes)
    let context = temporary.store.makeContext()
    let badge = context.insert(PassBadge.self) { ($0.name, $0.mail, $0.level) = ("b", "b@x", 3) }
    context.insert(PassHolder.self) { ($0.title, $0.token) = ("h", badge) }
    try context.save()
    let object = #"{"level":3,"mail":"b@x","name":"b"}"#
    #expect(try Self.text(context.fetch(PassToken.self).encoded()) == "[\(object)]")
    #expect(try Self.text(context.fetch(PassHolder.self).encoded("token")) == #"[{"token":\#(object)}]"#)
    let path = Array(repeating: "next", count: 2000).joined(separator: ".")
    #expect(throws: StoreError.self) { try badge.encoded(path) }
    #expect(
      try Self.text(badge.encoded("next", "next.next")) == #"{"next":null}"#)
  }
}

class PassToken: ManagedObject {
  @Attribute(.unique) var name: String
  @ToOne var next: PassToken?
}

final class PassBadge: PassToken {
  @Attribute(.unique) var mail: String
  @Attribute var level: Int = 0
}

final class PassHolder: ManagedObject {
  @Attribute var title: String
  @ToOne var token: PassToken?
  @ToOne var badge: PassBadge?
}

let passes = Schema {
  Entity(PassToken.self)
  Entity(PassBadge.self)
  Entity(PassHolder.self)
}
