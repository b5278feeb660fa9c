// The hooks of classes and of contexts: which are called, when, and what they may do.

import CipherSQLite
import ObjectVault
import TestSupport
import Testing

private final class Diary: ManagedObject {
  @Attribute var name: String
  @Attribute var saves: Int = 0
  @ToMany(inverse: \Entry.diary, onDelete: .cascade) var entries: Set<Entry>
  var events: [String] = []

  override func awakeFromInsert() { events.append("awakeFromInsert \(name) \(saves)") }
  override func awakeFromFetch() { events.append("awakeFromFetch \(name)") }
  override func willSave() {
    saves += 1
    events.append("willSave \(isInserted)")
  }
  override func didSave() { events.append("didSave \(hasChanges) \(saves)") }
  override func prepareForDeletion() { events.append("prepareForDeletion \(entries.count)") }
  override func validateForInsert() throws { events.append("validateForInsert") }
  override func validateForUpdate() throws { events.append("validateForUpdate") }
  override func validateForDelete() throws { events.append("validateForDelete") }
}

private class Entry: ManagedObject {
  @Attribute var text: String?
  @Attribute(.unique) var number: Int
  @ToOne var diary: Diary?
  @ToMany(inverse: \Picture.entry, onDelete: .cascade) var pictures: Set<Picture>

  override func willSave() { if let diary, diary.name == "watched" { diary.name = "changed" } }
  override func validateForInsert() throws {
    if text == "bad" { throw failure(of: \.text, reason: "is bad") }
    if text == "odd" { throw OddText() }
  }
}

private struct OddText: Error, CustomStringConvertible { let description = "the text is odd" }

private final class LongEntry: Entry {
  override func validateForUpdate() throws { if text == "bad" { throw StoreError.readOnlyContext } }
}

private final class Picture: ManagedObject {
  @Attribute var file: String
  @Attribute var isKept: Bool = false
  @ToOne var entry: Entry?
  static let removed = Locked<[String]>([])

  override func prepareForDeletion() { Self.removed.withLock { $0.append(file) } }
  override func validateForDelete() throws {
    if isKept { throw failure(of: \.isKept, reason: "forbids the deletion") }
  }
}

private final class Ping: ManagedObject {
  @Attribute var count: Int = 0
  @ToOne var other: Ping?
  override func willSave() { other?.count += 1 }
}

private final class Chain: ManagedObject {
  @Attribute var left: Int
  override func willSave() {
    guard left > 0 else { return }
    managedObjectContext?.insert(Chain.self) { $0.left = left - 1 }
    left = 0
  }
}

private final class Saver: ManagedObject {
  @Attribute var name: String
  static let errors = Locked<[String]>([])
  override func didSave() {
    do { try managedObjectContext?.save() } catch { Self.errors.withLock { $0.append("\(error)") } }
  }
}

private final class Plain: ManagedObject {
  @Attribute var name: String
  @ToMany(inverse: \PlainPart.whole, onDelete: .cascade) var parts: Set<PlainPart>
}

private final class PlainPart: ManagedObject {
  @Attribute var name: String
  @ToOne var whole: Plain?
}

private final class Late: ManagedObject {
  @Attribute var name: String
  override func didSave() { name = "late" }
}

private final class Guard: ManagedObject {
  @Attribute var name: String
  @ToOne var parent: Guard?
  @ToMany(inverse: \Guard.parent, onDelete: .cascade) var parts: Set<Guard>
  override func prepareForDeletion() { if name == "rollback" { managedObjectContext?.rollback() } }
  override func validateForUpdate() throws {
    if name == "insert" { managedObjectContext?.insert(Guard.self) { $0.name = "x" } }
  }
}

private final class Log: ManagedObject { @Attribute var text: String }

