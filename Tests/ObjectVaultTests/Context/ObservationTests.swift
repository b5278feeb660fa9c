// Observation of objects: who has read a property learns of each change of it.

import CipherSQLite
import Foundation
import ObjectVault
import Observation
import TestSupport
import Testing

/// How often an observer was notified.
final class Notified: @unchecked Sendable {
  // Unchecked: the tests observe and change objects in one task.
  var count = 0
  /// Reads something as a view does, and counts the notification.
  func read(_ body: () -> Void) { withObservationTracking(body) { self.count += 1 } }
}

@Suite struct ObservedObjects {
  private let temporary: TemporaryStore
  private let store: Store
  private let context: ObjectContext
  private let folder: UndoFolder
  private let page: UndoPage
  private let tag: UndoTag

  init() async throws {
    temporary = try await TemporaryStore(UndoModel.schema)
    store = temporary.store
    context = store.makeContext()
    context.notifiesObservers = true
    let folder = context.insert(UndoFolder.self) { $0.key = "f" }
    self.folder = folder
    page = context.insert(UndoPage.self) { ($0.key, $0.folder) = ("p", folder) }
    tag = context.insert(UndoTag.self) { $0.key = "t" }
    try context.save()
  }

  /// Returns how often those are notified who read something once, when a change is made.
  private func count(reading: () -> Void, _ change: () throws -> Void) rethrows -> Int {
    let notified = Notified()
    notified.read(reading)
    try change()
    return notified.count
  }

  @Test func `a setter notifies those who have read the property, once and before it writes`() {
    let seen = Notified()
    let read = UncheckedBox { [folder] in seen.count = 10 + folder.size }
    withObservationTracking {
      _ = folder.size
    } onChange: {
      read.value()
    }
    folder.size = 5
    #expect(seen.count == 10)
    folder.size = 6
    #expect(seen.count == 10)
    #expect(count(reading: { _ = folder.size }, { folder.size = 7 }) == 1)
  }

  @Test func `other properties and other objects notify nobody`() throws {
    let other = context.insert(UndoFolder.self) { $0.key = "g" }
    let notified = count(reading: { _ = folder.size }) {
      folder.key = "h"
      other.size = 9
      page.text = "new"
    }
    #expect(notified == 0)
    try context.save()
    // The row has the value already.
    #expect(count(reading: { _ = folder.size }, { folder.size = 0 }) == 0)
  }

  @Test func `relationships notify at both ends`() {
    #expect(count(reading: { _ = folder.pages }, { page.folder = nil }) == 1)
    #expect(count(reading: { _ = page.folder }, { folder.pages = [page] }) == 1)
    #expect(count(reading: { _ = tag.folders }, { folder.tags.insert(tag) }) == 1)
    #expect(count(reading: { _ = folder.tags }, { tag.folders = [] }) == 1)
    #expect(count(reading: { _ = folder.pages.count }, { context.delete(page) }) == 1)
  }

  @Test func `a deletion notifies those who have read the to-one or any to-many with the object`() throws {
    #expect(count(reading: { _ = page.folder?.key }, { context.delete(folder) }) == 1)
    context.rollback()
    folder.tags = [tag]
    try context.save()
    let cold = store.makeContext()
    cold.notifiesObservers = true
    let read = try #require(try cold.fetch(UndoFolder.self).first())
    #expect(read.tags.count == 1)
    let notified = Notified()
    notified.read { _ = read.tags }
    let gone = try #require(try cold.fetch(UndoTag.self).first())
    cold.delete(gone)
    #expect(notified.count == 1)
    #expect(read.tags.isEmpty)
  }

