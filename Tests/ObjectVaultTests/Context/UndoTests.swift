// Undo and redo, one kind of change after another. RandomUndoTests combines them.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Undo {
  private let temporary: TemporaryStore
  private let store: Store
  private let context: ObjectContext
  private let undo: ContextUndoManager
  private let shelf: UndoFolder
  private let first: UndoPage
  private let second: UndoPage

  init() async throws {
    temporary = try await TemporaryStore(UndoModel.schema)
    store = temporary.store
    context = store.makeContext()
    shelf = context.insert(UndoFolder.self) { ($0.key, $0.size) = ("shelf", 1) }
    first = context.insert(UndoPage.self) { $0.key = "first" }
    second = context.insert(UndoPage.self) { $0.key = "second" }
    shelf.pages = [first, second]
    try context.save()
    undo = ContextUndoManager()
    context.undoManager = undo
  }

  private func stored() throws -> String { try UndoModel.text(store.makeContext()) }
  private func present() throws -> String { try UndoModel.text(context) }

  @Test func `each call is a group, also the second write of one attribute`() throws {
    for size in 2...4 { shelf.size = size }
    #expect(undo.canUndo && !undo.canRedo)
    try context.undo()
    #expect(shelf.size == 3)
    try context.undo()
    try context.undo()
    #expect(shelf.size == 1 && !undo.canUndo && undo.canRedo && !context.hasChanges)
    for size in 2...4 {
      try context.redo()
      #expect(shelf.size == size)
    }
    #expect(!undo.canRedo)
    try context.undo()
    shelf.size = 9
    #expect(!undo.canRedo)
    try context.undo()
    #expect(shelf.size == 3)
    try context.redo()
    try context.redo()
    #expect(shelf.size == 9)
    try checkPending(context)
  }

  @Test func `groups have names, and may be nested`() throws {
    undo.group(named: "Rename") {
      shelf.key = "a"
      undo.group(named: "Inner") { shelf.size = 7 }
      shelf.key = "b"
    }
    undo.group { _ = () }
    #expect(undo.undoName == "Rename" && undo.undoMenuTitle == "Undo Rename" && undo.redoMenuTitle == "Redo")
    try context.undo()
    #expect(shelf.key == "shelf" && shelf.size == 1 && !undo.canUndo)
    #expect(undo.redoName == "Rename" && undo.redoMenuTitle == "Redo Rename" && undo.undoName == nil)
    try context.redo()
    #expect(shelf.key == "b" && shelf.size == 7 && undo.undoName == "Rename")
    undo.endGroup()
    undo.beginGroup(named: "Open")
    shelf.size = 8
    #expect(throws: StoreError.self) { try context.undo() }
    undo.endGroup()
    try context.undo()
    #expect(shelf.size == 7)
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try undo.group(named: "Stopped") {
        shelf.size = 11
        throw Stop()
      }
    }
    try context.undo()
    #expect(shelf.size == 7)
  }

  @Test func `a save ends a group of changes without a name`() throws {
    context.undoManager = ContextUndoManager(grouping: .bySave)
    (shelf.size, first.text) = (2, "x")
    try context.save()
    (shelf.size, first.text) = (3, "y")
    try context.undo()
    #expect(shelf.size == 2 && first.text == "x" && !context.hasChanges)
    try context.undo()
    #expect(shelf.size == 1 && first.text == "" && context.hasChanges)
    try context.save()
    try context.redo()
    try context.save()
    #expect(try stored().contains("shelf 2") && stored().contains("first x"))
  }

  @Test func `levels and bytes limit what is kept, and the latest group always is`() throws {
    context.undoManager = ContextUndoManager(levels: 2)
    for size in 2...5 { shelf.size = size }
    for _ in 0..<4 { try context.undo() }
    #expect(shelf.size == 3)
    context.undoManager = ContextUndoManager(byteLimit: 2000)
    shelf.size = 10
    let long = String(repeating: "x", count: 5000)
    first.text = long
    first.text = "short"
    try context.undo()
    #expect(first.text == long)
    try context.undo()
    #expect(first.text == long && shelf.size == 10)
  }

  @Test func `an insertion and its relationships are undone and made again`() throws {
    let new = context.insert(UndoPage.self) {
      ($0.key, $0.text) = ("new", "t")
      $0.folder = shelf
    }
    let label = context.insert(UndoTag.self) { $0.key = "label" }
    shelf.tags = [label]
    new.source = label
    let full = try present()
    for _ in 0..<4 { try context.undo() }
    #expect(shelf.pages == [first, second] && new.state == .invalid && !context.hasChanges)
    for _ in 0..<4 { try context.redo() }
    #expect(try present() == full && shelf.pages == [first, second, new] && new.state == .inserted)
    try checkPending(context)
    try context.save()
    #expect(try stored() == full)
    for _ in 0..<4 { try context.undo() }
    #expect(new.state == .deleted)
    try context.save()
    #expect(try !stored().contains("new") && !stored().contains("label"))
    let id = new.rowIDOfUndo
    for _ in 0..<4 { try context.redo() }
    try context.save()
    #expect(try stored() == full && new.id.rowID == id && new.state == .loaded)
  }

  @Test func `a deletion is undone with its cascades, links and places, before and after a save`()
    async throws
  {
    let label = context.insert(UndoTag.self) { $0.key = "label" }
    shelf.tags = [label]
    let cover = context.insert(UndoCover.self) { ($0.key, $0.folder) = ("cover", shelf) }
    first.source = label
    let other = context.insert(UndoFolder.self) { $0.key = "other" }
    try context.save()
    let full = try present()
    let ids = [shelf.id.rowID, first.id.rowID, cover.id.rowID]
    for isSaved in [false, true] {
      context.delete(shelf)
      #expect(cover.folder == nil)
      if isSaved { try context.save() }
      try context.undo()
      #expect(try present() == full && context.hasChanges == isSaved)
      try checkPending(context)
      try context.save()
      #expect(try stored() == full)
      #expect([shelf.id.rowID, first.id.rowID, cover.id.rowID] == ids)
      context.delete(label)
      #expect(first.source == nil && shelf.tags.isEmpty)
      if isSaved { try context.save() }
      try context.undo()
      try context.save()
      #expect(try stored() == full)
      try context.redo()
      try context.undo()
      #expect(!context.hasChanges, "\(isSaved) \(context.pendingChanges) \(context.insertedObjects)")
    }
    // In the middle of an order.
    let middle = context.insert(UndoPage.self) { $0.key = "middle" }
    shelf.pages.insert(middle, at: 1)
    try context.save()
    context.delete(middle)
    try context.save()
    try context.undo()
    try context.save()
    #expect(shelf.pages == [first, middle, second])
    #expect(try stored().contains("[first, middle, second]"))
    #expect(other.pages.isEmpty)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `an order and a one-to-one are undone`() throws {
    let third = context.insert(UndoPage.self) { $0.key = "third" }
    shelf.pages.append(third)
    try context.save()
    undo.removeAll()
    shelf.pages.swapAt(0, 2)
    shelf.pages.remove(at: 1)
    first.folder = nil
    #expect(shelf.pages == [third])
    for expected in [[third, first], [third, second, first], [first, second, third]] {
      try context.undo()
      #expect(shelf.pages == expected)
    }
    #expect(!context.hasChanges)
    try context.redo()
    try context.save()
    #expect(try stored().contains("[third, second, first]"))
    let (one, two) = (
      context.insert(UndoCover.self) { $0.key = "1" }, context.insert(UndoCover.self) { $0.key = "2" }
    )
    shelf.cover = one
    two.folder = shelf
    #expect(one.folder == nil && shelf.cover === two)
    try context.undo()
    #expect(one.folder === shelf && shelf.cover === one && two.folder == nil)
    try context.redo()
    #expect(shelf.cover === two)
    try checkPending(context)
  }

  @Test func `a rollback returns to what could be undone at the last save`() throws {
    shelf.size = 2
    try context.save()
    shelf.size = 3
    context.rollback()
    #expect(shelf.size == 2 && undo.canUndo && !undo.canRedo)
    try context.undo()
    #expect(shelf.size == 1)
    context.rollback()
    #expect(shelf.size == 2)
    try context.undo()
    #expect(shelf.size == 1)
    try context.save()
    context.reset()
    #expect(!undo.canUndo && !undo.canRedo)
    try context.undo()
  }

  @Test func `what others have changed is not undone without a word`() throws {
    shelf.size = 2
    first.text = "mine"
    try context.save()
    let other = store.makeContext()
    try other.existing(shelf.id)?.size = 50
    try other.save()
    context.refresh(shelf)
    try context.undo()
    #expect(first.text == "")
    #expect {
      try context.undo()
    } throws: {
      "\($0)".contains("another writer or a refresh has changed them: UndoFolder 1 (size)")
    }
    #expect(shelf.size == 50 && undo.canUndo)
    try context.undo(overwriting: true)
    #expect(shelf.size == 1 && undo.canRedo)
    // Not refreshed: the save finds the conflict.
    try other.existing(first.id)?.text = "theirs"
    try other.save()
    #expect(throws: StoreError.self) { try context.save() }
  }

  @Test func `an object that others have deleted makes an undo an error`() throws {
    first.text = "x"
    try context.save()
    let other = store.makeContext()
    try other.existing(first.id).map(other.delete)
    try other.save()
    context.refresh(first)
    #expect {
      try context.undo()
    } throws: {
      "\($0)" == "Nothing was changed. UndoPage 1 no longer exists."
    }
  }

  @Test func `changes of a save's hooks belong to the change that was saved`() throws {
    context.onWillSave = { changes, context in
      for update in changes.updated where update.entity == "UndoFolder" {
        try context.fetch(UndoFolder.self).all().forEach { $0.saves += 1 }
        _ = update
      }
    }
    shelf.size = 2
    try context.save()
    #expect(shelf.saves == 1)
    try context.undo()
    #expect(shelf.saves == 0 && shelf.size == 1 && !undo.canUndo)
  }

  @Test func `changes by name and without classes are undone`() async throws {
    try shelf.set("size", to: 12)
    shelf["key"] = "named"
    try context.undo()
    try context.undo()
    #expect(shelf.size == 1 && shelf.key == "shelf")
    let dynamic = try await Store.open(at: store.url, key: testKey)
    defer { dynamic.close() }
    let context = dynamic.makeContext()
    context.undoManager = ContextUndoManager()
    let folder = try #require(try context.fetch(entity: "UndoFolder").first())
    let page = try context.insert(entity: "UndoPage") { $0["key"] = "dynamic" }
    try folder.add(page, to: "pages")
    folder["size"] = 5
    try context.save()
    context.delete(folder)
    try context.save()
    for _ in 0..<4 { try context.undo() }
    try context.save()
    #expect(folder["size"] as Int == 1 && folder[ordered: "pages"].count == 2)
    #expect(try context.fetch(entity: "UndoPage").count() == 2)
  }

  @Test func `an undo manager belongs to one context, and a context without one records nothing`() throws {
    let other = store.makeContext()
    other.undoManager = undo
    #expect(context.undoManager == nil)
    shelf.size = 2
    #expect(!undo.canUndo)
    try context.undo()
    #expect(shelf.size == 2)
    let same = try #require(try other.existing(shelf.id))
    same.size = 3
    #expect(undo.canUndo)
    try other.undo()
    #expect(same.size == 1)
    other.undoManager = nil
    #expect(!undo.canRedo)
  }

  @Test func `an insertion whose closure throws leaves nothing to undo`() throws {
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try context.insert(UndoPage.self) {
        $0.folder = shelf
        throw Stop()
      }
    }
    #expect(!undo.canUndo && shelf.pages == [first, second])
    let read = store.makeContext()
    #expect(throws: Never.self) { try read.undo() }
  }

  @Test func `thousands of changes are undone at once`() throws {
    undo.group {
      for number in 0..<4000 { context.insert(UndoPage.self) { ($0.key, $0.folder) = ("\(number)", shelf) } }
    }
    try context.save()
    undo.group { for page in shelf.pages { page.text = "changed" } }
    context.delete(shelf)
    try context.save()
    try context.undo()
    #expect(shelf.pages.count == 4002)
    try context.undo()
    #expect(shelf.pages.allSatisfy { $0.text == "" })
    try context.undo()
    #expect(shelf.pages == [first, second])
    try context.save()
    let reader = store.makeContext()
    #expect(try reader.fetch(UndoPage.self).count() == 2)
    try checkPending(context)
  }

  @Test func `an order that was saved is written again by the save of its undo`() throws {
    shelf.pages.swapAt(0, 1)
    try context.save()
    try context.undo()
    #expect(shelf.pages == [first, second] && context.hasChanges)
    try context.save()
    #expect(try stored().contains("[first, second]"))
  }

  @Test func `a group that inserts, links and deletes one object can be undone`() throws {
    undo.group {
      let tag = context.insert(UndoTag.self) { $0.key = "t" }
      shelf.tags.insert(tag)
      shelf.list = [tag]
      context.delete(tag)
      shelf.size = 5
    }
    try context.undo()
    #expect(shelf.size == 1 && shelf.tags.isEmpty && !undo.canUndo)
    try context.redo()
    #expect(shelf.size == 5)
  }

  @Test func `references to a new object that was deleted are undone`() throws {
    let tag = context.insert(UndoTag.self) { $0.key = "t" }
    first.source = tag
    context.delete(tag)
    #expect(first.source == nil)
    try context.undo()
    #expect(first.source === tag)
    try context.save()
    #expect(try stored().contains("first  shelf t"))
  }

  @Test func `a refresh is no change of another writer`() throws {
    shelf.size = 2
    context.refresh(shelf)
    try context.undo()
    #expect(shelf.size == 1 && undo.canRedo)
    shelf.size = 7
    try context.save()
    try context.undo()
    context.refresh(shelf)
    #expect(throws: Never.self) { try context.redo() }
  }

  @Test func `a date that each save sets does not prevent an undo or a redo`() throws {
    let dated = context.insert(UndoNote.self) { $0.text = "a" }
    try context.save()
    undo.removeAll()
    dated.text = "b"
    try context.save()
    try context.undo()
    try context.save()
    try context.redo()
    #expect(dated.text == "b")
    try context.save()
    try context.undo()
    #expect(dated.text == "a")
  }

  @Test func `groups in hooks and closures belong to the group around them`() throws {
    context.insert(UndoPage.self) { page in
      page.key = "x"
      undo.group { page.text = "y" }
      page.folder = shelf
    }
    try context.undo()
    #expect(!undo.canUndo && shelf.pages == [first, second])
    context.onWillSave = { [undo, shelf] _, _ in undo.group { shelf.saves += 1 } }
    shelf.size = 4
    try context.save()
    try context.undo()
    #expect(shelf.size == 1 && shelf.saves == 0 && !undo.canUndo && undo.canRedo)
    context.onWillSave = { _, context in context.rollback() }
    shelf.size = 6
    try context.save()
    #expect(shelf.size == 4 && !context.hasChanges)
  }

  @Test func `places in orders of links are undone after a save, and pending members stay members`() throws {
    let tags = ["a", "b", "c", "d"].map { key in context.insert(UndoTag.self) { $0.key = key } }
    shelf.list = [tags[2], tags[0], tags[3], tags[1]]
    try context.save()
    let full = try stored()
    for object in [tags[3], shelf] as [ManagedObject] {
      context.delete(object)
      try context.save()
      try context.undo()
      try context.save()
      #expect(try stored() == full)
    }
    let page = context.insert(UndoPage.self) { $0.key = "pending" }
    page.folder = shelf
    context.delete(page)
    try context.undo()
    #expect(shelf.pages == [first, second, page])
    first.folder = nil
    first.folder = shelf
    context.delete(first)
    try context.undo()
    #expect(shelf.pages.contains(first) && first.folder === shelf)
    try context.save()
    #expect(try stored() == present())
    try checkPending(context)
  }

}

extension ManagedObject {
  /// The row of an object that was deleted.
  fileprivate var rowIDOfUndo: Int64 { (self as? UndoPage)?.id.rowID ?? 0 }
}
