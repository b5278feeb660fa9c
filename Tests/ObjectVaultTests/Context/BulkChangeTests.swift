// Updates and deletions of all objects of a fetch, against the same changes one by one.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

final class BulkOwner: ManagedObject {
  @Attribute var key: String
  @Attribute(.unique) var code: String?
  @Attribute var size: Int = 0
  @Attribute var weight: Double?
  @Attribute var price: Decimal = 0
  @Attribute var small: Int8 = 0
  @Attribute var ratio: Float = 0.25
  @Attribute var isRead: Bool = false
  @ToMany(inverse: \BulkPart.owner, onDelete: .cascade) var parts: [BulkPart]
  @ToMany(inverse: \BulkLabel.owners) var labels: Set<BulkLabel>
  @ToMany(inverse: \BulkNote.owner) var notes: Set<BulkNote>
  @ToMany(inverse: \BulkLock.owner, onDelete: .deny) var locks: Set<BulkLock>
}

class BulkPart: ManagedObject {
  @Attribute var key: String
  @Attribute var size: Int = 0
  @ToOne var owner: BulkOwner?
}

final class BulkScrew: BulkPart {
  @Attribute var length: Int = 1
}

final class BulkLabel: ManagedObject {
  @Attribute var word: String
  @ToMany var owners: Set<BulkOwner>
}

final class BulkNote: ManagedObject {
  @Attribute var text: String
  @ToOne var owner: BulkOwner?
}

final class BulkLock: ManagedObject {
  @Attribute var key: String
  @ToOne var owner: BulkOwner?
}

final class BulkHooked: ManagedObject {
  @Attribute var size: Int = 0
  @Attribute var saves: Int = 0
  override func willSave() { saves += 1 }
  override func validateForDelete() throws {
    if size == 13 { throw failure(of: \.size, reason: "brings bad luck") }
  }
}

@Suite struct BulkChanges {
  private static let schema = Schema {
    Entity(BulkOwner.self).check(\.size, .range(-1000...1000))
    Entity(BulkPart.self)
    Entity(BulkScrew.self)
    Entity(BulkLabel.self)
    Entity(BulkNote.self)
    Entity(BulkLock.self)
    Entity(BulkHooked.self)
  }

  private let temporary: TemporaryStore
  private let store: Store

  init() async throws {
    temporary = try await TemporaryStore(Self.schema)
    store = temporary.store
  }

  private static func fill(_ context: ObjectContext, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let labels = (0..<4).map { number in context.insert(BulkLabel.self) { $0.word = "l\(number)" } }
    for number in 0..<40 {
      let owner = context.insert(BulkOwner.self) {
        $0.key = "o\(number)"
        $0.code = number % 3 == 0 ? "c\(number)" : nil
        $0.size = Int.random(in: 0..<6, using: &random)
        $0.weight = number % 4 == 0 ? nil : Double(number)
        $0.isRead = number % 2 == 0
      }
      for part in 0..<(number % 4) {
        if part == 1 {
          context.insert(BulkScrew.self) { ($0.key, $0.owner, $0.size) = ("s\(number)", owner, part) }
        } else {
          context.insert(BulkPart.self) { ($0.key, $0.owner, $0.size) = ("p\(number)", owner, part) }
        }
      }
      owner.labels = Set(labels.filter { _ in Bool.random(using: &random) })
      if number % 5 == 0 { context.insert(BulkNote.self) { ($0.text, $0.owner) = ("n\(number)", owner) } }
      if number == 39 { context.insert(BulkLock.self) { ($0.key, $0.owner) = ("k", owner) } }
    }
    try context.save()
  }