  @Test func `access by name and without a class is observed, too`() throws {
    #expect(count(reading: { _ = folder["size"] as Int }, { folder["size"] = 1 }) == 1)
    #expect(
      try count(reading: { _ = try? folder.value("size") }, { try folder.set("size", to: 2) }) == 1)
    #expect(count(reading: { _ = folder.snapshot() }, { folder.size = 3 }) == 1)
  }

  @Test func `objects without classes notify`() async throws {
    try context.save()
    let dynamic = try await Store.open(at: store.url, key: testKey)
    let other = dynamic.makeContext()
    other.notifiesObservers = true
    let page = try #require(try other.fetch(entity: "UndoPage").first())
    let folder = try #require(page[toOne: "folder"])
    #expect(count(reading: { _ = page["text"] as String }, { page["text"] = "a" }) == 1)
    #expect(count(reading: { _ = page[toOne: "folder"] }, { page[toOne: "folder"] = nil }) == 1)
    #expect(count(reading: { _ = folder[ordered: "pages"] }, { page[toOne: "folder"] = folder }) == 1)
    dynamic.close()
  }

  @Test func `the state of objects and of the context is observed`() throws {
    #expect(count(reading: { _ = folder.hasChanges }, { folder.size = 1 }) == 1)
    // The context has changes already.
    #expect(count(reading: { _ = context.hasChanges }, { folder.size = 2 }) == 0)
    #expect(try count(reading: { _ = folder.isUpdated }, { try context.save() }) == 1)
    folder.size = 3
    #expect(try count(reading: { _ = context.hasChanges }, { try context.save() }) == 1)
    #expect(count(reading: { _ = folder.isDeleted }, { context.delete(folder) }) == 1)
    #expect(count(reading: { _ = context.hasChanges }, { context.rollback() }) == 1)
    #expect(try count(reading: { _ = context.hasChanges }, { try context.metadata.set("a", to: 1) }) == 1)
  }

  @Test func `what others commit notifies after it was merged`() throws {
    let other = store.makeContext()
    let copy = try #require(try other.fetch(UndoFolder.self).first())
    context.automaticallyMergesChanges = true
    let notified = Notified()
    notified.read { _ = (folder.size, folder.pages) }
    copy.size = 8
    other.insert(UndoPage.self) { ($0.key, $0.folder) = ("q", copy) }
    try other.save()
    #expect(notified.count == 0)
    _ = try context.fetch(UndoTag.self).count()
    #expect(notified.count == 1)
    #expect((folder.size, folder.pages.count) == (8, 2))
  }

  @Test func `an observer may read, and write, when it is notified`() throws {
    let (folder, page, context) = (folder, page, context)
    func change(_ action: @escaping () -> Void, by body: () throws -> Void) rethrows {
      let box = UncheckedBox(action)
      withObservationTracking {
        _ = (folder.size, folder.pages, page.folder, page.text, context.hasChanges)
      } onChange: {
        box.value()
      }
      try body()
    }
    change({ folder.size = 50 }, by: { folder.size = 1 })
    #expect(folder.size == 1)
    change({ page.text = "observer" }, by: { folder.size = 2 })
    #expect((folder.size, page.text) == (2, "observer"))
    change({ folder.key = "first" }, by: { folder.size = 3 })
    #expect((folder.size, folder.key) == (3, "first"))
    change({ _ = (folder.pages.count, page.folder) }, by: { context.rollback() })
    change({ folder.key = "in rollback" }, by: { page.folder = nil })
    try change({ _ = try? context.fetch(UndoFolder.self).all() }, by: { try context.save() })
    change({ context.rollback() }, by: { folder.size = 4 })
    change({ context.delete(page) }, by: { page.folder = folder })
    try context.save()
    #expect(try store.makeContext().fetch(UndoPage.self).count() == 0)
    #expect(context.faultErrors.isEmpty)
  }

  @Test func `the setter of a relationship notifies when both ends are written`() throws {
    let (folder, page) = (folder, page)
    let (second, third) = (
      context.insert(UndoFolder.self) { $0.key = "second" },
      context.insert(UndoFolder.self) { $0.key = "third" }
    )
    let write = UncheckedBox { page.folder = third }
    withObservationTracking {
      _ = page.folder
    } onChange: {
      write.value()
    }
    page.folder = second
    #expect(page.folder === third && third.pages == [page] && second.pages.isEmpty && folder.pages.isEmpty)
    let rollback = UncheckedBox { [context] in context.rollback() }
    let new = context.insert(UndoFolder.self) { $0.key = "new" }
    withObservationTracking {
      _ = page.folder
    } onChange: {
      rollback.value()
    }
    page.folder = new
    #expect(page.folder === folder && folder.pages == [page] && !context.hasChanges)
    try context.save()
    let other = store.makeContext()
    #expect(try other.fetch(UndoPage.self).one().folder?.key == "f")
  }

  @Test func `an observer that begins anew and writes the same value ends`() {
    let notified = Notified()
    let (folder, context) = (folder, context)
    func begin() {
      let again = UncheckedBox {
        notified.count += 1
        if notified.count < 100 { begin() }
        folder.key = "fixed"
      }
      withObservationTracking {
        _ = (folder.size, context.hasChanges)
      } onChange: {
        again.value()
      }
    }
    begin()
    folder.size = 5
    #expect(notified.count < 10)
  }

  @Test func `ids, reverted relationships and restored partners notify`() throws {
    let cover = context.insert(UndoCover.self) { ($0.key, $0.folder) = ("c", folder) }
    let other = context.insert(UndoFolder.self) { $0.key = "g" }
    try context.save()
    #expect(count(reading: { _ = try? folder.objectIDs(for: \.tags) }, { folder.tags.insert(tag) }) == 1)
    page.folder = other
    #expect(count(reading: { _ = folder.pages }, { context.refresh(page) }) == 1)
    page.folder = other
    #expect(count(reading: { _ = other.pages }, { context.refresh(page) }) == 1)
    cover.folder = other
    #expect(count(reading: { _ = folder.cover }, { context.refresh(cover) }) == 1)
    context.undoManager = ContextUndoManager()
    context.delete(cover)
    #expect(folder.cover == nil)
    #expect(try count(reading: { _ = folder.cover }, { try context.undo() }) == 1)
    #expect(folder.cover === cover)
    // A deletion of another class is no change.
    #expect(count(reading: { _ = folder.tags }, { context.delete(cover) }) == 0)
    context.notifiesObservers = false
    context.notifiesObservers = true
    #expect(count(reading: { _ = context.hasChanges }, { context.notifiesObservers = false }) == 1)
  }

  @Test func `SQL notifies after it has ended, of rows, of members and of deletions`() throws {
    let (folder, page, store) = (folder, page, store)
    let (rows, members, gone) = (Notified(), Notified(), Notified())
    rows.read { _ = folder.size }
    members.read { _ = folder.pages }
    gone.read { _ = page.text }
    // An observer may write in a transaction of its own.
    let write = UncheckedBox {
      #expect(folder.size == 9 && folder.pages == [page])
      folder.key = "observer"
      do { try folder.managedObjectContext?.save() } catch { Issue.record(error) }
    }
    withObservationTracking {
      _ = folder.size
    } onChange: {
      write.value()
    }
    try context.execute("UPDATE UndoFolder SET size = 9")
    #expect(rows.count == 1)
    #expect(try store.makeContext().fetch(UndoFolder.self).one().key == "observer")
    members.read { _ = folder.pages }
    members.count = 0
    try context.execute("DELETE FROM UndoPage")
    #expect(members.count == 1 && gone.count == 1 && folder.pages.isEmpty)
  }

  @Test func `what was deleted and is restored notifies those who have read it in between`() throws {
    context.undoManager = ContextUndoManager()
    context.delete(page)
    try context.save()
    #expect(page.objectState == .invalid)
    #expect(try count(reading: { _ = page.hasChanges }, { try context.undo() }) == 1)
    #expect(page.isInserted && page.key == "p")
    try context.save()
    context.delete(page)
    try context.save()
    #expect(try count(reading: { _ = page.text }, { try context.undo() }) == 1)
  }

  @Test func `a row that a getter finds missing notifies at once`() throws {
    let other = store.makeContext()
    try other.existing(page.id).map(other.delete)
    try other.save()
    context.refresh(page)
    let notified = Notified()
    notified.read { _ = page.isUpdated }
    _ = page.text
    #expect(notified.count == 1)
    #expect(page.objectState == .invalid)
  }

  @Test func `a row that exists again notifies, also with the version that it had`() throws {
    let other = store.makeContext()
    let copy = try #require(try other.existing(page.id))
    other.delete(copy)
    try other.save()
    context.refresh(page)
    _ = page.text
    #expect(page.objectState == .invalid)
    try store.insertAgain(page.id.rowID)
    let notified = Notified()
    notified.read { _ = page.text }
    _ = try context.fetch(UndoPage.self).all()
    #expect(notified.count == 1 && page.objectState == .loaded)
  }

  @Test func `many changes of one call notify an observer once`() throws {
    let pages = (0..<500).map { number in context.insert(UndoPage.self) { $0.key = "\(number)" } }
    var notified = 0
    func begin() {
      let again = UncheckedBox {
        notified += 1
        begin()
      }
      withObservationTracking {
        _ = folder.pages
      } onChange: {
        again.value()
      }
    }
    begin()
    folder.pages = pages
    #expect(notified == 1)
  }

  @Test func `without the setting nothing is notified, and it can be switched off`() {
    context.notifiesObservers = false
    #expect(count(reading: { _ = folder.size }, { folder.size = 1 }) == 0)
    context.notifiesObservers = true
    #expect(count(reading: { _ = folder.size }, { folder.size = 2 }) == 1)
    let plain = store.makeContext()
    #expect(!plain.notifiesObservers)
  }

  @Test @MainActor func `the context of the main actor and its scratch contexts notify`() async throws {
    let main = store.mainContext
    let read = try #require(try main.fetch(UndoFolder.self).first())
    let notified = Notified()
    notified.read { _ = read.size }
    let id = folder.id
    try await store.write { try $0.object(with: id).size = 77 }
    for _ in 0..<2_000 where notified.count == 0 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(notified.count == 1)
    #expect(read.size == 77)
    let scratch = try main.makeScratch()
    let copy = try scratch.object(with: id)
    #expect(scratch.notifiesObservers)
    notified.read { _ = read.size }
    copy.size = 78
    #expect(notified.count == 1)
    try main.takeChanges(of: scratch)
    #expect(notified.count == 2)
  }

  @Test func `an object that is gone, and a context that is gone, are no trap`() throws {
    var context: ObjectContext? = store.makeContext()
    context?.notifiesObservers = true
    let read = try #require(try context?.fetch(UndoFolder.self).first())
    let notified = Notified()
    notified.read { _ = (read.size, read.pages, read.hasChanges) }
    context = nil
    notified.read { _ = (read.size, read.hasChanges) }
    #expect(read.key == "f")
  }
}

/// A value that a closure of Observation captures.
private struct UncheckedBox: @unchecked Sendable {
  // Unchecked: the tests observe and change objects in one task.
  let value: () -> Void
  init(_ value: @escaping () -> Void) { self.value = value }
}

extension Store {
  /// Inserts a page with the id and the version of one that was deleted, as another program may do.
  fileprivate func insertAgain(_ id: Int64) throws {
    let connection = try Connection.open(url.path, key: testKey)
    try connection.execute(
      "INSERT INTO UndoPage(id, key, text, _version) VALUES (\(id), 'again', '', 1)")
    connection.close()
  }
}
