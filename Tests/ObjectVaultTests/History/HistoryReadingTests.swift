// Tokens, requests, earlier states, undo and purge of a history.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct HistoryReading {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(memoModel()) }

  /// Saves a new memo in a transaction.
  @discardableResult
  private func add(_ title: String, _ author: String? = nil, to store: Store? = nil) async throws -> ObjectID<
    Memo
  > {
    try await (store ?? self.store).write { context in
      context.author = author
      return context.insert(Memo.self) { $0.title = title }.id
    }
  }

  // MARK: Tokens

  @Test func `a reader continues after its token, in another store of the file, too`() async throws {
    try await add("a")
    let token = try await store.historyToken()
    let kept = try JSONDecoder().decode(HistoryToken.self, from: JSONEncoder().encode(token))
    #expect(kept == token)
    let other = try await temporary.again()
    try await add("b", to: other)
    try await add("c")
    for reader in [store, other] {
      #expect(
        try await reader.history(since: kept).map(\.lines) == [["inserted Memo 2"], ["inserted Memo 3"]])
      #expect(try await reader.history(since: reader.historyToken()).isEmpty)
    }
    other.close()
  }

  @Test func `a token is refused in another store, after a purge, and after an older copy was restored`()
    async throws
  {
    try await add("a")
    let first = try await store.historyToken()
    let copy = temporary.folder.url.appendingPathComponent("copy.store")
    try await store.backup(to: copy)
    try await add("b")
    let second = try await store.historyToken()
    let foreign = try await TemporaryStore(memoModel())
    await #expect(throws: StoreError.historyDiffers(file: foreign.store.url.path)) {
      try await foreign.store.history(since: first)
    }
    #expect(try await store.purgeHistory(.through(first)) == 1)
    #expect(try await store.history(since: first).map(\.lines) == [["inserted Memo 2"]])
    try await store.purgeHistory(.all)
    await #expect(throws: StoreError.historyPurged(file: store.url.path, through: 2)) {
      try await store.history(since: first)
    }
    #expect(try await store.history(since: second).isEmpty)
    #expect(try await store.historyToken() == second)
    try await add("c")
    #expect(try await store.history(since: second).map(\.token.sequence) == [3])
    // The copy has the first transaction, and then another second one.
    let restored = try await Store.open(
      at: copy, key: testKey, schema: memoModel(), migrations: .creatingSchema)
    #expect(try await restored.history(since: first).isEmpty)
    await #expect(throws: StoreError.historyDiffers(file: copy.path)) {
      try await restored.history(since: second)
    }
    try await add("another", to: restored)
    await #expect(throws: StoreError.historyDiffers(file: copy.path)) {
      try await restored.history(since: second)
    }
    restored.close()
  }

  // MARK: Requests

  @Test func `a request finds transactions by object, entity, property, author and time`() async throws {
    let (ann, bob) = (try await add("a", "Ann"), try await add("b", "Bob"))
    try await store.write { context in
      context.author = "Ann"
      let folder = context.insert(MemoFolder.self) { $0.name = "f" }
      let (first, second) = (try context.existing(ann), try context.existing(bob))
      first?.title = "a2"
      first?.folder = folder
      second?.pages = 4
      context.insert(Letter.self) { $0.recipient = "Carl" }
      if let first { context.insert(MemoTag.self) { $0.memos = [first] } }
    }
    let middle = Date()
    try await store.write { try $0.existing(bob)?.title = "b2" }
    func lines(_ request: HistoryRequest) async throws -> [[String]] {
      try await store.history(request).map(\.lines)
    }
    #expect(
      try await lines(HistoryRequest().of(ann)) == [
        ["inserted Memo 1"],
        ["updated Memo 1: folder, title", "linked MemoTag 1.memos 1", "placed MemoFolder 1.memos 1"],
      ])
    #expect(try await lines(HistoryRequest().of(Letter.self)) == [["inserted Letter 3"]])
    #expect(try await lines(HistoryRequest().of(Memo.self).newestFirst().limit(2)).map(\.count) == [1, 5])
    #expect(
      try await lines(HistoryRequest().of(bob).changing("title")) == [
        ["inserted Memo 2"], ["updated Memo 2: title"],
      ])
    #expect(try await lines(HistoryRequest().of(ann).changing("tags")) == [["linked MemoTag 1.memos 1"]])
    #expect(try await store.history(HistoryRequest().by(author: "Bob")).map(\.author) == ["Bob"])
    #expect(try await lines(HistoryRequest().from(middle)) == [["updated Memo 2: title"]])
    #expect(try await lines(HistoryRequest().before(middle)).count == 3)
    #expect(try await lines(HistoryRequest().limit(0)).isEmpty)
    let all = try await store.history()
    #expect(
      try await store.history(HistoryRequest().since(all[0].token).through(all[2].token)) == Array(all[1...2])
    )
    #expect(try await store.lastChange(of: bob, property: "title")?.token == all[3].token)
    #expect(try await store.lastChange(of: bob, property: "pages")?.author == "Ann")
    #expect(try await store.lastChange(of: ann)?.token == all[2].token)
    await #expect(throws: StoreError.noProperty(entity: "Memo", property: "titel", similar: ["title"])) {
      try await store.history(HistoryRequest().of(ann).changing("titel"))
    }
    let tag = ObjectID<MemoTag>(rowID: 1)
    #expect(
      try await lines(HistoryRequest().of(tag)) == [["inserted MemoTag 1", "linked MemoTag 1.memos 1"]])
    #expect(try await lines(HistoryRequest().of(tag).changing("memos")) == [["linked MemoTag 1.memos 1"]])
    await #expect(
      throws: StoreError.propertyMisused(
        entity: "MemoFolder", property: "letters",
        reason: "is recorded as Letter.box, its inverse; ask for changes of that")
    ) {
      try await store.history(HistoryRequest().of(MemoFolder.self).changing("letters"))
    }
    await #expect(throws: StoreError.noEntity(name: "Mem", similar: ["Memo", "MemoTag", "MemoFolder"])) {
      try await store.history(HistoryRequest().of(entity: "Mem"))
    }
  }

  @Test func `of several changes in a transaction their result counts, also for a property`() async throws {
    try await store.write { context in
      let memo = context.insert(Memo.self)
      try context.save()
      context.delete(memo)
      try context.save()
      let other = context.insert(Memo.self)
      try context.save()
      other.weight = 2
    }
    try await store.write { try $0.fetch(Memo.self).all().forEach { ($0.weight, $0.pages) = (3, 1) } }
    let found = try await store.history(HistoryRequest().of(Memo.self).changing("weight"))
    #expect(found.map(\.lines) == [["inserted Memo 2"], ["updated Memo 2: weight"]])
    // A commit whose changes cancel each other out is a transaction without changes.
    try await store.write { context in
      let memo = context.insert(Memo.self)
      try context.save()
      context.delete(memo)
    }
    let last = try #require(try await store.history().last)
    #expect(last.changes.isEmpty)
    #expect(try await store.historyToken() == last.token)
    #expect(try await store.purgeHistory(.keeping(transactions: -1)) == 0)
    #expect(try await store.purgeHistory(.keeping(transactions: 1)) == 2)
  }

  @Test func `SQL on a table is a change of each of its entities`() async throws {
    try await store.write { _ = $0.insert(Letter.self) { $0.title = "a" } }
    try await store.write { try $0.execute("UPDATE Memo SET pages = 3") }
    let found = try await store.history(HistoryRequest().of(Letter.self))
    #expect(found.map(\.lines) == [["inserted Letter 1"], ["changed by SQL: Memo"]])
    #expect(!found[1].isReversible)
  }

  @Test func `ids and transactions of another store are refused`() async throws {
    let id = try await add("a")
    let foreign = try await TemporaryStore(memoModel())
    try await add("a", to: foreign.store)
    await #expect(throws: StoreError.idOfAnotherStore(entity: "Memo", rowID: 1)) {
      try await foreign.store.lastChange(of: id)
    }
    await #expect(throws: StoreError.idOfAnotherStore(entity: "Memo", rowID: 1)) {
      try await foreign.store.values(of: id, at: foreign.store.historyToken())
    }
    let own = try await store.history()[0]
    await #expect(throws: StoreError.historyDiffers(file: foreign.store.url.path)) {
      try await foreign.store.undo(own)
    }
    #expect(try await foreign.store.read { try $0.fetch(Memo.self).count() } == 1)
    // A transaction that was read before it was purged can still be undone.
    try await add("b")
    try await store.purgeHistory(.all)
    try await store.undo(own)
    #expect(try await store.read { try $0.fetch(Memo.self).count() } == 1)
  }

  @Test(arguments: [
    "UPDATE vault_transactions SET parts = 9223372036854775807",
    "UPDATE vault_transactions SET id = 9223372036854775807",
    "UPDATE vault_transactions SET time = 9e999",
    "UPDATE vault_transactions SET version = 9223372036854775807, kind = 2",
    "UPDATE vault_transactions SET parts = -3",
    "UPDATE vault_names SET number = 9223372036854775807 WHERE number = 1",
    "UPDATE vault_names SET entity = 77", "DELETE FROM vault_names",
    "UPDATE vault_transactions SET body = zeroblob(70000)",
    "UPDATE vault_transactions SET id = -5, body = NULL",
  ])
  func `numbers that the store would not write are an error, and never a crash`(_ sql: String) async throws {
    try await add("a")
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.execute(sql: sql)
    connection.close()
    _ = try? await store.history()
    _ = try? await store.historyToken()
    _ = try? await store.values(of: ObjectID<Memo>(rowID: 1), at: store.historyToken())
    _ = try? await store.purgeHistory(.keeping(transactions: 1))
    _ = try? await add("b")
    _ = try? await store.purgeHistory(.all)
    _ = try await store.verify()
  }

  @Test func `a conflict tells who is the other side`() async throws {
    let id = try await add("a", "Ann")
    let context = store.makeContext()
    let memo = try #require(try context.existing(id))
    memo.title = "mine"
    try await store.write { context in
      context.author = "Bob"
      try context.existing(id)?.title = "theirs"
    }
    let conflict = try #require(try context.conflicts().first)
    let last = try #require(try await store.lastChange(of: conflict.id, property: "title"))
    #expect(last.author == "Bob" && last.changes.updated[0].new["title"] == "theirs")
    #expect(try await store.values(of: conflict.id, at: last.token)?.values["title"] == "theirs")
  }

  // MARK: Undo

  @Test func `a transaction is undone in another launch, and the undo is recorded`() async throws {
    let (ann, bob) = (try await add("a"), try await add("b"))
    try await store.write { context in
      context.transactionName = "Rename"
      for memo in try context.fetch(Memo.self).all() { memo.title += "!" }
      _ = context.insert(MemoTag.self) { $0.word = "new" }
    }
    try await store.write { try $0.existing(bob)?.pages = 5 }
    store.close()
    let again = try await temporary.again()
    let rename = try #require(try await again.history().first { $0.name == "Rename" })
    try await again.undo(rename, author: "Ann")
    let titles = try await again.read {
      try $0.fetch(Memo.self).sorted(by: \.title).all().map { "\($0.title)\($0.pages)" }
    }
    #expect(titles == ["a0", "b5"])
    #expect(try await again.read { try $0.fetch(MemoTag.self).count() } == 0)
    let last = try #require(try await again.history().last)
    #expect(last.name == "Undo Rename" && last.author == "Ann" && last.changes.updated.count == 2)
    // A part of a transaction: that of one object, unless it was changed since then.
    let part = try await again.history(HistoryRequest().of(bob))
    await #expect(throws: StoreError.changesDoNotFit(entity: "Memo", rowID: 2, properties: ["title"])) {
      try await again.undo(part[1])
    }
    try await again.undo(last)
    try await again.undo(
      try #require(try await again.history(HistoryRequest().of(ann).newestFirst().limit(1)).first))
    #expect(try await again.read { try $0.existing(ann)?.title } == "a")
    #expect(try await again.read { try $0.existing(bob)?.title } == "b!")
    again.close()
  }

  @Test func `the undo of an insertion at the front of an owner's members leaves their places`() async throws
  {
    let id = try await store.write { context in
      context.insert(MemoFolder.self) { folder in
        folder.name = "f"
        for number in 0..<3 { folder.memos.append(context.insert(Memo.self) { $0.title = "\(number)" }) }
      }.id
    }
    try await store.write { context in
      guard let folder = try context.existing(id) else { return }
      folder.name = "g"
      folder.memos.insert(context.insert(Memo.self) { $0.title = "first" }, at: 0)
    }
    func titles() async throws -> [String] {
      try await store.read { try $0.existing(id)?.memos.map(\.title) ?? [] }
    }
    let before = try await titles()
    let part = try #require(try await store.history(HistoryRequest().of(id)).last)
    #expect(part.lines == ["updated MemoFolder 1: name", "placed MemoFolder 1.memos 4"])
    try await store.undo(part)
    #expect(try await titles() == before && before == ["first", "0", "1", "2"])
    #expect(try await store.read { try $0.existing(id)?.name } == "f")
    let whole = try await store.history()[1]
    await #expect(throws: StoreError.self) { try await store.undo(whole) }
    let titled = try #require(try await store.history(HistoryRequest().of(Memo.self).changing("title")).last)
    #expect(!titled.isReversible)
    await #expect {
      try await store.undo(titled)
    } throws: {
      "\($0)".contains("only title was asked for; ask for the object")
    }
  }

  @Test func `the undo of a move gives back the order of members that had no places`() async throws {
    let id = try await store.write { $0.insert(MemoFolder.self) { $0.name = "f" }.id }
    try await store.write { context in
      for title in ["a", "b", "c"] {
        try context.execute(
          "INSERT INTO Memo(title, pages, folder_id, _version, _entity) VALUES (\(title), 0, 1, 1, 'Memo')")
      }
    }
    func titles() async throws -> [String] {
      try await store.read { try $0.existing(id)?.memos.map(\.title) ?? [] }
    }
    try await store.write { try $0.existing(id)?.memos.reverse() }
    #expect(try await titles() == ["c", "b", "a"])
    try await store.undo(try #require(try await store.history().last))
    #expect(try await titles() == ["a", "b", "c"])
  }

  // MARK: Earlier states

  @Test(arguments: HistoryDetail.allCases)
  func `the states of objects at each token equal those that were saved`(_ detail: HistoryDetail) async throws
  {
    let temporary = try await TemporaryStore(memoModel(detail))
    let store = temporary.store
    let seed = UInt64.random(in: 0...9999)
    var dice = Dice(seed)
    var states: [(token: HistoryToken, rows: [Int64: ChangeSet.Values])] = []
    let context = store.makeContext()
    var memos: [Memo] = []
    for round in 0..<60 {
      for _ in 0...dice.next(3) {
        let memo = dice.pick(memos)
        switch dice.next(6) {
        case 0:
          memos.append(context.insert(round % 2 == 0 ? Letter.self : Memo.self) { $0.title = "\(round)" })
        case 1: memo?.pages += 1
        case 2: memo?.weight = dice.next(2) == 0 ? nil : 1.25
        case 3: memo?.content = Data([UInt8(round)])
        case 4: memo?.title = "t\(round)"
        default:
          guard let memo else { break }
          context.delete(memo)
          memos.removeAll { $0 === memo }
        }
      }
      try context.save()
      var rows: [Int64: ChangeSet.Values] = [:]
      for memo in memos {
        var values: ChangeSet.Values = ["title": .text(memo.title), "pages": .integer(Int64(memo.pages))]
        values["weight"] = memo.weight.map { .real($0) }
        values["content"] = memo.content.map { .blob($0) }
        values["recipient"] = (memo as? Letter).map { .text($0.recipient) }
        rows[memo.id.rowID] = values
      }
      states.append((try context.historyToken(), rows))
    }
    let last = states.flatMap(\.rows.keys).max() ?? 0
    for (token, rows) in states {
      for id in 1...last {
        let row = try await store.values(of: ObjectID<Memo>(rowID: id), at: token)
        #expect(row?.values == rows[id], "seed \(seed), token \(token), memo \(id)")
      }
    }
  }

  // MARK: Purging

  @Test func `a purge keeps by count, date or size, and numbers are not used again`() async throws {
    for number in 0..<10 { try await add("memo \(number)") }
    let all = try await store.history()
    #expect(try await store.purgeHistory(.keeping(transactions: 20)) == 0)
    #expect(try await store.purgeHistory(.keeping(transactions: 8)) == 2)
    #expect(try await store.history().map(\.token) == Array(all[2...].map(\.token)))
    #expect(try await store.purgeHistory(.before(all[4].date)) == 2)
    let bytes =
      try store.rows("SELECT sum(length(body)) FROM vault_transactions WHERE id > 6")[0][0].int64 ?? 0
    #expect(try await store.purgeHistory(.keepingBytes(Int(bytes))) == 2)
    #expect(try await store.history().map(\.token.sequence) == [7, 8, 9, 10])
    await #expect(throws: StoreError.historyPurged(file: store.url.path, through: 6)) {
      try await store.purgeHistory(.through(all[0].token))
    }
    #expect(try await store.purgeHistory(.all) == 4)
    #expect(try await store.purgeHistory(.all) == 0)
    try await add("later")
    #expect(try await store.history().map(\.token.sequence) == [11])
    #expect(try await store.verify() == [])
  }

  @Test func `a purge removes all parts of a large transaction`() async throws {
    try await store.write { context in
      for number in 0..<9000 { context.insert(Memo.self) { $0.title = "a long title of memo \(number)" } }
    }
    try await add("small")
    #expect(try await store.purgeHistory(.keeping(transactions: 1)) == 1)
    #expect(try store.rows("SELECT count(*) FROM vault_transactions") == [[1]])
    try await add("another")
    let numbers = try await store.history().map(\.token.sequence)
    #expect(numbers.count == 2 && numbers[1] == numbers[0] + 1)
  }

  @Test func `a reader keeps its snapshot while transactions are purged`() async throws {
    for number in 0..<5 { try await add("memo \(number)") }
    let store = store
    let (isRead, gate) = (AsyncStream.makeStream(of: Never.self), DispatchSemaphore(value: 0))
    let reading = Task {
      defer { isRead.continuation.finish() }
      return try await store.read { context in
        let before = try context.history().count
        isRead.continuation.finish()
        gate.wait()
        return (before, try context.history().count)
      }
    }
    for await _ in isRead.stream {}
    #expect(try await store.purgeHistory(.all) == 5)
    gate.signal()
    let (before, after) = try await reading.value
    #expect(before == 5 && after == 5)
    #expect(try await store.history().isEmpty)
  }

  @Test func `verify and reads report a damaged record`() async throws {
    try await add("a")
    try await add("b")
    let id = try await store.history()[0].token.sequence
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.execute(sql: "UPDATE vault_transactions SET body = x'01ff' WHERE id = \(id)")
    connection.close()
    let damage = StoreError.bookkeepingDamaged(
      file: store.url.path, place: "vault_transactions, row 1,", reason: "cannot be read")
    await #expect(throws: damage) { try await store.history() }
    #expect(try await store.verify() == ["\(damage)"])
  }
}