  /// All rows and links as text.
  private static func text(_ context: ObjectContext) throws -> [String] {
    var lines: [String] = []
    for owner in try context.fetch(BulkOwner.self).sorted(by: \.id).all() {
      lines.append(
        "\(owner.id) \(owner.key) \(owner.code ?? "-") \(owner.size) \(owner.weight ?? -1) \(owner.price) \(owner.ratio) "
          + "\(owner.small) \(owner.isRead) \(owner.parts.map(\.key)) \(owner.labels.map(\.word).sorted()) "
          + "\(owner.notes.map(\.text)) \(owner.locks.count)")
    }
    for part in try context.fetch(BulkPart.self).sorted(by: \.id).all() {
      lines.append("\(part.id) \(part.key) \(part.size) \(part.owner?.key ?? "-")")
    }
    for note in try context.fetch(BulkNote.self).sorted(by: \.id).all() {
      lines.append("\(note.id) \(note.text) \(note.owner?.key ?? "-")")
    }
    return lines
  }

  private enum Way: CaseIterable { case kept, write, kept_loaded, write_loaded }

  /// Makes a change in two equal stores, in bulk and one by one, and compares the stores and their feeds.
  private static func compare(
    _ place: String, bulk: @escaping @Sendable (ObjectContext) throws -> Int,
    single: @escaping @Sendable (ObjectContext) throws -> Int
  ) async throws {
    for way in Way.allCases {
      // Without a listener other statements run.
      for isHeard in [way == .kept_loaded || way == .write_loaded] {
        let (one, two) = (try await TemporaryStore(schema), try await TemporaryStore(schema))
        for store in [one.store, two.store] { try fill(store.makeContext(), seed: 3) }
        let (first, second) = (
          isHeard ? one.store.changes() : nil, isHeard ? two.store.changes() : nil
        )
        let (kept, other) = (one.store.makeContext(), two.store.makeContext())
        // Objects in memory, with their members.
        let loaded = way == .kept_loaded ? try kept.fetch(BulkOwner.self).all() : []
        for owner in loaded { _ = (owner.parts.count, owner.labels.count, owner.notes.count) }
        let count: Int
        switch way {
        case .kept, .kept_loaded: count = try bulk(kept)
        case .write: count = try await one.store.write(bulk)
        case .write_loaded:
          count = try await one.store.write { context in
            let owners = try context.fetch(BulkOwner.self).prefetch(\.parts).all()
            defer { withExtendedLifetime(owners) {} }
            let count = try bulk(context)
            #expect(try text(context).count > 0)
            return count
          }
        }
        let expected = try single(other)
        try other.save()
        #expect(count == expected, "\(place), \(way)")
        let wanted = try text(two.store.makeContext())
        #expect(try text(one.store.makeContext()) == wanted, "\(place), \(way)")
        // The context that made the change, with the objects that it had in memory.
        #expect(try text(kept) == wanted, "\(place), \(way), in memory")
        for owner in loaded where owner.managedObjectContext != nil {
          #expect(owner.parts.allSatisfy { $0.managedObjectContext != nil })
        }
        withExtendedLifetime(loaded) {}
        guard let first, let second else { continue }
        let sets = [first, second].map { changes in
          ChangeSet(
            merging: changes.takeUndelivered().compactMap {
              if case .committed(let set) = $0 { set } else { nil }
            })
        }
        #expect(sets[0].changedBySQL.isEmpty)
        #expect(Set(sets[0].updated) == Set(sets[1].updated), "\(place), \(way)")
        #expect(Set(sets[0].deleted) == Set(sets[1].deleted), "\(place), \(way)")
        #expect(Set(sets[0].unlinked) == Set(sets[1].unlinked), "\(place), \(way)")
        #expect(try await one.store.verify().isEmpty)
      }
    }
  }

