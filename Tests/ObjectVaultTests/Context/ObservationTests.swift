// Observation of objects: who has read a property learns of each change of it.

import CipherSQLite
import Foundation
import ObjectVault
import Observation
import TestSupport
import Testing

/// Whether an observer was notified.
private final class Notified: @unchecked Sendable {
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

@Suite(.tags(.random)) struct RandomObservation {
  @Test func `whenever what was read has changed, the reader was notified`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 9021)
    for round in 0..<UInt64(isTorture ? 300 : 25) {
      let script = try await ObservedScript(seed: seed &+ round)
      do { try script.run(steps: isTorture ? 300 : 80) } catch {
        Issue.record("seed \(seed &+ round): \(error)\n\(script.log.suffix(20).joined(separator: "\n"))")
        return
      }
    }
  }
}

/// Reads each object as a view of its own, makes a change, and compares.
private final class ObservedScript {
  private let temporary: TemporaryStore
  private let context: ObjectContext
  private let other: ObjectContext
  private var random: SeededGenerator
  private var keys = 0
  private(set) var log: [String] = []

  init(seed: UInt64) async throws {
    random = SeededGenerator(seed: seed)
    temporary = try await TemporaryStore(UndoModel.schema)
    context = temporary.store.makeContext()
    other = temporary.store.makeContext()
    context.undoManager = ContextUndoManager()
    context.notifiesObservers = true
    context.mergePolicy = .mergeByPropertyObjectTrump
    other.mergePolicy = .mergeByPropertyObjectTrump
    other.automaticallyMergesChanges = true
  }

  private func one<Element>(_ list: [Element]) -> Element? { list.randomElement(using: &random) }
  private func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
  private func newKey() -> String {
    keys += 1
    return "k\(keys)"
  }

  /// What a view of the object shows.
  private func text(_ object: ManagedObject) -> String {
    if object.isDeleted { return "deleted" }
    func keys(_ objects: some Sequence<ManagedObject>) -> [String] {
      objects.map { ($0 as? UndoTag)?.key ?? ($0 as? UndoPage)?.key ?? ($0 as? UndoFolder)?.key ?? "?" }
    }
    let state = "\(object.hasChanges) \(object.isInserted)"
    switch object {
    case let folder as UndoFolder:
      return "\(state) \(folder.key) \(folder.size) \(keys(folder.pages)) \(keys(folder.tags).sorted()) "
        + "\(keys(folder.marks).sorted()) \(keys(folder.list)) \(folder.cover?.key ?? "-")"
    case let page as UndoPage:
      return "\(state) \(page.key) \(page.text) \(page.folder?.key ?? "-") \(page.source?.key ?? "-")"
    case let tag as UndoTag: return "\(state) \(tag.key) \(keys(tag.folders).sorted())"
    case let cover as UndoCover: return "\(state) \(cover.key) \(cover.folder?.key ?? "-")"
    default: return state
    }
  }

  func run(steps: Int) throws {
    for _ in 0..<steps {
      let objects: [ManagedObject] =
        try context.fetch(UndoFolder.self).all() + context.fetch(UndoPage.self).all()
        + context.fetch(UndoTag.self).all() + context.fetch(UndoCover.self).all()
      var (former, notified): ([String], [Notified]) = ([], [])
      for object in objects {
        let seen = Notified()
        var read = ""
        seen.read { read = text(object) }
        former.append(read)
        notified.append(seen)
      }
      let seen = Notified()
      var hadChanges = false
      seen.read { hadChanges = context.hasChanges }
      try change()
      if context.hasChanges != hadChanges, seen.count == 0 { throw Missed(text: "hasChanges") }
      for (index, object) in objects.enumerated() where object.managedObjectContext != nil {
        let present = text(object)
        if present != former[index], notified[index].count == 0 {
          throw Missed(text: "\(former[index])\nbecame\n\(present)")
        }
      }
    }
  }

  private struct Missed: Error, CustomStringConvertible {
    let text: String
    var description: String { "nobody was notified:\n\(text)" }
  }

  private func change() throws {
    let kind = number(0..<22)
    log.append("\(kind)")
    switch kind {
    case 0, 1: try edit(context)
    case 2: do { try context.save() } catch { context.rollback() }
    case 3: context.rollback()
    case 4, 5: try? context.undo()
    case 6: try? context.redo()
    case 7, 8, 9:
      for _ in 0...number(0..<3) { try edit(other) }
      // What cannot be saved is discarded.
      do { try other.save() } catch { other.rollback() }
      if number(0..<2) == 0 { try context.refreshAll() } else { context.mergeChanges(.changedElsewhere) }
    case 10:
      let before = context.automaticallyMergesChanges
      context.automaticallyMergesChanges = !before
    case 11: if let folder = one(try context.fetch(UndoFolder.self).all()) { context.refresh(folder) }
    case 12:
      _ = try? context.execute("UPDATE UndoFolder SET size = size + 1")
    default: try edit(context)
    }
  }

  private func edit(_ context: ObjectContext) throws {
    let (folders, pages) = (try context.fetch(UndoFolder.self).all(), try context.fetch(UndoPage.self).all())
    let (tags, covers) = (try context.fetch(UndoTag.self).all(), try context.fetch(UndoCover.self).all())
    let kind = number(0..<16)
    log.append("  \(kind)\(context === other ? " elsewhere" : "")")
    switch kind {
    case 0: context.insert(UndoFolder.self) { $0.key = newKey() }
    case 1, 2:
      context.insert(UndoPage.self) { ($0.key, $0.folder, $0.source) = (newKey(), one(folders), one(tags)) }
    case 3: context.insert(UndoTag.self) { $0.key = newKey() }
    case 4: context.insert(UndoCover.self) { ($0.key, $0.folder) = (newKey(), one(folders)) }
    case 5: one(folders)?.size += 1
    case 6: one(pages)?.text = newKey()
    case 7: one(pages)?.folder = one(folders)
    case 8: one(pages)?.source = one(tags)
    case 9: if let folder = one(folders) { folder.pages = folder.pages.shuffled(using: &random) }
    case 10: one(folders)?.tags = Set(tags.filter { _ in number(0..<2) == 0 })
    case 11: one(folders)?.cover = one(covers)
    case 12: if let object = one(folders + pages as [ManagedObject]) { context.delete(object) }
    case 13: if let object = one(tags + covers as [ManagedObject]) { context.delete(object) }
    case 14: one(folders)?.list = tags.shuffled(using: &random)
    default: if let tag = one(tags) { tag.folders = Set(folders.filter { _ in number(0..<2) == 0 }) }
    }
  }
}
