// The history of a store: what is recorded, compared with the feed of changes, and how it is read.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct RecordedChanges {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(memoModel()) }

  /// Waits for the next commit that the feed delivers, without its number.
  private func next(_ changes: inout StoreChanges.AsyncIterator) async -> ChangeSet? {
    guard case .committed(let set)? = await changes.next() else { return nil }
    return ChangeSet(
      inserted: set.inserted, updated: set.updated, deleted: set.deleted, linked: set.linked,
      unlinked: set.unlinked, placed: set.placed, changedBySQL: set.changedBySQL, author: set.author,
      name: set.name)
  }

  @Test func `each commit is a transaction with old and new values, author, name, time and version`()
    async throws
  {
    let begin = Date()
    let context = store.makeContext()
    (context.author, context.transactionName) = ("Ann", "First")
    let memo = context.insert(Memo.self) { ($0.title, $0.pages) = ("a", 3) }
    try context.save()
    (context.author, context.transactionName) = ("Bob", nil)
    memo.title = "b"
    try context.save()
    context.delete(memo)
    try context.save()
    let found = try await store.history()
    #expect(found.map(\.author) == ["Ann", "Bob", "Bob"] && found.map(\.name) == ["First", nil, nil])
    #expect(found.map(\.lines) == [["inserted Memo 1"], ["updated Memo 1: title"], ["deleted Memo 1"]])
    #expect(found.map(\.token.sequence) == [1, 2, 3])
    #expect(found.allSatisfy { $0.kind == .changes && $0.modelVersion == 1 && $0.isReversible })
    #expect(found.allSatisfy { $0.date >= begin && $0.date <= Date() })
    #expect(
      found[1].changes.updated == [.init(entity: "Memo", rowID: 1, old: ["title": "a"], new: ["title": "b"])])
    #expect(
      found[2].changes.deleted == [.init(entity: "Memo", rowID: 1, values: ["title": "b", "pages": 3])])
    #expect(try await store.verify() == [])
  }

  @Test func `every kind of write records what the feed delivers`() async throws {
    var changes = store.changes().makeAsyncIterator()
    var told: [ChangeSet] = []
    let context = store.makeContext()
    context.author = "Ann"
    let folder = context.insert(MemoFolder.self) { $0.name = "f" }
    for number in 1...70 {
      context.insert(number % 2 == 0 ? Letter.self : Memo.self) {
        ($0.code, $0.title, $0.content) = (number, "memo \(number)", Data([1, UInt8(number)]))
        $0.folder = number < 10 ? folder : nil
      }
    }
    let tags = (1...3).map { number in context.insert(MemoTag.self) { $0.word = "t\(number)" } }
    try context.save()
    told.append(try #require(await next(&changes)))
    let memos = try context.fetch(Memo.self).sorted(by: \.code).all()
    for memo in memos.prefix(60) { (memo.pages, memo.weight) = (memo.pages + 7, 0.5) }
    for memo in memos.prefix(5) { for tag in tags { memo.add(tag, to: \.tags) } }
    folder.memos.swapAt(0, 3)
    memos[0].content = Data(repeating: 9, count: 300_000)
    try context.save()
    told.append(try #require(await next(&changes)))
    // Unique values that change places.
    (memos[0].code, memos[1].code) = (memos[1].code, memos[0].code)
    context.delete(tags[0])
    try context.save()
    told.append(try #require(await next(&changes)))
    try await store.write { context in
      (context.author, context.transactionName) = ("Bob", "several saves")
      let memo = context.insert(Memo.self) { $0.title = "in a write" }
      try context.save()
      memo.title = "changed"
      try context.save()
      let gone = context.insert(Memo.self) { $0.title = "gone" }
      try context.save()
      context.delete(gone)
      context.insert(Jotting.self) { $0.text = "no history" }
    }
    let whole = try #require(await next(&changes))
    told.append(
      ChangeSet(
        inserted: whole.inserted.filter { $0.entity != "Jotting" }, author: whole.author, name: whole.name))
    #expect(
      try context.fetch(Memo.self).where("pages > 0").update(
        .increment(\.pages, by: 1), .set(\.title, to: "x")) == 60)
    told.append(try #require(await next(&changes)))
    #expect(try context.fetch(MemoFolder.self).delete() == 1)
    told.append(try #require(await next(&changes)))
    try await store.upsert(contentsOf: [2, 11, 900], into: Memo.self, on: \.code, by: { $0 }) {
      $0.pages = $1
    }
    told.append(try #require(await next(&changes)))
    try await store.insert(contentsOf: 1...3, into: MemoTag.self) { $0.word = "\($1)" }
    told.append(try #require(await next(&changes)))
    let undone = told[4].inverse
    try await store.apply(told[7].inverse)
    told.append(try #require(await next(&changes)))
    #expect(undone.updated.count == 60)
    let found = try await store.history()
    #expect(
      found.map(\.changes.author) == told.map(\.author) && found.map(\.changes.name) == told.map(\.name))
    for (kept, set) in zip(found, told) {
      let lines = [kept.changes, set].map { $0.descriptionWithValues.split(separator: "\n").sorted() }
      #expect(lines[0] == lines[1], "transaction \(kept.token)")
    }
    #expect(try await store.verify() == [])
  }

  @Test func `objects of entities without a history are not recorded`() async throws {
    try await store.write { _ = $0.insert(Jotting.self) { $0.text = "x" } }
    #expect(try await store.history().isEmpty)
    #expect(try store.rows("SELECT count(*) FROM vault_transactions") == [[0]])
    #expect(try await store.historyToken().sequence == 0)
  }

  @Test func `a store without a history has no tables for it and says how to begin one`() async throws {
    let plain = try await TemporaryStore(Schema { Entity(Jotting.self) })
    try await plain.store.write { _ = $0.insert(Jotting.self) { $0.text = "x" } }
    #expect(
      try plain.store.rows(
        "SELECT name FROM sqlite_master WHERE name LIKE 'vault_%s' AND name NOT IN ('vault_ids', 'vault_migrations')"
      ) == [])
    await #expect(throws: StoreError.noHistory(entity: nil)) { try await plain.store.history() }
    await #expect(throws: StoreError.noHistory(entity: nil)) { try await plain.store.historyToken() }
    await #expect(throws: StoreError.noHistory(entity: nil)) { try await plain.store.purgeHistory(.all) }
    #expect(
      "\(StoreError.noHistory(entity: "Note"))"
        == "Note has no history. Declare Entity(Note.self).history(), and write the migration step.")
    await #expect(throws: StoreError.noHistory(entity: "Jotting")) {
      try await store.values(of: ObjectID<Jotting>(rowID: 1), at: store.historyToken())
    }
  }

  @Test func `changes by SQL and by streams of bytes are recorded as unknown`() async throws {
    let context = store.makeContext()
    context.author = "Ann"
    let memo = context.insert(Memo.self) { ($0.title, $0.content) = ("a", Data()) }
    try context.save()
    try context.execute("UPDATE Memo SET pages = 9")
    try context.writeBytes(of: memo, \.content, count: 3) { try $0.write(Data([1, 2, 3])) }
    try await store.write { context in
      try context.execute("UPDATE MemoFolder SET name = 'x' WHERE id = 99")
      try context.execute("INSERT INTO MemoFolder(name, _version) VALUES ('by SQL', 1)")
      try context.execute("INSERT INTO Jotting(text, _version) VALUES ('by SQL', 1)")
    }
    let found = try await store.history()
    #expect(
      found.map(\.lines) == [
        ["inserted Memo 1"], ["changed by SQL: Memo"], ["changed by SQL: Memo"],
        ["changed by SQL: MemoFolder"],
      ])
    #expect(found.map(\.author) == ["Ann", "Ann", "Ann", nil])
    #expect(found.map(\.isReversible) == [true, false, false, false])
    await #expect(
      throws: StoreError.notReversible(
        transaction: 2, reason: "the history does not have the old values of all its changes")
    ) {
      try await store.undo(found[1])
    }
    await #expect(throws: StoreError.self) { try await store.values(of: memo.id, at: found[0].token) }
    #expect(try await store.values(of: memo.id, at: found[2].token)?.values["pages"] == 9)
  }

  @Test func `what is rolled back is not recorded`() async throws {
    struct Refusal: Error {}
    await #expect(throws: Refusal.self) {
      try await store.write { context in
        for _ in 0..<9000 { context.insert(Memo.self) { $0.title = "far too long to fit into one part" } }
        try context.save()
        throw Refusal()
      }
    }
    try await store.write { context in
      context.insert(Memo.self) { $0.code = 1 }
      try context.save()
      let other = context.insert(Memo.self) { $0.code = 1 }
      #expect(throws: StoreError.self) { try context.save() }
      context.delete(other)
      context.insert(Memo.self) { $0.code = 2 }
    }
    let found = try await store.history()
    #expect(found.count == 1 && found[0].changes.inserted.compactMap { $0.values["code"] } == [1, 2])
    #expect(try store.rows("SELECT count(*) FROM vault_transactions") == [[1]])
  }

  @Test func `60,000 objects are recorded in rows of at most 64 KiB`() async throws {
    try await store.write { context in
      for number in 0..<60_000 {
        context.insert(Memo.self) { ($0.code, $0.title) = (number, "memo number \(number)") }
        if number % 10_000 == 9_999 { try context.save() }
      }
    }
    try await store.write { try $0.fetch(Memo.self).update(.increment(\.pages, by: 300)) }
    try await store.write { try $0.fetch(Memo.self).delete() }
    let sizes = try store.rows(
      "SELECT max(length(body)), count(*), count(parts), sum(parts) FROM vault_transactions")
    let row = try #require(sizes.first)
    #expect(row[0] == 65_536 && row[2] == 3 && row[1].int64 == (row[3].int64 ?? 0) + 3)
    let found = try await store.history()
    #expect(found.map(\.changes.count) == [60_000, 60_000, 60_000])
    #expect(
      found[1].changes.updated.last?.new == ["pages": 300]
        && found[1].changes.updated.last?.old == ["pages": 0])
    #expect(found[2].changes.deleted.last?.values["title"] == "memo number 59999")
    try await store.undo(found[2], author: "Ann")
    #expect(try await store.read { try $0.fetch(Memo.self).count() } == 60_000)
    #expect(try await store.verify() == [])
  }

  @Test func `new values alone are recorded where only changes are kept`() async throws {
    let temporary = try await TemporaryStore(memoModel(.changes))
    let store = temporary.store
    let context = store.makeContext()
    let memo = context.insert(Memo.self) { ($0.title, $0.pages) = ("a", 1) }
    try context.save()
    let first = try context.historyToken()
    (memo.title, memo.weight) = ("b", 2.5)
    try context.save()
    memo.weight = nil
    try context.save()
    let id = memo.id
    context.delete(memo)
    try context.save()
    let found = try await store.history()
    #expect(found.map(\.isReversible) == [true, false, false, false])
    #expect(
      found[1].changes.updated == [
        .init(entity: "Memo", rowID: 1, old: [:], new: ["title": "b", "weight": 2.5])
      ])
    #expect(found[3].changes.deleted == [.init(entity: "Memo", rowID: 1, values: [:])])
    await #expect(throws: StoreError.self) { try await store.undo(found[1]) }
    #expect(try await store.values(of: id, at: first)?.values == ["title": "a", "pages": 1])
    #expect(
      try await store.values(of: id, at: found[1].token)?.values == ["title": "b", "pages": 1, "weight": 2.5])
    #expect(try await store.values(of: id, at: found[2].token)?.values == ["title": "b", "pages": 1])
    #expect(try await store.values(of: id, at: found[3].token) == nil)
    try await store.purgeHistory(.through(first))
    await #expect {
      try await store.values(of: id, at: found[2].token)
    } throws: {
      "\($0)".contains("the values of code, content, folder, pages are older than the history")
    }
  }

  @Test func `a large value and a table with triggers are recorded part by part`() async throws {
    let bytes = Data((0..<24_000_000).map { UInt8(truncatingIfNeeded: $0) })
    let context = store.makeContext()
    let memo = context.insert(Memo.self) { ($0.code, $0.content) = (1, bytes) }
    try context.save()
    context.delete(memo)
    try context.save()
    let found = try await store.history()
    #expect(found[0].changes.inserted[0].values["content"] == .blob(bytes))
    #expect(found[1].changes.deleted[0].values["content"] == .blob(bytes))
    #expect(try store.rows("SELECT max(length(body)) FROM vault_transactions") == [[65_536]])
  }

  @Test func `a row that a trigger has changed has no known earlier state`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Jotting.self).history()
        RawObject.trigger(
          "Shout",
          sql:
            "AFTER UPDATE OF text ON $Jotting WHEN NEW.text <> upper(NEW.text) BEGIN UPDATE $Jotting SET $Jotting.text = upper(NEW.text) WHERE $Jotting.id = NEW.id; END"
        )
      })
    let store = temporary.store
    let id = try await store.write { $0.insert(Jotting.self) { $0.text = "a" }.id }
    let token = try await store.historyToken()
    try await store.write { try $0.existing(id)?.text = "b" }
    await #expect {
      try await store.values(of: id, at: token)
    } throws: {
      "\($0)".contains("text was changed after transaction 2 without a record")
    }
    // Also at the last transaction, after which nothing was recorded.
    await #expect(throws: StoreError.self) { try await store.values(of: id, at: store.historyToken()) }
    let other = try await store.write { $0.insert(Jotting.self) { $0.text = "c" }.id }
    #expect(try await store.values(of: other, at: store.historyToken())?.values == ["text": "c"])
    // What another program with the key has written.
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.execute(sql: "DELETE FROM Jotting WHERE id = \(other.rowID)")
    connection.close()
    await #expect {
      try await store.values(of: other, at: store.historyToken())
    } throws: {
      "\($0)".contains("was deleted after transaction 3 without a record")
    }
  }

  @Test func `a write reads what was committed before`() async throws {
    let id = try await store.write { $0.insert(Memo.self) { $0.title = "a" }.id }
    let token = try await store.historyToken()
    try await store.write { try $0.existing(id)?.title = "b" }
    let seen = try await store.write { context in
      try context.existing(id)?.pages = 7
      try context.save()
      return (try context.values(of: id, at: token), try context.history().count)
    }
    #expect(seen.0?.values == ["title": "a", "pages": 0] && seen.1 == 2)
  }

  @Test func `in a hierarchy only the entities with a history are recorded`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Memo.self)
        Entity(Letter.self).history()
        Entity(MemoFolder.self)
        Entity(MemoTag.self)
      })
    let store = temporary.store
    try await store.write { context in
      for type in [Memo.self, Letter.self] { context.insert(type) { $0.title = "a" } }
    }
    let token = try await store.historyToken()
    try await store.write { context in
      for memo in try context.fetch(Memo.self).all() { memo.title = "b" }
    }
    #expect(try await store.history().map(\.lines) == [["inserted Letter 2"], ["updated Letter 2: title"]])
    #expect(try await store.values(of: ObjectID<Memo>(rowID: 2), at: token)?.values["title"] == "a")
    await #expect(throws: StoreError.noHistory(entity: "Memo")) {
      try await store.values(of: ObjectID<Memo>(rowID: 1), at: token)
    }
    await #expect(throws: StoreError.self) { try await store.values(of: ObjectID<Memo>(rowID: 9), at: token) }
  }

  @Test func `a new key and a compacted file keep the history`() async throws {
    try await store.write { _ = $0.insert(Memo.self) { $0.title = "a" } }
    try await store.rekey(to: .passphrase("another"))
    try await store.write { _ = $0.insert(Memo.self) { $0.title = "b" } }
    try await store.vacuum()
    #expect(try await store.history().map(\.lines) == [["inserted Memo 1"], ["inserted Memo 2"]])
  }
}
