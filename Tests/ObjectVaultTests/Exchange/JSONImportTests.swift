// JSON into objects: keys, values of each type, identities, relationships, refusals, and what is pending after.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

final class FeedAccount: ManagedObject {
  @Attribute(.unique, .key("id")) var remoteID: Int
  @Attribute var screenName: String?
  @Attribute(.key("handle")) var nick: String?
  @Attribute var isActive: Bool = false
  @Attribute var homeURL: URL?
  @ToMany(.key("posts"), inverse: \FeedPost.account, onDelete: .cascade) var entries: [FeedPost]
  @ToOne(.key("best_friend")) var friend: FeedAccount?
  @ToMany var labels: Set<FeedLabel>
}

final class FeedPost: ManagedObject {
  @Attribute var text: String
  @ToOne var account: FeedAccount?
}

final class FeedLabel: ManagedObject {
  @Attribute(.unique) var word: String
  @ToMany(inverse: \FeedAccount.labels) var accounts: Set<FeedAccount>
}

extension ImportReport {
  fileprivate var counts: [Int] { [inserted, updated, unchanged] }
}

let feed = Schema {
  Entity(FeedAccount.self)
  Entity(FeedPost.self)
  Entity(FeedLabel.self)
}

@Suite struct JSONImports {
  private static func json(_ text: String) -> Data { Data(text.utf8) }

  private static let snake: JSONMapping = {
    var mapping = JSONMapping()
    mapping.names = .snakeCase
    return mapping
  }()

  /// The place and the reason of a refusal.
  private static func refusal(_ body: () throws -> Void) -> (place: String, reason: String)? {
    do { try body() } catch StoreError.jsonRefused(let place, let reason) { return (place, reason) } catch {
      Issue.record("another error: \(error)")
    }
    return nil
  }

  private static func report(inserted: Int = 0, updated: Int = 0, unchanged: Int = 0) -> [Int] {
    [inserted, updated, unchanged]
  }

  @Test func `keys are those of the options, or names in the form of the mapping`() async throws {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    let imported = try context.importJSON(
      Self.json(
        #"{"id": 7, "screen_name": "ann", "handle": "a", "is_active": true, "home_url": "https://a.example", "x": 1}"#
      ),
      into: FeedAccount.self, mapping: Self.snake)
    let account = try #require(imported.objects.first)
    #expect(account.remoteID == 7 && account.screenName == "ann" && account.nick == "a" && account.isActive)
    #expect(account.homeURL == URL(string: "https://a.example"))
    #expect(imported.report.inserted == 1 && imported.report.unknownKeys == ["FeedAccount.x": 1])
    try context.save()
  }