@Suite struct Hooks {
  private let store: Store
  private let temporary: TemporaryStore
  private let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(
      Schema {
        Entity(Diary.self)
        Entity(Entry.self)
        Entity(LongEntry.self)
        Entity(Picture.self)
        Entity(Ping.self)
        Entity(Chain.self)
        Entity(Saver.self)
        Entity(Plain.self)
        Entity(PlainPart.self)
        Entity(Log.self)
        Entity(Guard.self)
        Entity(Late.self)
      })
    store = temporary.store
    context = store.makeContext()
  }

  @Test func `a class overrides the hooks that it declares or inherits`() {
    #expect(
      ClassHooks.overridden(by: Plain.self) == [] && ClassHooks.overridden(by: DynamicObject.self) == [])
    #expect(ClassHooks.overridden(by: ManagedObject.self) == [])
    #expect(ClassHooks.overridden(by: Ping.self) == .willSave)
    #expect(ClassHooks.overridden(by: Saver.self) == .didSave)
    #expect(ClassHooks.overridden(by: Picture.self) == [.prepareForDeletion, .validateForDelete])
    #expect(ClassHooks.overridden(by: Entry.self) == [.willSave, .validateForInsert])
    #expect(
      ClassHooks.overridden(by: LongEntry.self) == [.willSave, .validateForInsert, .validateForUpdate])
    #expect(ClassHooks.overridden(by: Diary.self).rawValue == 255)
  }

  @Test func `the hooks of one object are called in their order`() throws {
    let diary = context.insert(Diary.self) { $0.name = "Ann" }
    #expect(diary.events == ["awakeFromInsert  0"])
    diary.events = []
    try context.save()
    #expect(diary.events == ["willSave true", "validateForInsert", "didSave false 1"])
    diary.events = []
    try context.save()
    #expect(diary.events.isEmpty)
    diary.name = "Bea"
    #expect(diary.isUpdated)
    try context.save()
    #expect(!diary.isUpdated)
    #expect(diary.events == ["willSave false", "validateForUpdate", "didSave false 2"])
    diary.events = []
    context.insert(Entry.self) { $0.diary = diary }
    context.delete(diary)
    #expect(diary.events == ["prepareForDeletion 1"])
    try context.save()
    #expect(diary.events.dropFirst() == ["validateForDelete"])
    #expect(context.faultErrors.isEmpty)
  }

  @Test func `a fetch wakes an object each time that its row is read`() async throws {
    try await store.write { context in
      for name in ["a", "b", "c"] { context.insert(Diary.self) { $0.name = name } }
    }
    let all = try context.fetch(Diary.self).sorted(by: \.name).all()
    #expect(all.map(\.events) == [["awakeFromFetch a"], ["awakeFromFetch b"], ["awakeFromFetch c"]])
    _ = try context.fetch(Diary.self).all()
    #expect(all[0].events.count == 1)
    context.refresh(all[0])
    #expect(all[0].events.count == 1)
    _ = all[0].name
    #expect(all[0].events.count == 2)
    try await store.write { try $0.fetch(Diary.self).where("name == 'b'").one().name = "B" }
    _ = try context.fetch(Diary.self).all()
    #expect(all[1].events.last == "awakeFromFetch B" && all[2].events.count == 1)
    let inside = try await store.read { context in
      let diary = try #require(try context.fetch(Diary.self).sorted(by: \.name).first())
      return diary.events + [diary.name]
    }
    #expect(inside == ["awakeFromFetch B", "B"])
    let byID = try #require(try store.makeContext().existing(all[2].id))
    #expect(byID.events == ["awakeFromFetch c"])
  }

  @Test func `what a hook changes in another object is saved, after the hook of that object`() throws {
    let diary = context.insert(Diary.self) { $0.name = "watched" }
    try context.save()
    diary.events = []
    context.insert(Entry.self) { ($0.number, $0.diary) = (1, diary) }
    try context.save()
    #expect(diary.events == ["willSave false", "validateForUpdate", "didSave false 2"])
    let read = try store.makeContext().fetch(Diary.self).one()
    #expect(read.name == "changed" && read.saves == 2)
    // The diary is pending, and its hook is called before that of the entry changes it: it is called again.
    diary.name = "watched"
    try context.fetch(Entry.self).one().text = "x"
    diary.events = []
    try context.save()
    #expect(diary.events.filter { $0.hasPrefix("willSave") }.count == 2 && diary.saves == 4)
  }

  @Test func `objects that hooks insert are saved with their own hooks`() throws {
    context.insert(Chain.self) { $0.left = 90 }
    try context.save()
    #expect(try store.makeContext().fetch(Chain.self).count() == 91)
    context.insert(Chain.self) { $0.left = 200 }
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.hookFailed("Chain", _, "willSave", _) = error else { return false }
      return "\(error)".contains("was called 100 times")
    }
    #expect(try store.makeContext().fetch(Chain.self).count() == 91 && context.hasChanges)
  }

  @Test func `objects that change each other without end are an error`() throws {
    let (one, two) = (context.insert(Ping.self), context.insert(Ping.self))
    one.other = two
    try context.save()
    #expect(two.count == 1 && one.count == 0)
    two.other = one
    #expect(throws: StoreError.self) { try context.save() }
    two.other = nil
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test func `a save in a hook is an error, and other saves go on`() throws {
    context.insert(Saver.self) { $0.name = "x" }
    try context.save()
    #expect(
      Saver.errors.withLock { $0 }.first?.contains("calls save(), which no hook may") == true)
    context.onWillSave = { try $1.save() }
    context.insert(Log.self) { $0.text = "x" }
    #expect {
      try context.save()
    } throws: {
      "\($0)" == "Nothing was saved: onWillSave calls save(), which no hook may."
    }
    context.onWillSave = nil
    try context.save()
    #expect(try store.makeContext().fetch(Log.self).count() == 1)
  }

  @Test func `all failures of a save are reported at once`() throws {
    context.insert(Entry.self) { ($0.text, $0.number) = ("bad", 1) }
    context.insert(Entry.self) { ($0.text, $0.number) = ("odd", 2) }
    try context.insert(Plain.self).set("name", toStored: .null)
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.map(\.description) == [
        "Entry.text of new object -1 is bad",
        "Entry of new object -2 is not accepted by its class: the text is odd",
        "Plain.name of new object -3 is required",
      ]
    }
    #expect(try store.makeContext().fetch(Entry.self).count() == 0)
  }

  @Test func `rows that a delete rule deletes are read for the hooks of their classes`() async throws {
    Picture.removed.withLock { $0 = [] }
    try await store.write { context in
      let diary = context.insert(Diary.self) { $0.name = "Ann" }
      for number in 1...3 {
        let entry = context.insert(number == 2 ? LongEntry.self : Entry.self) {
          ($0.number, $0.diary) = (number, diary)
        }
        for part in 1...2 {
          context.insert(Picture.self) { ($0.file, $0.entry) = ("\(number)-\(part)", entry) }
        }
      }
    }
    let diary = try context.fetch(Diary.self).one()
    let kept = try context.fetch(Picture.self).where("file == '2-1'").one()
    context.delete(diary)
    kept.isKept = true
    #expect {
      try context.save()
    } throws: {
      "\($0)".contains("Picture.isKept of row 3 forbids the deletion")
    }
    kept.isKept = false
    Picture.removed.withLock { $0 = [] }
    try context.save()
    #expect(
      Picture.removed.withLock { $0.sorted() } == ["1-1", "1-2", "2-1", "2-2", "3-1", "3-2"])
    #expect(try store.makeContext().fetch(Picture.self).count() == 0)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `rows of classes without hooks are not read for a deletion`() async throws {
    try await store.write { context in
      let plain = context.insert(Plain.self) { $0.name = "x" }
      for number in 1...100 { context.insert(PlainPart.self) { ($0.name, $0.whole) = ("\(number)", plain) } }
    }
    let plain = try context.fetch(Plain.self).one()
    context.delete(plain)
    let before = context.statistics.rows
    try context.save()
    #expect(context.statistics.rows == before)
    #expect(try store.makeContext().fetch(PlainPart.self).count() == 0)
  }

  @Test func `an audit log is written in the transaction that it describes`() async throws {
    context.author = "Ann"
    context.onWillSave = { changes, context in
      context.insert(Log.self) { $0.text = "\(changes.author ?? "") \(changes.count)" }
    }
    context.insert(Plain.self) { $0.name = "x" }
    context.insert(Plain.self) { $0.name = "y" }
    try context.save()
    try context.save()
    #expect(try store.makeContext().fetch(Log.self).all().map(\.text) == ["Ann 2"])
    context.onWillSave = { _, _ in throw OddText() }
    context.insert(Plain.self) { $0.name = "z" }
    #expect(throws: OddText.self) { try context.save() }
    #expect(try store.makeContext().fetch(Plain.self).count() == 2)
    try await store.write { context in
      context.onWillSave = { changes, context in
        context.insert(Log.self) { $0.text = "inserted \(changes.inserted.map(\.rowID))" }
      }
      context.insert(Plain.self) { $0.name = "w" }
    }
    #expect(try store.makeContext().fetch(Log.self).all().map(\.text) == ["Ann 2", "inserted [3]"])
  }

  @Test func `an audit log works without classes`() async throws {
    let dynamic = try await Store.open(at: temporary.store.url, key: testKey)
    defer { dynamic.close() }
    let context = dynamic.makeContext()
    context.onWillSave = { changes, context in
      try context.insert(entity: "Log") { $0["text"] = "\(changes.count)" }
    }
    try context.insert(entity: "Plain") { $0["name"] = "x" }
    try context.save()
    #expect(try context.fetch(entity: "Log").all().map { $0["text"] as String } == ["1"])
  }

  @Test func `one property is checked by the rules of the model`() throws {
    let plain = context.insert(Plain.self) { $0.name = "x" }
    try plain.validate(\.name)
    try plain.set("name", toStored: .null)
    #expect {
      try plain.validate(\.name)
    } throws: {
      "\($0)".contains("Plain.name of new object -1 is required")
    }
    #expect(throws: StoreError.self) { try plain.validate("nothing") }
    try plain.validate("parts")
  }

  @Test func `a row that is read alone wakes its object, in each kind of context`() async throws {
    let id = try await store.write { context in context.insert(Diary.self) { $0.name = "a" }.id }
    let read = try await store.read { context in try context.existing(id)?.events ?? [] }
    #expect(read == ["awakeFromFetch a"])
    let fault = try await store.write { context in
      let diary = try context.object(with: id)
      let name = diary.name
      return diary.events + [name]
    }
    #expect(fault == ["awakeFromFetch a", "a"])
  }

  @Test func `what a delete rule deletes is not validated as an insertion`() throws {
    let diary = context.insert(Diary.self) { $0.name = "a" }
    try context.save()
    context.insert(Entry.self) { ($0.text, $0.number, $0.diary) = ("bad", 1, diary) }
    context.delete(diary)
    try context.save()
    let reader = store.makeContext()
    #expect(try reader.fetch(Entry.self).count() == 0)
  }

  @Test func `a change in didSave at the end of a write is an error`() async throws {
    await #expect(throws: StoreError.self) {
      try await store.write { context in context.insert(Late.self) { $0.name = "x" }.name }
    }
    let late = context.insert(Late.self) { $0.name = "x" }
    try context.save()
    #expect(late.hasChanges)
    let reader = store.makeContext()
    #expect(try reader.fetch(Late.self).count() == 1)
  }

  @Test func `a rollback in a hook ends the deletion, and a validation may not change objects`() throws {
    let parent = context.insert(Guard.self) { $0.name = "p" }
    for name in ["a", "b"] { context.insert(Guard.self) { ($0.name, $0.parent) = (name, parent) } }
    try context.save()
    parent.name = "rollback"
    context.delete(parent)
    #expect(!context.hasChanges && parent.name == "p")
    try context.save()
    let reader = store.makeContext()
    #expect(try reader.fetch(Guard.self).count() == 3)
    parent.name = "insert"
    #expect {
      try context.save()
    } throws: {
      "\($0)".contains("A validating hook has changed objects")
    }
  }
}