  @Test func `an update equals the same setters in a loop`() async throws {
    try await Self.compare("constant") { context in
      try context.fetch(BulkOwner.self).where("isRead == NO").update(
        .set(\.isRead, to: true), .set(\.weight, to: nil))
    } single: { context in
      let owners = try context.fetch(BulkOwner.self).where("isRead == NO").all()
      for owner in owners { (owner.isRead, owner.weight) = (true, nil) }
      return owners.count
    }
    try await Self.compare("part of them already have the value") { context in
      try context.update(ObjectRequest<BulkOwner>(), .set(\.isRead, to: true))
    } single: { context in
      for owner in try context.fetch(BulkOwner.self).all() { owner.isRead = true }
      return context.updatedObjects.count
    }
    try await Self.compare("increment") { context in
      try context.fetch(BulkPart.self).where("owner.size > 1").update(.increment(\.size, by: -3))
    } single: { context in
      let parts = try context.fetch(BulkPart.self).where("owner.size > 1").all()
      for part in parts { part.size -= 3 }
      return parts.count
    }
    try await Self.compare("increment of a double that may be nil") { context in
      try context.fetch(BulkOwner.self).update(.increment(\.weight, by: 0.5))
    } single: { context in
      let owners = try context.fetch(BulkOwner.self).where("weight != nil").all()
      for owner in owners { owner.weight? += 0.5 }
      return owners.count
    }
    try await Self.compare("a window") { context in
      try context.fetch(BulkOwner.self).sorted(by: \.key, .reverse).limit(5).update(.set(\.key, to: "x"))
    } single: { context in
      let owners = try context.fetch(BulkOwner.self).sorted(by: \.key, .reverse).limit(5).all()
      for owner in owners { owner.key = "x" }
      return owners.count
    }
    try await Self.compare("a subentity") { context in
      try context.fetch(BulkScrew.self).update(.set(\.length, to: 4), .increment(\.size, by: 1))
    } single: { context in
      let screws = try context.fetch(BulkScrew.self).all()
      for screw in screws { (screw.length, screw.size) = (4, screw.size + 1) }
      return screws.count
    }
    try await Self.compare("a decimal, a checked number and a unique value") { context in
      try context.fetch(BulkOwner.self).where("code != nil")
        .update(
          .increment(\.price, by: 1), .increment(\.size, by: 2), .set(\.code, to: nil),
          .increment(\.ratio, by: 0.1))
    } single: { context in
      let owners = try context.fetch(BulkOwner.self).where("code != nil").all()
      for owner in owners {
        (owner.price, owner.size, owner.code) = (owner.price + 1, owner.size + 2, nil)
        owner.ratio += 0.1
      }
      return owners.count
    }
    try await Self.compare("nothing found") { context in
      try context.fetch(BulkOwner.self).where("key == 'none'").update(.set(\.size, to: 5000))
    } single: { _ in
      0
    }
  }

  @Test func `a deletion equals the same deletions in a loop`() async throws {
    try await Self.compare("cascades, links and references") { context in
      try context.fetch(BulkOwner.self).where("size < 4 AND locks.@count == 0").delete()
    } single: { context in
      let owners = try context.fetch(BulkOwner.self).where("size < 4 AND locks.@count == 0").all()
      for owner in owners { context.delete(owner) }
      return owners.count
    }
    try await Self.compare("members of an order, in a hierarchy") { context in
      try context.delete(ObjectRequest<BulkPart>().where("size == 1"))
    } single: { context in
      let parts = try context.fetch(BulkPart.self).where("size == 1").all()
      for part in parts { context.delete(part) }
      return parts.count
    }
    try await Self.compare("a subentity") { context in
      try context.fetch(BulkScrew.self).delete()
    } single: { context in
      let screws = try context.fetch(BulkScrew.self).all()
      for screw in screws { context.delete(screw) }
      return screws.count
    }
    try await Self.compare("a window") { context in
      try context.fetch(BulkNote.self).sorted(by: \.text).offset(1).limit(3).delete()
    } single: { context in
      let notes = try context.fetch(BulkNote.self).sorted(by: \.text).offset(1).limit(3).all()
      for note in notes { context.delete(note) }
      return notes.count
    }
  }

