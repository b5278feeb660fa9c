// Contexts whose reads see one state, until they are unpinned or save.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PinnedContexts {
  private static func fill(_ store: Store, _ names: [String]) async throws {
    try await store.write { context in
      for name in names {
        context.insert(Author.self) { author in
          author.name = name
          author.books = [context.insert(Book.self) { $0.title = "book of \(name)" }]
        }
      }
    }
  }

  private static func names(_ context: ObjectContext) throws -> [String] {
    try context.fetch(Author.self).sorted(by: \.name).values(\.name)
  }

  @Test func `every kind of read sees the pinned state, whatever is committed`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    try await Self.fill(store, ["Ann", "Bob"])
    let context = store.makeContext()
    let known = try #require(try context.fetch(Author.self).where("name == 'Ann'").first())
    try context.pin()
    #expect(context.isPinned)
    // Committed by another context, by SQL, and by another store on the file.
    try await store.write { context in
      let ann = try context.fetch(Author.self).where("name == 'Ann'").first()
      ann?.age = 99
      ann?.books = []
      try context.fetch(Author.self).where("name == 'Bob'").delete()
    }
    let other = try await temporary.again()
    try await Self.fill(other, ["Cora"])
    other.close()
    try await store.enqueue { context in _ = context.insert(Author.self) { $0.name = "Dora" } }
    #expect(try Self.names(context) == ["Ann", "Bob"])
    #expect(known.age == 30 && known.books.map(\.title) == ["book of Ann"])
    #expect(try context.fetch(Book.self).count() == 2)
    let counted = try context.rows("SELECT count(*) FROM Author").map { row -> Int in try row[0] }
    #expect(counted == [2])
    #expect(try context.fetch(Author.self).prefetch(\.books).all().allSatisfy { $0.books.count == 1 })
    #expect(try store.makeContext().fetch(Author.self).count() == 3)
    context.unpin()
    #expect(!context.isPinned)
    #expect(try Self.names(context) == ["Ann", "Cora", "Dora"])
    context.refresh(known)
    #expect(known.age == 99 && known.books.isEmpty)
  }

  @Test func `pinning again moves to the present state, also in the objects in memory`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    try await Self.fill(store, ["Ann"])
    let context = store.makeContext()
    let ann = try #require(try context.fetch(Author.self).first())
    #expect(ann.age == 30)
    try await store.write { try $0.fetch(Author.self).first()?.age = 31 }
    try context.pin()
    #expect(ann.age == 31)
    try await store.write { try $0.fetch(Author.self).first()?.age = 32 }
    #expect(ann.age == 31)
    try context.pin()
    #expect(ann.age == 32)
  }

  @Test func `a save meets the newer change of another writer, and moves the context to its own state`()
    async throws
  {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    try await Self.fill(store, ["Ann", "Bob"])
    let context = store.makeContext()
    try context.pin()
    let all = try context.fetch(Author.self).sorted(by: \.name).all()
    try await store.write { try $0.fetch(Author.self).where("name == 'Ann'").first()?.age = 50 }
    all[0].age = 40
    #expect(try context.conflicts().map(\.id.rowID) == [all[0].id.rowID])
    #expect {
      try context.save()
    } throws: { error in
      if case StoreError.conflicts(let conflicts) = error { conflicts.count == 1 } else { false }
    }
    #expect(context.isPinned)
    context.rollback()
    #expect(all[0].age == 30)
    all[1].age = 60
    context.insert(Author.self) { $0.name = "Cora" }
    try context.save()
    #expect(context.isPinned)
    #expect(try Self.names(context) == ["Ann", "Bob", "Cora"])
    #expect(all[0].age == 50)
    try context.metadata.set("seen", to: 1)
    try context.save()
    #expect(try context.metadata.value("seen", as: Int.self) == 1)
    // A bulk change and SQL move it, too.
    try context.fetch(Author.self).where("name == 'Bob'").delete()
    #expect(try Self.names(context) == ["Ann", "Cora"])
    _ = try context.execute("UPDATE Author SET age = \(1)")
    #expect(try context.fetch(Author.self).values(\.age) == [1, 1])
    #expect(context.isPinned)
  }

  @Test func `commits of others are merged once a context is unpinned`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    try await Self.fill(store, ["Ann"])
    let context = store.makeContext()
    context.automaticallyMergesChanges = true
    let ann = try #require(try context.fetch(Author.self).first())
    try context.pin()
    try await store.write { try $0.fetch(Author.self).first()?.age = 31 }
    #expect(try context.fetch(Author.self).values(\.age) == [30] && ann.age == 30)
    context.unpin()
    #expect(try context.fetch(Author.self).values(\.age) == [31] && ann.age == 31)
  }

  @Test func `a pinned context keeps a change of the key waiting, and a closed store ends it`() async throws {
    let folder = try TemporaryFolder()
    var configuration = Store.Configuration()
    configuration.busyTimeout = 0
    let store = try await Store.open(
      at: folder.url.appendingPathComponent("a.store"), key: testKey, schema: library,
      migrations: .creatingSchema, configuration: configuration)
    try await Self.fill(store, ["Ann"])
    let context = store.makeContext()
    try context.pin()
    await #expect {
      try await store.rekey(to: .named("new"))
    } throws: { error in
      if case SQLError.busy = error { true } else { false }
    }
    #expect(try Self.names(context) == ["Ann"])
    context.unpin()
    try await store.rekey(to: .named("new"))
    try context.pin()
    store.close()
    #expect(throws: SQLError.closed(file: store.url.path)) { try Self.names(context) }
    #expect(!context.isPinned)
    #expect(throws: SQLError.closed(file: store.url.path)) { try context.pin() }
  }

  @Test func `inside of a read and a write it changes nothing`() async throws {
    let temporary = try await TemporaryStore(library)
    try await Self.fill(temporary.store, ["Ann"])
    let isPinned = try await temporary.store.write { context in
      try context.pin()
      context.insert(Author.self) { $0.name = "Bob" }
      #expect(try Self.names(context) == ["Ann", "Bob"])
      return context.isPinned
    }
    #expect(!isPinned)
  }

  @Test func `random commits of others never show in a pinned context`() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let context = store.makeContext()
    var (present, pinned): (Set<String>, Set<String>?) = ([], nil)
    for number in 0..<200 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1:
        try await Self.fill(store, ["\(number)"])
        present.insert("\(number)")
      case 2:
        guard let gone = present.randomElement(using: &random) else { continue }
        try await store.enqueue { _ = try $0.fetch(Author.self).where("name == %@", gone).delete() }
        present.remove(gone)
      case 3:
        try context.pin()
        pinned = present
      case 4:
        context.unpin()
        pinned = nil
      default:
        context.insert(Author.self) { $0.name = "\(number)" }
        try context.save()
        present.insert("\(number)")
        if pinned != nil { pinned = present }
      }
      #expect(try Set(Self.names(context)) == pinned ?? present, "seed \(seed), step \(number)")
    }
  }
}