  @Test func `every attribute type is read, and gives what the property of the class has`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let id = UUID()
    let text = """
      {"flag": 1, "int": -9007199254740993, "int8": -8, "int16": 16, "int32": 32, "int64": 9223372036854775807,
       "uint8": 255, "uint16": 65535, "uint32": 4294967295, "float": 0.5, "double": 1e-7,
       "decimal": 123456789.123456789123, "string": "q\\u0000\\"é", "data": "AAEC", "date": "2024-05-01T18:30:00+02:00",
       "uuid": "\(id.uuidString.lowercased())", "url": "https://a.example/b?c", "mood": "cross", "shelf": 1,
       "address": {"number": 3, "street": "Side"}, "maybeInt": null, "maybeString": "x", "maybeDecimal": "0.10"}
      """
    let sample = try #require(try context.importJSON(Self.json(text), into: Sample.self).objects.first)
    try context.save()
    context.refresh(sample)
    #expect(sample.flag && sample.int == -9_007_199_254_740_993 && sample.int64 == .max)
    #expect(sample.int8 == -8 && sample.int16 == 16 && sample.int32 == 32)
    #expect(sample.uint8 == 255 && sample.uint16 == .max && sample.uint32 == .max)
    #expect(sample.float == 0.5 && sample.double == 1e-7)
    #expect(sample.decimal == Decimal(string: "123456789.123456789123"))
    #expect(sample.string == "q\0\"é" && sample.data == Data([0, 1, 2]) && sample.uuid == id)
    #expect(sample.date == ISO8601DateFormatter().date(from: "2024-05-01T16:30:00Z"))
    #expect(
      sample.url == URL(string: "https://a.example/b?c") && sample.mood == .cross && sample.shelf == .low)
    #expect(sample.address == Address(street: "Side", number: 3))
    #expect(
      sample.maybeInt == nil && sample.maybeString == "x" && sample.maybeDecimal == Decimal(string: "0.1"))
    #expect(try await temporary.store.verify() == [])
  }

  @Test(arguments: [
    (#"{"int": "7"}"#, "int"), (#"{"int": 1.5}"#, "int"), (#"{"int8": 200}"#, "int8"),
    (#"{"flag": 2}"#, "flag"),
    (#"{"uint8": -1}"#, "uint8"), (#"{"string": 1}"#, "string"), (#"{"uuid": "x"}"#, "uuid"),
    (#"{"data": "ä"}"#, "data"), (#"{"date": "tomorrow"}"#, "date"), (#"{"mood": "lazy"}"#, "mood"),
    (#"{"shelf": 9}"#, "shelf"), (#"{"address": 5}"#, "address"),
    (#"{"address": {"number": "x"}}"#, "address"),
    (#"{"decimal": "12x"}"#, "decimal"), (#"{"int": [1]}"#, "int"), (#"{"string": {}}"#, "string"),
  ])
  func `a value that does not fit is refused with its place, and nothing changes`(
    _ text: String, _ name: String
  )
    async throws
  {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let found = Self.refusal { _ = try context.importJSON(Self.json("[{}, \(text)]"), into: Sample.self) }
    #expect(
      found?.place == "[1].\(name)" && found?.reason.hasPrefix("Sample.\(name) ") == true,
      "\(found.map { "\($0)" } ?? "-")")
    #expect(!context.hasChanges)
  }

  @Test func `an object is found by its unique attribute, whether stored, pending or earlier in the JSON`()
    async throws
  {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    let stored = context.insert(FeedAccount.self) { ($0.remoteID, $0.nick) = (1, "one") }
    let same = context.insert(FeedAccount.self) { ($0.remoteID, $0.nick) = (4, "four") }
    try context.save()
    let pending = context.insert(FeedAccount.self) { $0.remoteID = 2 }
    let imported = try context.importJSON(
      Self.json(
        """
        [{"id": 1, "handle": "uno"}, {"id": 2, "handle": "due"}, {"id": 3, "handle": "tre"},
         {"id": 3, "screenName": "three"}, {"id": 4, "handle": "four"}]
        """), into: FeedAccount.self)
    #expect(imported.objects[0] === stored && imported.objects[1] === pending && imported.objects[4] === same)
    #expect(imported.objects[2] === imported.objects[3])
    #expect(imported.objects[2].nick == "tre" && imported.objects[2].screenName == "three")
    #expect(imported.report.counts == Self.report(inserted: 1, updated: 2, unchanged: 1))
    #expect(!same.hasChanges)
    try context.save()
    let names = try context.fetch(FeedAccount.self).sorted(by: \.remoteID).values(\.nick)
    #expect(names == ["uno", "due", "tre", "four"])
  }

  @Test func `relationships have nested objects or identities, and keep their order`() async throws {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    let text = """
      [{"id": 1, "isActive": true, "best_friend": 2, "labels": ["red", {"word": "blue"}],
        "posts": [{"text": "b"}, {"text": "a"}]},
       {"id": 2, "isActive": false, "best_friend": {"id": 1}, "labels": [{"word": "red"}, "blue"]}]
      """
    let imported = try context.importJSON(Self.json(text), into: FeedAccount.self)
    let (first, second) = (imported.objects[0], imported.objects[1])
    #expect(first.friend === second && second.friend === first)
    #expect(first.entries.map(\.text) == ["b", "a"] && first.entries.allSatisfy { $0.account === first })
    #expect(first.labels == second.labels && Set(first.labels.map(\.word)) == ["red", "blue"])
    try context.save()
    #expect(imported.report.counts == Self.report(inserted: 6))
    // An array replaces the members; null ends a to-one; a key that is missing changes nothing.
    let again = try context.importJSON(
      Self.json(#"[{"id": 1, "labels": ["red"], "best_friend": null}]"#), into: FeedAccount.self)
    #expect(again.report.counts == Self.report(updated: 1))
    #expect(first.friend == nil && first.labels.map(\.word) == ["red"] && first.entries.count == 2)
    try context.save()
    let unchanged = try context.importJSON(
      Self.json(#"[{"id": 1, "labels": ["red"], "best_friend": null, "isActive": true}]"#),
      into: FeedAccount.self)
    #expect(unchanged.report.counts == Self.report(unchanged: 1))
    try context.save()
    #expect(try await temporary.store.verify() == [])
  }

  @Test(arguments: [
    (#"[{"id": 1, "best_friend": 9}]"#, "[0].best_friend", "no FeedAccount has this remoteID"),
    (#"[{"id": 1, "labels": [{"word": "a"}, "b"]}]"#, "[0].labels[1]", "no FeedLabel has this word"),
    (#"[{"id": 1, "posts": ["x"]}]"#, "[0].posts[0]", "FeedPost has no unique attribute"),
    (#"[{"id": 1, "labels": 5}]"#, "[0].labels", "an array of objects of FeedLabel is needed"),
    (#"[{"id": 1, "labels": {"word": "a"}}]"#, "[0].labels", "an array of objects of FeedLabel is needed"),
    (#"[[]]"#, "[0]", "the JSON value is an array"),
    (#"[{"id": 1, "posts": [null]}]"#, "[0].posts[0]", "is null"),
    (#"[5]"#, "[0]", "an object of FeedAccount is needed"), (#"5"#, "", "an object of FeedAccount is needed"),
    (#"[{"id": 1, "#, "", "it cannot be read as JSON"), ("", "", "it cannot be read as JSON"),
    (#"[{"id": {"a": 1}}]"#, "[0].id", "FeedAccount.remoteID needs a value of type int"),
  ])
  func `what cannot be imported is refused with its place`(_ text: String, _ place: String, _ reason: String)
    async throws
  {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    let found = Self.refusal { _ = try context.importJSON(Self.json(text), into: FeedAccount.self) }
    #expect(
      found?.place == place && found?.reason.contains(reason) == true, "\(found.map { "\($0)" } ?? "-")")
    #expect(!context.hasChanges)
  }

  @Test func `unknown keys are refused on request, with a suggestion`() async throws {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    var mapping = JSONMapping()
    mapping.unknownKeys = .refused
    let found = Self.refusal {
      _ = try context.importJSON(
        Self.json(#"[{"id": 1, "labels": [{"wrod": "a"}]}]"#), into: FeedAccount.self, mapping: mapping)
    }
    #expect(found?.place == "[0].labels[0].wrod")
    #expect(found?.reason == #"FeedLabel has no property with the key "wrod"; did you mean "word"?"#)
  }

  @Test func `the identity can be another unique attribute, and must be unique`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    context.insert(Author.self) { ($0.name, $0.nick) = ("Ann", "a") }
    try context.save()
    var mapping = JSONMapping()
    mapping.identities = ["Author": "name"]
    let report = try context.importJSON(
      Self.json(#"{"name": "Ann", "nick": "b"}"#), into: Author.self, mapping: mapping
    ).report
    #expect(report.updated == 1)
    mapping.identities = ["Autor": "name"]
    #expect(throws: StoreError.noEntity(name: "Autor", similar: ["Author"])) {
      try context.importJSON(Self.json("[]"), into: Author.self, mapping: mapping)
    }
    mapping.identities = ["Author": "nick"]
    #expect {
      try context.importJSON(Self.json(#"{"name": "Ann"}"#), into: Author.self, mapping: mapping)
    } throws: { error in
      if case StoreError.notUnique = error { true } else { false }
    }
  }

  @Test func `dates follow the mapping`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let date = Date(timeIntervalSince1970: 1_714_581_000.25)
    for (dates, text) in [
      (DateStrategy.secondsSince1970, "1714581000.25"), (.millisecondsSince1970, "1714581000250"),
      (.iso8601, #""2024-05-01T16:30:00.250Z""#),
      (.secondsSinceReferenceDate, "\(date.timeIntervalSinceReferenceDate)"),
    ] {
      var mapping = JSONMapping()
      mapping.dates = dates
      let sample = try context.importJSON(
        Self.json(#"{"date": \#(text)}"#), into: Sample.self, mapping: mapping)
      #expect(sample.objects.first?.date == date, "\(text)")
    }
  }

  @Test func `undo takes an import back as one change, and a save after it stores everything`() async throws {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    context.undoManager = ContextUndoManager(levels: 10)
    try context.importJSON(
      Self.json(#"[{"id": 1, "labels": [{"word": "a"}], "posts": [{"text": "x"}]}, {"id": 2}]"#),
      into: FeedAccount.self)
    try context.save()
    try context.undo()
    try context.save()
    #expect(try context.fetch(FeedAccount.self).count() == 0 && context.fetch(FeedLabel.self).count() == 0)
    try context.redo()
    try context.save()
    #expect(try context.fetch(FeedAccount.self).count() == 2 && context.fetch(FeedPost.self).count() == 1)
  }

  @Test func `a store without classes imports by the names of the model`() async throws {
    let temporary = try await TemporaryStore(feed)
    let url = temporary.store.url
    temporary.store.close()
    let store = try await Store.open(at: url, key: testKey)
    let report = try await store.write { context in
      try context.importJSON(
        Self.json(#"[{"remoteID": 1, "labels": [{"word": "a"}], "entries": [{"text": "x"}]}]"#),
        entity: "FeedAccount"
      ).report
    }
    #expect(report.counts == Self.report(inserted: 3))
    let again = try await store.write { context in
      try context.importJSON(Self.json(#"{"remoteID": 1, "nick": "n"}"#), entity: "FeedAccount").report
    }
    #expect(again.counts == Self.report(updated: 1))
    #expect(try await store.read { try $0.fetch(entity: "FeedLabel").count() } == 1)
    store.close()
  }

  @Test func `a read-only context refuses an import`() async throws {
    let temporary = try await TemporaryStore(feed)
    await #expect(throws: StoreError.readOnlyContext) {
      try await temporary.store.read {
        _ = try $0.importJSON(Self.json(#"{"id": 1}"#), into: FeedAccount.self)
      }
    }
  }

  @Test func `40,000 nested objects are imported with few queries`() async throws {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    let words = (0..<100).map { #"{"word": "w\#($0)"}"# }.joined(separator: ",")
    let parts = (0..<10_000).map { (number: Int) -> String in
      let friend = (number + 1) % 10_000
      let word = "w\(number % 100)"
      return #"{"id": \#(number), "best_friend": \#(friend), "labels": ["\#(word)"], "#
        + #""posts": [{"text": "a"}, {"text": "b"}]}"#
    }
    let text = "[" + parts.dropFirst().joined(separator: ",") + #", {"id": 0, "labels": [\#(words)]}]"#
    let report = try context.importJSON(Self.json(text), into: FeedAccount.self).report
    #expect(report.counts == Self.report(inserted: 10_000 + 100 + 9_999 * 2))
    #expect(context.statistics.queries < 100)
    try context.save()
    #expect(try context.fetch(FeedPost.self).count() == 9_999 * 2)
  }

  @Test func `two identities in one hierarchy stay apart`() async throws {
    let temporary = try await TemporaryStore(passes)
    let context = temporary.store.makeContext()
    context.insert(PassBadge.self) { ($0.name, $0.mail, $0.level) = ("ann", "ann@x", 1) }
    context.insert(PassToken.self) { $0.name = "bob" }
    try context.save()
    var mapping = JSONMapping()
    mapping.identities = ["PassToken": "name", "PassBadge": "mail"]
    let text = #"""
      [{"title": "1", "token": {"name": "bob"}}, {"title": "2", "badge": {"mail": "ann", "name": "new", "level": 7}}]
      """#
    try context.importJSON(Self.json(text), into: PassHolder.self, mapping: mapping)
    try context.save()
    let tokens = try context.fetch(PassToken.self).sorted(by: \.name).all().map { token in
      "\(token.name) \((token as? PassBadge)?.mail ?? "-") \((token as? PassBadge)?.level ?? 0)"
    }
    #expect(tokens == ["ann ann@x 1", "bob - 0", "new ann 7"])
  }

  @Test(arguments: [
    #"[{"title": "1", "badge": {"name": "new"}}, {"title": "2", "badge": {"name": "bob"}}]"#,
    #"[{"title": "1", "token": {"name": "x"}}, {"title": "2", "badge": {"name": "x"}}]"#,
    #"[{"title": "1", "token": {"name": "x"}}, {"title": "2", "badge": "x"}]"#,
    #"[{"title": "1", "badge": "bob"}]"#,
  ])
  func `an object of another entity with the identity is refused before anything changes`(_ text: String)
    async throws
  {
    let temporary = try await TemporaryStore(passes)
    let context = temporary.store.makeContext()
    context.insert(PassToken.self) { $0.name = "bob" }
    try context.save()
    #expect {
      try context.importJSON(Self.json(text), into: PassHolder.self)
    } throws: { error in
      switch error {
      case StoreError.keyTaken, StoreError.jsonRefused: true
      default: false
      }
    }
    #expect(!context.hasChanges && context.pendingChanges.isEmpty)
  }
}
