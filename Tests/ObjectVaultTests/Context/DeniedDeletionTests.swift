// Denied deletions of new objects: like those of saved objects, they stay pending until nothing denies
// them.

import ObjectVault
import TestSupport
import Testing

@Suite struct DeniedNewDeletions {
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(binders)
  }

  /// The numbers of binders, leaves and tacks in the file.
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

  @Test func `a save carries out a denied deletion once nothing denies it`() throws {
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

  @Test func `the save throws and writes nothing while a deletion is denied`() throws {
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

  @Test func `the cascade of a denied deletion deletes nothing until nothing denies it`() throws {
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

  @Test func `a denied object that a cascade deletes before the save is not deleted again`() throws {
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

  @Test func `a rollback discards a denied deletion`() throws {
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
  func `a write carries out a denied deletion, whatever is fetched before`(_ fetches: Set<Int>) async throws {
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
        if fetches.contains(2) { #expect(try context.fetch(Leaf.self).count() == 2) }
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

  @Test func `the error of a denied deletion names a new object by its assigned id`() async throws {
    try await store.write { context in
      let binder = context.insert(Binder.self)
      try context.save()
      let leaf = context.insert(Leaf.self) { $0.binder = binder }
      let tack = context.insert(Tack.self) { $0.leaf = leaf }
      let id = leaf.id.rowID
      context.delete(binder)
      #expect(throws: StoreError.deleteDenied(entity: "Leaf", rowID: id, property: "tacks", count: 1)) {
        try context.save()
      }
      context.delete(tack)
    }
    #expect(try counts() == [0, 0, 0])
  }
}

/// Objects that deny each other's deletion.
@Suite struct DeniedChains {
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(
      Schema {
        Entity(Shackle.self)
        Entity(Left.self)
        Entity(Right.self)
        Entity(Topic.self)
        Entity(Essay.self)
        Entity(Wrapper.self)
        Entity(Ream.self)
      })
  }

  /// New objects, each of which refers to the one before it and so denies its deletion.
  private func chain(_ count: Int, in context: ObjectContext) -> [Shackle] {
    var hooks: [Shackle] = []
    for number in 0..<count {
      hooks.append(
        context.insert(Shackle.self) {
          $0.number = number
          $0.above = hooks.last
        })
    }
    return hooks
  }

  private func count<Object: ManagedObject>(_ type: Object.Type) throws -> Int {
    try store.makeContext().fetch(type).count()
  }

  @Test(arguments: [2, 3, 4, 5, 40], [true, false])
  func `one save deletes a chain of objects that was deleted from the top`(_ count: Int, _ isFetched: Bool)
    async throws
  {
    let context = store.makeContext()
    let hooks = chain(count, in: context)
    for hook in hooks { context.delete(hook) }
    #expect(hooks.last?.state == .invalid)
    try context.save()
    #expect(hooks.allSatisfy { $0.state == .invalid } && !context.hasChanges)
    #expect(try self.count(Shackle.self) == 0)
    try await store.write { context in
      for (index, hook) in chain(count, in: context).enumerated() {
        context.delete(hook)
        if isFetched, index == count / 2 { _ = try context.fetch(Shackle.self).count() }
      }
    }
    #expect(try self.count(Shackle.self) == 0)
  }

  @Test func `a chain stays while its last object stays, and a part that is cut off is deleted`() throws {
    let context = store.makeContext()
    let hooks = chain(5, in: context)
    for hook in hooks[..<4] { context.delete(hook) }
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.deleteDenied(entity: "Shackle", rowID: _, property: "below", count: 1) = error
      else {
        return false
      }
      return true
    }
    #expect(hooks.allSatisfy { $0.state == .inserted })
    hooks[2].above = nil
    #expect(throws: StoreError.self) { try context.save() }
    // The first two form a chain of their own, and no other object refers to them.
    #expect(hooks.map { $0.state == .invalid } == [true, true, false, false, false])
    hooks[4].above = nil
    try context.save()
    #expect(try context.fetch(Shackle.self).all() == [hooks[4]])
    #expect(try count(Shackle.self) == 1)
  }

  @Test(arguments: [true, false])
  func `two objects that deny each other's deletion are deleted together`(_ isSaved: Bool) throws {
    let context = store.makeContext()
    let left = context.insert(Left.self)
    let right = context.insert(Right.self) { $0.left = left }
    if isSaved { try context.save() }
    context.delete(left)
    context.delete(right)
    try context.save()
    #expect(try count(Left.self) == 0 && count(Right.self) == 0)
  }

  @Test func `a fetch in a write does not throw because of a denied deletion`() async throws {
    for isPutRight in [true, false] {
      let work: @Sendable (ObjectContext) throws -> Void = { context in
        let upper = context.insert(Shackle.self)
        let lower = context.insert(Shackle.self) { $0.above = upper }
        context.delete(upper)
        for number in 1...3 {
          _ = try context.fetch(Shackle.self).count()
          lower.number = number
        }
        #expect(try context.fetch(Shackle.self).where("number == 3").all().contains(lower))
        if isPutRight { lower.above = nil }
      }
      if isPutRight {
        try await store.write(work)
        #expect(try store.makeContext().fetch(Shackle.self).all().map(\.number) == [3])
      } else {
        await #expect(throws: StoreError.self) { try await store.write(work) }
        #expect(try count(Shackle.self) == 1)
      }
    }
  }

  @Test(arguments: [true, false], [true, false])
  func `removing the link that denies a deletion allows the deletion`(_ isLinkSaved: Bool, _ isTried: Bool)
    throws
  {
    let context = store.makeContext()
    let (topic, other, paper) = try linked(isLinkSaved, in: context)
    context.delete(topic)
    if isTried { #expect(throws: StoreError.self) { try context.save() } }
    #expect(paper.topics == [other])
    paper.remove(topic, from: \.topics)
    try context.save()
    #expect(try store.makeContext().fetch(Topic.self).count() == 1)
    #expect(try store.makeContext().fetch(Essay.self).where("topics.@count == 1").count() == 1)
  }

  @Test(arguments: [true, false], 0..<8)
  func `writing a to-many property keeps the link that denies a deletion`(_ isLinkSaved: Bool, _ way: Int)
    throws
  {
    let context = store.makeContext()
    let (topic, other, paper) = try linked(isLinkSaved, in: context)
    let third = context.insert(Topic.self)
    context.delete(topic)
    switch way {
    case 0: paper.topics = []
    case 1: paper.topics.insert(third)
    case 2: paper.add(third, to: \.topics)
    case 3: paper.topics.insert(other)
    case 4: paper.topics = paper.topics.union([])
    case 5: paper.topics.remove(other)
    case 6: paper.remove(other, from: \.topics)
    default: paper.remove(third, from: \.topics)
    }
    #expect(context.faultErrors.isEmpty)
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.deleteDenied(entity: "Topic", rowID: _, property: "papers", count: 1) = error
      else {
        return false
      }
      return true
    }
    context.rollback()
    #expect(paper.topics == (isLinkSaved ? [topic, other] : []))
  }

  @Test func `removing the link by its property's name also allows the deletion`() async throws {
    let context = try await Store.open(at: store.url, key: testKey).makeContext()
    let topic = try context.insert(entity: "Topic")
    let paper = try context.insert(entity: "Essay")
    try paper.add(topic, to: "topics")
    try context.save()
    context.delete(topic)
    #expect(throws: StoreError.self) { try context.save() }
    #expect(throws: StoreError.self) { try paper.add(topic, to: "topics") }
    // The deleted object belongs to another entity, so it cannot be a member.
    let other = try context.insert(entity: "Shackle")
    context.delete(other)
    #expect(throws: StoreError.self) { try paper.remove(other, from: "topics") }
    try paper.remove(topic, from: "topics")
    try context.save()
    #expect(try count(Topic.self) == 0 && count(Essay.self) == 1)
  }

  @Test func `removing a deleted object that never was a member is no change`() throws {
    let context = store.makeContext()
    let (topic, _, _) = try linked(true, in: context)
    let paper = context.insert(Essay.self)
    try context.save()
    #expect(paper.topics.isEmpty)
    #expect(topic.papers.count == 1)
    context.delete(topic)
    let before = context.pendingChanges
    paper.remove(topic, from: \.topics)
    #expect(context.pendingChanges == before && context.faultErrors.isEmpty)
  }

  private func linked(_ isSaved: Bool, in context: ObjectContext) throws -> (Topic, Topic, Essay) {
    let (topic, other) = (context.insert(Topic.self), context.insert(Topic.self))
    let paper = context.insert(Essay.self)
    if isSaved { paper.topics = [topic, other] }
    try context.save()
    if !isSaved { paper.topics = [topic, other] }
    return (topic, other, paper)
  }

  @Test(arguments: [true, false])
  func `the cascade of a saved object also deletes members that were never read`(_ isRead: Bool) throws {
    let made = store.makeContext()
    let owner = made.insert(Ream.self)
    made.insert(Ream.self) { $0.owner = owner }
    try made.save()
    let context = store.makeContext()
    let all = try context.fetch(Ream.self).all()
    let (upper, lower) = (
      try #require(all.first { $0.owner == nil }), try #require(all.first { $0.owner != nil })
    )
    if isRead { #expect(upper.parts == [lower]) }
    let last = context.insert(Ream.self) { $0.owner = lower }
    let hook = context.insert(Ream.self) { $0.denied = last }
    context.delete(hook)
    context.delete(upper)
    try context.save()
    #expect(try count(Ream.self) == 0)
  }

  @Test func `deletions denied before and after a fetch in a write are decided together`() async throws {
    try await store.write { context in
      let (member, held) = (context.insert(Ream.self), context.insert(Ream.self))
      let first = context.insert(Ream.self) { $0.denied = held }
      member.owner = first
      context.delete(first)
      _ = try context.fetch(Ream.self).count()
      let second = context.insert(Ream.self) { $0.denied = member }
      context.delete(second)
      context.delete(held)
    }
    #expect(try count(Ream.self) == 0)
  }

  @Test(arguments: [true, false])
  func `an object that a saved object's cascade deletes does not deny another deletion`(_ isFetched: Bool)
    async throws
  {
    try await store.write { context in
      let (saved, middle) = (context.insert(Essay.self), context.insert(Essay.self))
      saved.next = middle
      try context.save()
      let last = context.insert(Essay.self)
      middle.next = last
      let hook = context.insert(Shackle.self) { $0.essay = last }
      if isFetched { _ = try context.fetch(Shackle.self).count() }
      context.delete(saved)
      context.delete(hook)
    }
    #expect(try count(Essay.self) == 0 && count(Shackle.self) == 0)
    let context = store.makeContext()
    let saved = context.insert(Essay.self)
    try context.save()
    let last = context.insert(Essay.self)
    saved.next = last
    let hook = context.insert(Shackle.self) { $0.essay = last }
    context.delete(hook)
    #expect(throws: StoreError.self) { try context.save() }
    context.delete(saved)
    try context.save()
    #expect(hook.state == .invalid && last.state == .invalid)
    #expect(try count(Essay.self) == 0 && count(Shackle.self) == 0)
  }

  @Test func `a saved object denies a deletion while the object that cascades to it stays`() throws {
    let context = store.makeContext()
    let saved = context.insert(Essay.self)
    try context.save()
    let (first, second, pin) = (
      context.insert(Essay.self), context.insert(Shackle.self), context.insert(Topic.self)
    )
    (first.next, first.held, second.essay) = (saved, pin, saved)
    for object in [first, second] as [ManagedObject] { context.delete(object) }
    #expect(throws: StoreError.self) { try context.save() }
    #expect(second.state == .inserted && saved.state != .deleted)
    first.held = nil
    try context.save()
    #expect(second.state == .invalid && saved.state == .invalid)
    #expect(try count(Essay.self) == 0 && count(Shackle.self) == 0 && count(Topic.self) == 1)
  }

  @Test func `deleting a new object twice is no error`() throws {
    let context = store.makeContext()
    let hook = context.insert(Shackle.self)
    for _ in 0..<2 { context.delete(hook) }
    try context.save()
    #expect(context.faultErrors.isEmpty)
    // Deleting an object of another context is an error.
    let stranger = store.makeContext().insert(Shackle.self)
    context.delete(stranger)
    #expect(throws: StoreError.self) { try context.save() }
  }

  @Test func `a link to a deleted object can be removed after a fetch in a write`() async throws {
    try await store.write { context in
      _ = context.insert(Topic.self)
      _ = context.insert(Essay.self)
    }
    try await store.write { context in
      let (topic, paper) = (try context.fetch(Topic.self).one(), try context.fetch(Essay.self).one())
      topic.papers.insert(paper)
      context.delete(topic)
      #expect(paper.topics.isEmpty)
      _ = try context.fetch(Essay.self).where("topics.@count > 5").count()
      paper.remove(topic, from: \.topics)
    }
    #expect(try count(Topic.self) == 0 && count(Essay.self) == 1)
  }

  @Test func `a long chain of denied deletions is decided in linear time`() async {
    let factor = await timeFactor(from: 250, to: 2000, below: 24) { count in
      let context = store.makeContext()
      var last = context.insert(Essay.self)
      let wrappers = (0..<count).map { _ in
        context.insert(Wrapper.self) {
          $0.denied = last
          last = context.insert(Essay.self)
          $0.taken = last
        }
      }
      return threadTime {
        for wrapper in wrappers { context.delete(wrapper) }
        #expect(throws: StoreError.self) { try context.save() }
      }
    }
    #expect(factor < 24)
  }

  @Test(arguments: ["from its start", "from its end", "with one end for all"])
  func `denied deletions of a long cascade take linear time`(_ way: String) async {
    let factor = await timeFactor(from: 250, to: 2000, below: 24) { count in
      let context = store.makeContext()
      let papers = (0..<count).map { _ in context.insert(Essay.self) }
      for (paper, next) in zip(papers, papers.dropFirst()) {
        paper.next = way == "with one end for all" ? papers[count - 1] : next
      }
      papers[count - 1].held = context.insert(Topic.self)
      return threadTime {
        for paper in way == "from its start" ? papers : papers.reversed() { context.delete(paper) }
        #expect(throws: StoreError.self) { try context.save() }
      }
    }
    #expect(factor < 24)
  }
}

private final class Shackle: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var above: Shackle?
  @ToOne(onDelete: .deny) var essay: Essay?
  @ToMany(inverse: \Shackle.above, onDelete: .deny) var below: Set<Shackle>
}
private final class Left: ManagedObject {
  @ToOne(onDelete: .deny) var right: Right?
}
private final class Right: ManagedObject {
  @ToOne(inverse: \Left.right, onDelete: .deny) var left: Left?
}
private final class Ream: ManagedObject {
  @ToOne var owner: Ream?
  @ToMany(inverse: \Ream.owner, onDelete: .cascade) var parts: Set<Ream>
  @ToOne(onDelete: .deny) var denied: Ream?
}
private final class Wrapper: ManagedObject {
  @ToOne(onDelete: .cascade) var taken: Essay?
  @ToOne(onDelete: .deny) var denied: Essay?
}
private final class Topic: ManagedObject {
  @ToMany(onDelete: .deny) var papers: Set<Essay>
}
private final class Essay: ManagedObject {
  @ToMany(inverse: \Topic.papers) var topics: Set<Topic>
  @ToOne(onDelete: .cascade) var next: Essay?
  @ToOne(onDelete: .deny) var held: Topic?
}
