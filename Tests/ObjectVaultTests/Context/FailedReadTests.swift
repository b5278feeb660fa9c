// A failed read leaves the object a fault, as before. The next read gets the stored values.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FailedReads {
  let temporary: TemporaryStore
  var store: Store { temporary.store }
  let context: ObjectContext
  let ann: Author
  let one: Book

  /// Ann has a passport and a book. Ann and the book are faults.
  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    ann = context.insert(Author.self) { $0.name = "Ann" }
    one = context.insert(Book.self) { $0.title = "One" }
    one.author = ann
    ann.passport = context.insert(Passport.self) { $0.number = "1" }
    try context.save()
    context.refresh(ann)
    context.refresh(one)
  }

  /// Expects these values in the file.
  private func expectInFile(title: String, author: String?, number: String?) throws {
    let other = store.makeContext()
    let (book, author) = (try other.fetch(Book.self).one(), author)
    #expect(book.title == title && book.author?.name == author)
    #expect(try other.fetch(Author.self).where("name == 'Ann'").one().passport?.number == number)
  }

  @Test func `a getter whose read failed gives the value at the next read`() throws {
    try store.whileReadsFail {
      #expect(ann.name == "" && ann.age == 0 && ann.isFault)
    }
    #expect(throws: StoreError.self) { try context.save() }
    #expect(ann.name == "Ann" && ann.age == 30 && ann.state == .loaded)
    try context.save()
  }

  @Test func `a getter that gets no file descriptor gives the value once one is available`() async throws {
    // Another read uses the open connection, so the getter needs a new one.
    let gate = DispatchSemaphore(value: 0)
    let started = AsyncStream<Void>.makeStream()
    let store = store
    let task = Task {
      defer { started.continuation.finish() }
      try await store.read { context in
        _ = try context.fetch(Book.self).count()
        started.continuation.finish()
        gate.wait()
      }
    }
    for await _ in started.stream {}
    withoutFileDescriptors {
      #expect(ann.name == "" && ann.isFault && one.title == "")
      one.title = "Two"
    }
    gate.signal()
    try await task.value
    #expect(context.faultErrors.count == 3 && !context.hasChanges, "\(context.faultErrors)")
    #expect(throws: SQLError.self) { try context.save() }
    #expect(ann.name == "Ann" && one.author === ann)
    try context.save()
    try expectInFile(title: "One", author: "Ann", number: "1")
  }

  /// Runs `body` while this process cannot open any file.
  private func withoutFileDescriptors(_ body: () -> Void) {
    #if canImport(Darwin)
      let resource = RLIMIT_NOFILE
    #else
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #endif
    var former = rlimit()
    #expect(getrlimit(resource, &former) == 0)
    defer { setrlimit(resource, &former) }
    var none = former
    none.rlim_cur = 3
    #expect(setrlimit(resource, &none) == 0)
    body()
  }

  enum Way: CaseIterable { case fetch, existing, load, toOne, prefetch, refresh }

  @Test(arguments: Way.allCases)
  func `after a failed read, every way to the row gives the object with its values`(_ way: Way) throws {
    try store.whileReadsFail { #expect(ann.name == "") }
    #expect(throws: StoreError.self) { try context.save() }
    let found: Author?
    switch way {
    case .fetch: found = try context.fetch(Author.self).where("name == 'Ann'").one()
    case .existing: found = try context.existing(ann.id)
    case .load:
      try ann.load()
      found = ann
    case .toOne: found = one.author
    case .prefetch: found = try context.fetch(Book.self).prefetch(\.author).one().author
    case .refresh:
      context.refresh(ann)
      found = ann
    }
    #expect(found === ann && found?.name == "Ann" && context.faultErrors.isEmpty)
    ann.age = 40
    try context.save()
    #expect(try store.makeContext().existing(ann.id)?.age == 40)
  }

  @Test func `a cancelled read also leaves a fault`() async throws {
    let id = ann.id
    let gate = DispatchSemaphore(value: 0)
    let started = AsyncStream<Void>.makeStream()
    let (store, told) = (store, Told())
    let task = Task {
      defer { started.continuation.finish() }
      return try await store.write { context in
        let ann = try context.existing(id)
        if let ann { context.refresh(ann) }
        started.continuation.finish()
        gate.wait()
        told.add(
          "\(ann?.name ?? "none") \(ann?.name ?? "none") \(ann?.isFault == true) \(context.faultErrors.count)"
        )
      }
    }
    for await _ in started.stream {}
    task.cancel()
    gate.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(told.texts == ["  true 1"])
  }

  @Test func `a property of an object whose row cannot be read is not set, and the next save throws`() throws
  {
    try store.whileReadsFail {
      one.title = "Two"
      one.author = nil
    }
    #expect(one.isFault && !context.hasChanges && context.faultErrors.count == 2)
    #expect(throws: StoreError.self) { try context.save() }
    try expectInFile(title: "One", author: "Ann", number: "1")
    one.title = "Two"
    try context.save()
    try expectInFile(title: "Two", author: "Ann", number: "1")
  }

  @Test func `a one-to-one is not changed at any end if a row cannot be read`() throws {
    let bob = context.insert(Author.self) { $0.name = "Bob" }
    let two = context.insert(Passport.self) { $0.number = "2" }
    bob.passport = two
    try context.save()
    // Of the four objects at the ends, Ann and her passport are not read yet.
    let other = store.makeContext()
    let (b, t) = (try #require(try other.existing(bob.id)), try #require(try other.existing(two.id)))
    let a = try #require(try other.existing(ann.id))
    let one = try #require(a.passport)
    try store.whileReadsFail {
      b.passport = one
      one.owner = b
    }
    #expect(!other.hasChanges && b.passport === t && one.owner === a)
    #expect(throws: StoreError.self) { try other.save() }
    b.passport = one
    try other.save()
    let reader = store.makeContext()
    #expect(try reader.existing(ann.id)?.passport == nil && reader.existing(bob.id)?.passport?.number == "1")
    #expect(try reader.existing(two.id)?.owner == nil)
  }

  @Test func `a member set that cannot be read is not replaced`() async throws {
    let genres = ["a", "b", "c"].map { name in context.insert(Genre.self) { $0.name = name } }
    one.genres = Set(genres[..<2])
    try context.save()
    context.refresh(one)
    #expect(one.title == "One")
    try store.whileReadsFail { one.genres = [genres[2]] }
    #expect(!context.hasChanges)
    #expect(throws: StoreError.self) { try context.save() }
    #expect(one.genres == Set(genres[..<2]))
    one.genres = [genres[2]]
    try context.save()
    let reader = store.makeContext()
    #expect(try reader.fetch(Book.self).one().genres.map(\.name) == ["c"])
    #expect(try await store.verify().isEmpty)
  }
}
