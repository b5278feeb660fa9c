// Commits of other contexts in the objects that are in memory.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct MergedCommits {
  private let temporary: TemporaryStore
  private let store: Store

  init() async throws {
    temporary = try await TemporaryStore(UndoModel.schema)
    store = temporary.store
  }

  @Test(arguments: [false, true])
  func `random commits appear in all objects of another context`(isAutomatic: Bool) async throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 907)
    var random = SeededGenerator(seed: seed)
    let (writer, reader) = (store.makeContext(), store.makeContext())
    let changes = store.changes()
    reader.automaticallyMergesChanges = isAutomatic
    var kept: [ManagedObject] = []
    for round in 0..<(isTorture ? 2000 : 80) {
      try change(writer, &random, round)
      try writer.save()
      if isAutomatic {
        _ = try reader.fetch(UndoNote.self).count()
      } else {
        for change in changes.takeUndelivered() { reader.mergeChanges(change) }
      }
      // Everything in memory, first without a fetch, which would read the rows again.
      let folders = kept.compactMap { $0 as? UndoFolder }.filter { $0.state != .invalid }
      let same = try writer.fetch(UndoFolder.self).all()
      for folder in folders where folder.managedObjectContext != nil {
        let other = try #require(same.first { $0.id == folder.id }, "seed \(seed), round \(round)")
        #expect(
          folder.size == other.size && folder.pages.map(\.key) == other.pages.map(\.key)
            && Set(folder.tags.map(\.key)) == Set(other.tags.map(\.key))
            && folder.cover?.key == other.cover?.key, "seed \(seed), round \(round)")
      }
      #expect(try UndoModel.text(reader) == UndoModel.text(writer), "seed \(seed), round \(round)")
      kept = reader.registeredObjects
      #expect(reader.faultErrors.isEmpty)
      try checkPending(reader)
    }
  }

  private func change(_ context: ObjectContext, _ random: inout SeededGenerator, _ round: Int) throws {
    for step in 0..<4 {
      let folders = try context.fetch(UndoFolder.self).all()
      let (pages, tags) = (try context.fetch(UndoPage.self).all(), try context.fetch(UndoTag.self).all())
      let covers = try context.fetch(UndoCover.self).all()
      let folder = folders.randomElement(using: &random)
      let key = "\(round).\(step)"
      switch Int.random(in: 0..<10, using: &random) {
      case 0: context.insert(UndoFolder.self) { $0.key = key }
      case 1, 2: context.insert(UndoPage.self) { ($0.key, $0.folder) = (key, folder) }
      case 3: context.insert(UndoTag.self) { $0.key = key }
      case 4: context.insert(UndoCover.self) { ($0.key, $0.folder) = (key, folder) }
      case 5: folder?.size += 1
      case 6: pages.randomElement(using: &random)?.folder = folder
      case 7: folder?.pages.shuffle(using: &random)
      case 8: folder?.tags = Set(tags.prefix(Int.random(in: 0...5, using: &random)))
      default:
        let all: [ManagedObject] = folders + pages + tags + covers
        if let object = all.randomElement(using: &random) { context.delete(object) }
      }
    }
  }

  @Test func `pending changes stay, and their save meets the conflict`() async throws {
    let (mine, theirs) = (store.makeContext(), store.makeContext())
    let folder = mine.insert(UndoFolder.self) { $0.key = "f" }
    let page = mine.insert(UndoPage.self) { ($0.key, $0.folder) = ("p", folder) }
    try mine.save()
    let changes = store.changes()
    #expect(folder.pages == [page])
    folder.size = 5
    let other = try #require(try theirs.existing(folder.id))
    other.size = 6
    theirs.insert(UndoPage.self) { ($0.key, $0.folder) = ("q", other) }
    try theirs.existing(page.id)?.text = "new"
    try theirs.save()
    for change in changes.takeUndelivered() { mine.mergeChanges(change) }
    #expect(folder.size == 5 && page.text == "new" && folder.pages.map(\.key) == ["p", "q"])
    #expect(throws: StoreError.self) { try mine.save() }
    mine.mergePolicy = .mergeByPropertyStoreTrump
    try mine.save()
    #expect(folder.size == 6)
    try theirs.existing(page.id).map(theirs.delete)
    try theirs.save()
    try await store.write { try $0.execute("UPDATE UndoFolder SET size = 9") }
    for change in changes.takeUndelivered() { mine.mergeChanges(change) }
    #expect(page.state == .invalid && page.text == "new" && folder.size == 9 && folder.pages.count == 1)
    mine.mergeChanges(.missed(commits: 3))
    #expect(folder.size == 9)
  }

  @MainActor @Test func `the context of the main actor shows commits by itself`() async throws {
    let context = store.mainContext
    #expect(store.mainContext === context)
    let folder = context.insert(UndoFolder.self) { $0.key = "f" }
    try context.save()
    let id = folder.id
    try await store.write { context in
      let same = try #require(try context.existing(id))
      same.size = 42
      context.insert(UndoPage.self) { ($0.key, $0.folder) = ("p", same) }
    }
    // Ends when the commit arrives, however busy the machine is.
    while folder.size != 42 || folder.pages.isEmpty { await Task.yield() }
    #expect(folder.pages.map(\.key) == ["p"])
  }

  @MainActor @Test func `a store with a main context is released`() async throws {
    weak var released: ObjectContext?
    do {
      let own = try await TemporaryStore(UndoModel.schema)
      released = own.store.mainContext
      #expect(released != nil)
    }
    while released != nil { await Task.yield() }
  }
}
