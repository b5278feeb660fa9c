// What changes in the objects of a context: `objectsDidChange`, and commits of others that are merged
// automatically.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ContextChangeLogs {
  private let temporary: TemporaryStore
  private let store: Store

  init() async throws {
    temporary = try await TemporaryStore(UndoModel.schema)
    store = temporary.store
  }

  /// Returns the keys of the objects in each list, and the names of changed properties.
  private func text(_ change: ContextChange?) -> String {
    func key(_ object: ManagedObject) -> String {
      switch object {
      case let folder as UndoFolder: folder.key
      case let page as UndoPage: page.key
      case let tag as UndoTag: tag.key
      case let cover as UndoCover: cover.key
      default: "?"
      }
    }
    guard let change else { return "end" }
    let updated = change.updated.map { "\(key($0))(\($1.sorted().joined(separator: " ")))" }.sorted()
    return
      "+\(change.inserted.map(key).joined(separator: ",")) ~\(updated.joined(separator: ",")) "
      + "-\(change.deleted.map { $0.state == .invalid ? "gone" : key($0) }.joined(separator: ",")) "
      + "*\(change.refreshed.map(key).sorted().joined(separator: ","))"
  }

  @Test func `an element has what was set, inserted and deleted since the one before`() async throws {
    let context = store.makeContext()
    let folder = context.insert(UndoFolder.self) { $0.key = "f" }
    let page = context.insert(UndoPage.self) { ($0.key, $0.folder) = ("p", folder) }
    let tag = context.insert(UndoTag.self) { $0.key = "t" }
    try context.save()
    var iterator = context.objectsDidChange.makeAsyncIterator()
    folder.size = 1
    folder.size = 2
    folder.key = "g"
    #expect(text(await iterator.next()) == "+ ~g(key size) - *")
    // The second write to an object with changes is told, too.
    folder.size = 3
    #expect(text(await iterator.next()) == "+ ~g(size) - *")
    let second = context.insert(UndoPage.self) { ($0.key, $0.folder) = ("q", folder) }
    second.text = "new"
    #expect(text(await iterator.next()) == "+q ~g(pages) - *")
    tag.folders.insert(folder)
    #expect(text(await iterator.next()) == "+ ~g(tags),t(folders) - *")
    folder.pages.reverse()
    #expect(text(await iterator.next()) == "+ ~g(pages) - *")
    try context.save()
    page.folder = nil
    #expect(text(await iterator.next()) == "+ ~g(pages),p(folder) - *")
    context.delete(page)
    #expect(text(await iterator.next()) == "+ ~ -p *")
    // The save deletes the second page by cascade.
    context.delete(folder)
    try context.save()
    #expect(text(await iterator.next()).contains("-gone,gone"))
    let short = context.insert(UndoTag.self) { $0.key = "short" }
    context.delete(short)
    tag.key = "u"
    #expect(text(await iterator.next()) == "+ ~u(key) - *")
    context.rollback()
    #expect(text(await iterator.next()) == "+ ~ - *t")
  }

  @Test func `what was undone in the same stretch is no deletion`() async throws {
    let context = store.makeContext()
    let (one, two) = (
      context.insert(UndoTag.self) { $0.key = "1" }, context.insert(UndoTag.self) { $0.key = "2" }
    )
    try context.save()
    var iterator = context.objectsDidChange.makeAsyncIterator()
    context.delete(one)
    context.rollback()
    #expect(text(await iterator.next()) == "+ ~ - *1")
    let short = context.insert(UndoTag.self) { $0.key = "short" }
    try context.save()
    context.delete(short)
    two.key = "3"
    #expect(text(await iterator.next()) == "+ ~3(key) - *")
    try context.save()
    context.undoManager = ContextUndoManager()
    context.delete(two)
    try context.undo()
    #expect(text(await iterator.next()) == "+ ~ - *3")
  }

  @Test func `both members that join an owner are told at the owner`() async throws {
    let context = store.makeContext()
    let folder = context.insert(UndoFolder.self) { $0.key = "f" }
    let tags = (1...2).map { number in context.insert(UndoTag.self) { $0.key = "\(number)" } }
    try context.save()
    var iterator = context.objectsDidChange.makeAsyncIterator()
    for tag in tags {
      tag.folders.insert(folder)
      #expect(text(await iterator.next()) == "+ ~\(tag.key)(folders),f(tags) - *")
    }
  }

  @Test func `a commit of another process does not settle a conflict`() async throws {
    let other = try await temporary.again()
    let (mine, theirs) = (store.makeContext(), other.makeContext())
    mine.automaticallyMergesChanges = true
    let folder = mine.insert(UndoFolder.self) { $0.key = "f" }
    try mine.save()
    let same = try theirs.fetch(UndoFolder.self).one()
    let changes = store.changes()
    folder.size = 5
    same.size = 6
    try theirs.save()
    // Waits until the commit is known.
    for await change in changes where change == .changedElsewhere { break }
    #expect(throws: StoreError.self) { try mine.save() }
    #expect(folder.size == 5)
    try mine.refresh(folder, mergeChanges: true)
    try mine.save()
    #expect(try other.makeContext().fetch(UndoFolder.self).one().size == 5)
    other.close()
  }

  @MainActor @Test func `the main context merges again after a pause`() async throws {
    let context = store.mainContext
    let folder = context.insert(UndoFolder.self) { $0.key = "f" }
    try context.save()
    let id = folder.id
    context.automaticallyMergesChanges = false
    await Task.yield()
    context.automaticallyMergesChanges = true
    await Task.yield()
    try await store.write { context in try #require(try context.existing(id)).size = 7 }
    while folder.size != 7 { await Task.yield() }
  }

  @Test func `a value that is equal to the present one is no change`() async throws {
    let context = store.makeContext()
    let tag = context.insert(UndoTag.self) { $0.key = "t" }
    try context.save()
    var iterator = context.objectsDidChange.makeAsyncIterator()
    tag.key = "t"
    let other = context.insert(UndoTag.self) { $0.key = "o" }
    #expect(text(await iterator.next()) == "+o ~ - *")
    _ = other
  }

  @Test func `with an undo manager, an undo is a change, too`() async throws {
    let context = store.makeContext()
    context.undoManager = ContextUndoManager()
    let tag = context.insert(UndoTag.self) { $0.key = "t" }
    try context.save()
    var iterator = context.objectsDidChange.makeAsyncIterator()
    tag.key = "u"
    _ = await iterator.next()
    try context.undo()
    #expect(text(await iterator.next()) == "+ ~t(key) - *")
    context.undoManager = nil
    tag.key = "v"
    #expect(text(await iterator.next()) == "+ ~v(key) - *")
  }

  @Test func `two consumers get the same elements, and setters are as before without any`() async throws {
    let context = store.makeContext()
    let tag = context.insert(UndoTag.self) { $0.key = "t" }
    do {
      var (one, two) = (
        context.objectsDidChange.makeAsyncIterator(), context.objectsDidChange.makeAsyncIterator()
      )
      tag.key = "u"
      #expect(text(await one.next()) == "+ ~u(key) - *")
      tag.key = "v"
      #expect(text(await two.next()) == "+ ~v(key) - *")
      #expect(text(await one.next()) == "+ ~v(key) - *")
    }
    tag.key = "w"
    #expect(tag.key == "w")
  }

  @Test func `the sequence ends when the context is released, and does not keep it`() async throws {
    var context: ObjectContext? = store.makeContext()
    weak let released = context
    let changes = try #require(context).objectsDidChange
    context = nil
    #expect(released == nil)
    for await _ in changes { Issue.record("an element without a context") }
  }

  @Test func `cancelling ends a wait`() async throws {
    let store = store
    let task = Task { @MainActor in
      let context = store.makeContext()
      var count = 0
      for await _ in context.objectsDidChange { count += 1 }
      return count
    }
    await Task.yield()
    task.cancel()
    #expect(await task.value == 0)
  }

  @MainActor @Test func `commits of others arrive in a loop of the main actor`() async throws {
    let context = store.mainContext
    let folder = context.insert(UndoFolder.self) { $0.key = "f" }
    try context.save()
    let (id, store) = (folder.id, store)
    let changes = context.objectsDidChange
    Task.detached {
      try await store.write { context in try #require(try context.existing(id)).size = 7 }
    }
    for await change in changes where change.refreshed.contains(folder) { break }
    #expect(folder.size == 7)
    let again = try await temporary.again()
    Task.detached {
      try await again.write { context in
        let same = try context.fetch(UndoFolder.self).one()
        same.size = 8
        context.insert(UndoPage.self) { ($0.key, $0.folder) = ("p", same) }
      }
    }
    while folder.size != 8 { await Task.yield() }
    #expect(folder.pages.map(\.key) == ["p"])
    again.close()
  }

  @Test func `a fetch, a look-up and a save merge what has arrived`() async throws {
    let (mine, theirs) = (store.makeContext(), store.makeContext())
    let folder = mine.insert(UndoFolder.self) { $0.key = "f" }
    try mine.save()
    let other = try theirs.fetch(UndoFolder.self).one()
    #expect(!mine.automaticallyMergesChanges)
    mine.automaticallyMergesChanges = true
    for round in 0..<3 {
      other.size = round + 10
      try theirs.save()
      #expect(folder.size != round + 10)
      switch round {
      case 0: #expect(try mine.fetch(UndoTag.self).count() == 0)
      case 1: try mine.save()
      default:
        let uri = try #require(folder.id.uri)
        #expect(try mine.existing(uri) === folder)
      }
      #expect(folder.size == round + 10)
    }
    // An object with changes keeps them.
    folder.key = "mine"
    other.size = 99
    try theirs.save()
    _ = try mine.fetch(UndoFolder.self).all()
    #expect(folder.key == "mine")
    mine.automaticallyMergesChanges = false
    #expect(!mine.automaticallyMergesChanges)
  }

  @Test func `own saves are not read again`() async throws {
    let context = store.makeContext()
    context.automaticallyMergesChanges = true
    let folder = context.insert(UndoFolder.self) { $0.key = "f" }
    _ = folder.pages
    for number in 0..<5 {
      context.insert(UndoPage.self) { ($0.key, $0.folder) = ("\(number)", folder) }
      try context.save()
    }
    let queries = context.statistics.queries
    #expect(folder.pages.count == 5)
    #expect(context.statistics.queries == queries)
  }
}
