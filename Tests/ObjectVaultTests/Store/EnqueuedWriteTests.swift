// Writes that share a transaction: what reads see, what a failure undoes, when they are committed, and what a
// crash loses.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct EnqueuedWrites {
  private struct Stop: Error {}

  /// A store whose open transaction is committed by nothing but calls, unless limits are given.
  private static func make(
    seconds: Double = 3600, count: Int = 1_000_000, _ schema: Schema = library
  ) async throws -> (store: Store, folder: TemporaryFolder) {
    let folder = try TemporaryFolder()
    var configuration = Store.Configuration()
    (configuration.enqueueInterval, configuration.enqueueLimit) = (seconds, count)
    configuration.busyTimeout = 0
    let store = try await Store.open(
      at: folder.url.appendingPathComponent("a.store"), key: testKey, schema: schema,
      migrations: .creatingSchema, configuration: configuration)
    return (store, folder)
  }

  private static func add(_ name: String, to store: Store) async throws -> ObjectID<Genre> {
    try await store.enqueue { context in context.insert(Genre.self) { $0.name = name }.id }
  }

  /// The names that another connection finds.
  private static func committed(_ shell: Connection) throws -> [String] {
    try shell.rows("SELECT name FROM Genre ORDER BY id").compactMap { $0[0].string }
  }

  @Test func `enqueued writes are committed together, by flush`() async throws {
    let (store, folder) = try await Self.make()
    let shell = try Connection.open(store.url.path, key: testKey)
    var ids: [Int64] = []
    for name in ["a", "b", "c"] {
      let id = try await Self.add(name, to: store)
      #expect(!id.isTemporary)
      ids.append(id.rowID)
    }
    let before = try Self.committed(shell)
    #expect(before.isEmpty)
    try await store.flush()
    #expect(try Self.committed(shell) == ["a", "b", "c"])
    let found = try shell.rows("SELECT id FROM Genre ORDER BY id").compactMap { $0[0].int64 }
    #expect(found == ids)
    // Without writes, flush has nothing to do.
    try await store.flush()
    store.close()
    withExtendedLifetime(folder) {}
  }

  @Test func `every kind of read sees them`() async throws {
    let (store, folder) = try await Self.make()
    let context = store.makeContext()
    func add(_ number: Int) async throws { _ = try await Self.add("genre \(number)", to: store) }
    try await add(1)
    #expect(try await store.read { try $0.fetch(Genre.self).count() } == 1)
    try await add(2)
    #expect(try context.fetch(Genre.self).count() == 2)
    try await add(3)
    let main = try await onThread { try store.readAndWait { try $0.fetch(Genre.self).count() } }
    #expect(main == 3)
    try await add(4)
    let counts = try context.rows("SELECT count(*) FROM Genre").map { row -> Int in try row[0] }
    #expect(counts == [4])
    try await add(5)
    let found = try await store.write { try $0.fetch(Genre.self).count() }
    #expect(found == 5)
    try await add(6)
    #expect(try await store.enqueue { try $0.fetch(Genre.self).count() } == 6)
    let object = try #require(try context.fetch(Genre.self).first())
    _ = try await store.enqueue { try $0.fetch(Genre.self).sorted(by: \.name).first()?.name = "renamed" }
    context.refresh(object)
    #expect(object.name == "renamed")
    store.close()
    withExtendedLifetime(folder) {}
  }

  @Test func `a failure undoes the changes of its own call alone`() async throws {
    let (store, folder) = try await Self.make()
    let shell = try Connection.open(store.url.path, key: testKey)
    _ = try await Self.add("a", to: store)
    await #expect(throws: Stop.self) {
      try await store.enqueue { context in
        context.insert(Genre.self) { $0.name = "b" }
        try context.save()
        try context.fetch(Genre.self).delete()
        throw Stop()
      }
    }
    await #expect {
      _ = try await Self.add("a", to: store)
    } throws: { error in
      if case StoreError.validation(let failures) = error {
        failures.map(\.property) == ["name"]
      } else {
        false
      }
    }
    _ = try await Self.add("c", to: store)
    let before = try Self.committed(shell)
    #expect(before.isEmpty)
    try await store.flush()
    #expect(try Self.committed(shell) == ["a", "c"])
    #expect(try await store.verify() == [])
    store.close()
    withExtendedLifetime(folder) {}
  }

  @Test func `a reference that SQL breaks fails its own call, and not the commit of all`() async throws {
    let (store, folder) = try await Self.make()
    let id = try await store.enqueue { context in
      let author = context.insert(Author.self) { $0.name = "Ann" }
      return context.insert(Book.self) { ($0.title, $0.author) = ("a", author) }.id
    }
    await #expect {
      try await store.enqueue { context in
        _ = try context.execute("UPDATE Book SET author_id = \(4711) WHERE id = \(id.rowID)")
      }
    } throws: { error in
      if case SQLError.constraint = error { true } else { false }
    }
    try await store.flush()
    #expect(try await store.read { try $0.existing(id)?.author?.name } == "Ann")
    #expect(try await store.verify() == [])
    store.close()
    withExtendedLifetime(folder) {}
  }

  @Test func `the limit of writes, the interval, and close commit them`() async throws {
    let (counted, first) = try await Self.make(count: 3)
    let shell = try Connection.open(counted.url.path, key: testKey)
    for name in ["a", "b", "c", "d"] { _ = try await Self.add(name, to: counted) }
    let limited = try Self.committed(shell)
    #expect(limited == ["a", "b", "c"])
    counted.close()
    #expect(try Self.committed(shell) == ["a", "b", "c", "d"])

    let (timed, second) = try await Self.make(seconds: 0.01)
    let changes = timed.changes()
    let id = try await Self.add("a", to: timed)
    // No call but the first one: the sequence waits for the commit.
    for await case .committed(let set) in changes {
      #expect(set.inserted.map(\.rowID) == [id.rowID])
      break
    }
    timed.close()
    withExtendedLifetime((first, second)) {}
  }

  @Test(arguments: [false, true])
  func `a body that closes the store is undone, and earlier writes are committed`(_ throwsError: Bool)
    async throws
  {
    let (store, folder) = try await Self.make()
    let shell = try Connection.open(store.url.path, key: testKey)
    _ = try await Self.add("a", to: store)
    await #expect(throws: (any Error).self) {
      try await store.enqueue { context in
        context.insert(Genre.self) { $0.name = "b" }
        try context.save()
        store.close()
        if throwsError { throw Stop() }
      }
    }
    #expect(try Self.committed(shell) == ["a"])
    // With no earlier write.
    let (second, other) = try await Self.make()
    await #expect(throws: (any Error).self) {
      try await second.enqueue { context in
        context.insert(Genre.self) { $0.name = "b" }
        second.close()
      }
    }
    #expect(try Self.committed(try Connection.open(second.url.path, key: testKey)).isEmpty)
    withExtendedLifetime((folder, other)) {}
  }

  @Test func `a live result never shows a part of the writes that were committed together`() async throws {
    let (store, folder) = try await Self.make()
    try await store.write { context in
      for number in 0..<100 { context.insert(Author.self) { ($0.name, $0.age) = ("author \(number)", 100) } }
    }
    var results = store.observe(ObjectRequest<Author>(), values: \.age).makeAsyncIterator()
    var sums = Set(try await results.next().map { [$0.values.reduce(0, +)] } ?? [])
    let writing = Task {
      for round in 0..<40 {
        for step in 0..<20 {
          try await store.enqueue { context in
            let all = try context.fetch(Author.self).sorted(by: \.name).all()
            let (one, two) = (all[(round * 7 + step * 3) % 100], all[(round * 11 + step * 5 + 1) % 100])
            guard one !== two else { return }
            one.age -= 1
            two.age += 1
          }
        }
        try await store.flush()
      }
      // The end: everyone has the same again.
      try await store.write { context in
        for author in try context.fetch(Author.self).all() { author.age = 100 }
      }
    }
    while let result = try await results.next() {
      sums.insert(result.values.reduce(0, +))
      if result.values.allSatisfy({ $0 == 100 }) { break }
    }
    try await writing.value
    #expect(sums == [10_000])
    store.close()
    withExtendedLifetime(folder) {}
  }

  @Test func `a store that is released after a flush is closed at once`() async throws {
    let (folder, url) = try await Task {
      let (store, folder) = try await Self.make()
      _ = try await Self.add("a", to: store)
      try await store.flush()
      return (folder, store.url)
    }.value
    // The last connection removes the log when it is closed. Without it, the test does not end.
    while FileManager.default.fileExists(atPath: url.path + "-wal") {
      try await Task.sleep(for: .milliseconds(5))
    }
    withExtendedLifetime(folder) {}
  }

  @Test func `a store that is released commits them when their time is over`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    func addAndRelease() async throws {
      var configuration = Store.Configuration()
      configuration.enqueueInterval = 0.05
      let store = try await Store.open(
        at: url, key: testKey, schema: library, migrations: .creatingSchema, configuration: configuration)
      _ = try await Self.add("a", to: store)
    }
    try await addAndRelease()
    let shell = try Connection.open(url.path, key: testKey)
    // Waits for the commit, however long it takes; without it, the test does not end.
    while try Self.committed(shell).isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    #expect(try Self.committed(shell) == ["a"])
  }

  @Test func `other writes come after them, in the order of the calls`() async throws {
    let (store, folder) = try await Self.make()
    let changes = store.changes()
    for number in 0..<12 {
      let author = "write \(number)"
      let body: @Sendable (ObjectContext) throws -> Void = { context in
        context.author = author
        _ = context.insert(Genre.self) { $0.name = author }
      }
      if number % 3 == 2 { try await store.write(body) } else { try await store.enqueue(body) }
    }
    try await store.flush()
    store.close()
    var authors: [String?] = []
    for await case .committed(let set) in changes { authors.append(set.author) }
    #expect(authors == (0..<12).map { "write \($0)" })
    withExtendedLifetime(folder) {}
  }

  @Test func `until the commit another writer of the file waits, and then it can write`() async throws {
    let (store, folder) = try await Self.make()
    var settings = Connection.Configuration()
    settings.busyTimeout = 0
    let other = try Connection.open(store.url.path, key: testKey, configuration: settings)
    _ = try await Self.add("a", to: store)
    #expect {
      try other.execute("DELETE FROM Genre")
    } throws: { error in
      if case SQLError.busy = error { true } else { false }
    }
    try await store.flush()
    try other.execute("UPDATE Genre SET name = 'other'")
    #expect(try await store.read { try $0.fetch(Genre.self).all().map(\.name) } == ["other"])
    // The other writer is in a transaction: the call reports it, and nothing is kept.
    try other.begin(.immediate)
    await #expect {
      _ = try await Self.add("b", to: store)
    } throws: { error in
      if case SQLError.busy = error { true } else { false }
    }
    other.rollback()
    _ = try await Self.add("c", to: store)
    try await store.flush()
    #expect(try Self.committed(other) == ["other", "c"])
    store.close()
    withExtendedLifetime(folder) {}
  }

  @Test func `a task that was cancelled before its turn enqueues nothing`() async throws {
    let (store, folder) = try await Self.make()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      _ = try await Self.add("a", to: store)
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await store.read { try $0.fetch(Genre.self).count() } == 0)
    store.close()
    await #expect(throws: SQLError.closed(file: store.url.path)) { _ = try await Self.add("b", to: store) }
    withExtendedLifetime(folder) {}
  }

  @Test func `each is a transaction of the history, with its author`() async throws {
    let folder = try TemporaryFolder()
    let text = "format: 1\n[up]\ncreate entity Memo history full {\n attribute title string\n}"
    let url = folder.url.appendingPathComponent("a.store")
    try await Store.create(
      at: url, key: testKey, migrations: MigrationSet([MigrationStep(number: 1, name: "one", text: text)]))
    let store = try await Store.open(at: url, key: testKey)
    for author in ["Ann", "Bob"] {
      try await store.enqueue { context in
        context.author = author
        _ = try context.insert(entity: "Memo") { $0["title"] = author }
      }
    }
    let history = try await store.history()
    #expect(history.map(\.author) == ["Ann", "Bob"])
    #expect(
      history.map { $0.changes.inserted.compactMap { $0.values["title"]?.string } } == [["Ann"], ["Bob"]])
    #expect(try await store.verify() == [])
    store.close()
  }

  @Test func `random writes, failures, reads and flushes leave what a list of names has`() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let (store, folder) = try await Self.make(count: 7)
    let context = store.makeContext()
    var names: [String] = []
    for number in 0..<400 {
      let name = "genre \(number)"
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        _ = try await Self.add(name, to: store)
        names.append(name)
      case 4:
        _ = try? await store.enqueue { context in
          context.insert(Genre.self) { $0.name = name }
          try context.fetch(Genre.self).delete()
          throw Stop()
        }
      case 5 where !names.isEmpty:
        let gone = names.remove(at: Int.random(in: names.indices, using: &random))
        try await store.enqueue { _ = try $0.fetch(Genre.self).where("name == %@", gone).delete() }
      case 6 where !names.isEmpty:
        let place = Int.random(in: names.indices, using: &random)
        let old = names[place]
        names[place] = name
        try await store.enqueue { try $0.fetch(Genre.self).where("name == %@", old).first()?.name = name }
      case 7:
        try await store.write { context in _ = context.insert(Genre.self) { $0.name = name } }
        names.append(name)
      case 8: try await store.flush()
      default:
        let found = try context.fetch(Genre.self).values(\.name)
        #expect(Set(found) == Set(names) && found.count == names.count, "seed \(seed), step \(number)")
      }
    }
    #expect(
      try await Set(store.read { try $0.fetch(Genre.self).values(\.name) }) == Set(names), "seed \(seed)")
    #expect(try await store.verify() == [])
    store.close()
    withExtendedLifetime(folder) {}
  }
}

@Suite(.tags(.kills, .slow), .serialized) struct EnqueuedWriteKills {
  @Test func `a kill loses whole transactions, none that was flushed, and no part of one`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let text = "format: 1\n[up]\ncreate entity Memo {\n attribute pages int\n}"
    try await Store.create(
      at: url, key: testKey, migrations: MigrationSet([MigrationStep(number: 1, name: "one", text: text)]))
    var count = 0
    for _ in 0..<killCount {
      // One line for the beginning, and one for each flush of 37 writes.
      let flushed = try runAndKillChild("enqueue", url, after: 0.001...0.1) - 1
      let store = try await Store.open(at: url, key: testKey)
      let pages = try await store.read { context in
        try context.fetch(entity: "Memo").sorted(byPath: "id").all().compactMap { $0["pages"] as Int? }
      }
      #expect(pages == Array(0..<pages.count) && pages.count % 37 == 0)
      #expect(pages.count >= count + 37 * flushed)
      count = pages.count
      #expect(try await store.verify() == [])
      store.close()
    }
    #expect(count > 0)
  }
}
