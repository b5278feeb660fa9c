// Deletions of new objects that a delete rule denies: they wait as those of saved objects do, and go when they are put right.

import ObjectVault
import TestSupport
import Testing

@Suite struct DeniedNewDeletions {
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(
      Schema {
        Entity(Binder.self)
        Entity(Leaf.self)
        Entity(Tack.self)
      })
  }

  /// How many binders, leaves and tacks are in the file.
  private func counts() throws -> [Int] {
    let context = store.makeContext()
    return [
      try context.fetch(Binder.self).count(), try context.fetch(Leaf.self).count(),
      try context.fetch(Tack.self).count(),
    ]
  }

  private func isDenied(_ error: any Error) -> Bool {
    if case StoreError.deleteDenied(entity: "Leaf", rowID: _, property: "tacks", count: 1) = error {
      true
    } else {
      false
    }
  }

  @Test func `one that is put right before the save is carried out`() throws {
    let context = store.makeContext()
    let leaf = context.insert(Leaf.self)
    let tack = context.insert(Tack.self) { $0.leaf = leaf }
    context.delete(leaf)
    #expect(leaf.state == .inserted && tack.leaf == leaf && context.faultErrors.isEmpty)
    context.delete(tack)
    try context.save()
    #expect(leaf.state == .invalid)
    #expect(try counts() == [0, 0, 0])
  }

  @Test func `the save throws until it is put right, and saves nothing`() throws {
    let context = store.makeContext()
    let leaf = context.insert(Leaf.self)
    let tack = context.insert(Tack.self) { $0.leaf = leaf }
    context.delete(leaf)
    for _ in 0..<2 { #expect { try context.save() } throws: { isDenied($0) } }
    #expect(try counts() == [0, 0, 0])
    tack.leaf = context.insert(Leaf.self)
    try context.save()
    #expect(leaf.state == .invalid)
    #expect(try counts() == [0, 1, 1])
  }

  @Test func `what would go along stays as it is`() throws {
    let context = store.makeContext()
    let binder = context.insert(Binder.self)
    let leaves = (0..<4).map { _ in context.insert(Leaf.self) { $0.binder = binder } }
    let tack = context.insert(Tack.self) { $0.leaf = leaves[1] }
    context.delete(binder)
    #expect(binder.state == .inserted && leaves.allSatisfy { $0.state == .inserted && $0.binder == binder })
    #expect { try context.save() } throws: { isDenied($0) }
    tack.leaf = nil
    try context.save()
    #expect(([binder] + leaves).allSatisfy { $0.state == .invalid })
    #expect(try counts() == [0, 0, 1])
  }

  @Test func `one that goes by itself before the save is not tried again`() throws {
    let context = store.makeContext()
    let binder = context.insert(Binder.self)
    let leaf = context.insert(Leaf.self)
    let tack = context.insert(Tack.self) { $0.leaf = leaf }
    for _ in 0..<2 { context.delete(leaf) }
    (tack.leaf, leaf.binder) = (nil, binder)
    context.delete(binder)
    #expect(leaf.state == .invalid)
    for _ in 0..<2 { try context.save() }
    #expect(try context.faultErrors.isEmpty && counts() == [0, 0, 1])
  }

  @Test func `a rollback forgets it`() throws {
    let context = store.makeContext()
    let leaf = context.insert(Leaf.self)
    context.insert(Tack.self).leaf = leaf
    context.delete(leaf)
    context.rollback()
    context.insert(Leaf.self)
    try context.save()
    #expect(try counts() == [0, 1, 0])
  }

  @Test(arguments: [[], [0], [1], [0, 1], [0, 1, 2]])
  func `in a write it goes, whatever was fetched on the way`(_ fetches: Set<Int>) async throws {
    for way in 0..<3 {
      try await store.write { context in
        for object in try context.fetch(Tack.self).all() { context.delete(object) }
        try context.save()
        for object in try context.fetch(Leaf.self).all() { context.delete(object) }
        try context.save()
        let other = context.insert(Leaf.self)
        let leaf = context.insert(Leaf.self)
        let tack = context.insert(Tack.self) { $0.leaf = leaf }
        if fetches.contains(0) { _ = try context.fetch(Tack.self).count() }
        context.delete(leaf)
        if fetches.contains(1) { _ = try context.fetch(Leaf.self).count() }
        switch way {
        case 0: tack.leaf = other
        case 1: context.delete(tack)
        default: tack.leaf = nil
        }
        if fetches.contains(2) { #expect(try context.fetch(Leaf.self).all() == [other]) }
      }
      #expect(try counts() == [0, 1, way == 1 ? 0 : 1], "\(way)")
    }
    await #expect {
      try await store.write { context in
        let leaf = context.insert(Leaf.self)
        context.insert(Tack.self).leaf = leaf
        context.delete(leaf)
        if !fetches.isEmpty { _ = try context.fetch(Leaf.self).count() }
      }
    } throws: { isDenied($0) }
  }
}