  @Test func `a deletion that a rule denies deletes nothing`() async throws {
    let context = store.makeContext()
    try Self.fill(context, seed: 1)
    let before = try Self.text(context)
    #expect {
      try context.fetch(BulkOwner.self).delete()
    } throws: { error in
      if case StoreError.deleteDenied("BulkOwner", _, "locks", 1)? = error as? StoreError {
        true
      } else {
        false
      }
    }
    #expect(try Self.text(store.makeContext()) == before)
    #expect(!context.hasChanges)
    #expect(try context.fetch(BulkOwner.self).where("locks.@count == 0").delete() == 39)
  }

  @Test func `a value that breaks a rule changes nothing`() async throws {
    let context = store.makeContext()
    try Self.fill(context, seed: 1)
    let before = try Self.text(context)
    func reasons(_ body: () throws -> Int) -> [String] {
      do {
        _ = try body()
        return []
      } catch StoreError.validation(let failures) {
        return failures.map { "\($0.property): \($0.reason)" }
      } catch {
        return ["\(error)"]
      }
    }
    #expect(reasons { try context.fetch(BulkOwner.self).update(.set(\.size, to: 5000)) }.count == 1)
    #expect(reasons { try context.fetch(BulkOwner.self).update(.increment(\.size, by: 999)) }.count > 1)
    #expect(
      reasons { try context.fetch(BulkOwner.self).update(.increment(\.small, by: 127)) } == [])
    let full = reasons { try context.fetch(BulkOwner.self).update(.increment(\.small, by: 1)) }
    #expect(full.first?.hasPrefix("small: would be out of range") == true)
    try context.fetch(BulkOwner.self).update(.set(\.small, to: 0))
    #expect(reasons { try context.fetch(BulkPart.self).update(.increment(\.size, by: .max)) }.count == 1)
    #expect(reasons { try context.fetch(BulkOwner.self).update(.set(\.code, to: "same")) }.count > 0)
    #expect(reasons { try context.fetch(BulkOwner.self).update(.increment(\.weight, by: .nan)) }.count == 1)
    #expect(try context.fetch(BulkOwner.self).update(.increment(\.weight, by: 0)) == 0)
    #expect(reasons { try context.fetch(BulkOwner.self).update(.set(named: "sise", to: 1)) }.count == 1)
    #expect(reasons { try context.fetch(BulkOwner.self).update(.set(named: "size", to: "x")) }.count == 1)
    #expect(reasons { try context.fetch(BulkOwner.self).update(.set(named: "parts", to: 1)) }.count == 1)
    #expect(reasons { try context.fetch(BulkNote.self).update(.set(\.owner?.size, to: 1)) }.count == 1)
    #expect(try Self.text(store.makeContext()) == before)
    #expect(!context.hasChanges)
  }

  @Test func `a to-one is set at both ends`() async throws {
    let context = store.makeContext()
    try Self.fill(context, seed: 1)
    let owner = try context.fetch(BulkOwner.self).sorted(by: \.id).first()
    let notes = try context.fetch(BulkNote.self).all()
    #expect(try context.fetch(BulkNote.self).update(.set(\.owner, to: owner)) == notes.count - 1)
    #expect(owner?.notes.count == notes.count)
    #expect(try context.fetch(BulkNote.self).update(.set(\.owner, to: nil)) == notes.count)
    #expect(owner?.notes.isEmpty == true)
  }

  @Test func `pending changes are refused outside of a write, and saved in one`() async throws {
    let context = store.makeContext()
    context.insert(BulkLabel.self) { $0.word = "new" }
    #expect(throws: StoreError.unsavedChanges) {
      try context.fetch(BulkLabel.self).update(.set(\.word, to: "x"))
    }
    #expect(throws: StoreError.unsavedChanges) { try context.fetch(BulkLabel.self).delete() }
    context.rollback()
    let words = try await store.write { context in
      context.insert(BulkLabel.self) { $0.word = "new" }
      #expect(try context.fetch(BulkLabel.self).update(.set(\.word, to: "changed")) == 1)
      let label = try context.fetch(BulkLabel.self).one()
      label.word += "!"
      #expect(
        try context.fetch(BulkLabel.self).where("word ENDSWITH '!'").update(.set(\.word, to: "end")) == 1)
      return [label.word]
    }
    #expect(words == ["end"])
    _ = try await store.read { context in
      #expect(throws: StoreError.readOnlyContext) { try context.fetch(BulkLabel.self).delete() }
    }
  }

  @Test func `hooks, an undo manager and onWillSave see each object`() async throws {
    let context = store.makeContext()
    for size in 0..<3 { context.insert(BulkHooked.self) { $0.size = size } }
    try context.save()
    #expect(try context.fetch(BulkHooked.self).where("size > 0").update(.increment(\.size, by: 10)) == 2)
    #expect(try context.fetch(BulkHooked.self).sorted(by: \.size).all().map(\.saves) == [1, 2, 2])
    try context.fetch(BulkHooked.self).where("size == 12").update(.set(\.size, to: 13))
    #expect(throws: StoreError.self) { try context.fetch(BulkHooked.self).delete() }
    #expect(try context.fetch(BulkHooked.self).count() == 3)
    context.undoManager = ContextUndoManager()
    for word in ["a", "b"] { context.insert(BulkLabel.self) { $0.word = word } }
    try context.save()
    try context.fetch(BulkLabel.self).update(.set(\.word, to: "c"))
    try context.undo()
    #expect(try context.fetch(BulkLabel.self).sorted(by: \.id).values(\.word) == ["a", "b"])
    try context.save()
    try context.fetch(BulkLabel.self).delete()
    try context.undo()
    try context.save()
    #expect(try store.makeContext().fetch(BulkLabel.self).count() == 2)
    context.undoManager = nil
    var seen = 0
    context.onWillSave = { changes, _ in seen += changes.updated.count + changes.deleted.count }
    try context.fetch(BulkLabel.self).update(.set(\.word, to: "d"))
    try context.fetch(BulkLabel.self).delete()
    #expect(seen == 4)
  }

  @Test func `objects that others have read meet a conflict`() async throws {
    let (mine, theirs) = (store.makeContext(), store.makeContext())
    let label = mine.insert(BulkLabel.self) { $0.word = "a" }
    try mine.save()
    let same = try theirs.fetch(BulkLabel.self).one()
    same.word = "mine"
    try mine.fetch(BulkLabel.self).update(.set(\.word, to: "b"))
    #expect(label.word == "b")
    #expect(throws: StoreError.self) { try theirs.save() }
    // An object with changes that another context has deleted by a statement.
    try mine.fetch(BulkLabel.self).delete()
    #expect(label.state == .invalid)
  }

  @Test func `a cancelled write changes nothing`() async throws {
    let context = store.makeContext()
    for number in 0..<2000 { context.insert(BulkLabel.self) { $0.word = "\(number)" } }
    try context.save()
    let (store, updated, gate) = (store, AsyncStream.makeStream(of: Never.self), DispatchSemaphore(value: 0))
    let task = Task {
      defer { updated.continuation.finish() }
      try await store.write { context in
        #expect(try context.fetch(BulkLabel.self).update(.set(\.word, to: "x")) == 2000)
        updated.continuation.finish()
        gate.wait()
        try context.fetch(BulkLabel.self).delete()
      }
    }
    for await _ in updated.stream {}
    // The work of `write` is not a part of the task. The store is told before `cancel` returns.
    task.cancel()
    gate.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try context.fetch(BulkLabel.self).where("word == 'x'").count() == 0)
    #expect(try context.fetch(BulkLabel.self).count() == 2000)
  }

  @Test func `60,000 rows are changed and deleted with their members in memory`() async throws {
    try await store.write { context in
      let owner = context.insert(BulkOwner.self) { $0.key = "o" }
      for number in 0..<60_000 { context.insert(BulkPart.self) { ($0.key, $0.size) = ("p", number) } }
      try context.fetch(BulkPart.self).where("size < 10").all().forEach { $0.owner = owner }
    }
    let context = store.makeContext()
    let parts = try context.fetch(BulkPart.self).all()
    #expect(try context.fetch(BulkPart.self).update(.increment(\.size, by: 1)) == 60_000)
    #expect(try context.fetch(BulkPart.self).all().map(\.size).reduce(0, +) == 60_000 * 60_001 / 2)
    #expect(try context.fetch(BulkPart.self).where("size > 10").delete() == 59_990)
    #expect(parts.count { $0.state != .invalid } == 10)
    #expect(try await store.verify().isEmpty)
  }
}
