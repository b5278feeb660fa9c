// Objects that are created by initializers, and inserted into a context afterwards.

import Foundation
import ObjectVault
import TestSupport
import Testing

private final class DraftCard: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute var age: Int = 30
  @Attribute var nick: String?
  @Attribute var made: UUID = UUID()
  @Attribute var price: Decimal = 1
  @ToOne var box: DraftBox?
  @ToOne var next: DraftCard?
  @ToMany(inverse: \DraftMark.cards) var marks: Set<DraftMark>
  var notes: [String] = []

  convenience init(name: String, box: DraftBox? = nil) {
    self.init()
    self.name = name
    self.box = box
  }

  override func awakeFromInsert() { notes.append("awake \(name)") }
}

private final class DraftBox: ManagedObject {
  @Attribute var label: String = "box"
  @ToMany(inverse: \DraftCard.box, onDelete: .cascade) var cards: [DraftCard]
}

private final class DraftMark: ManagedObject {
  @Attribute var text: String
  @ToMany var cards: Set<DraftCard>
}

private class DraftBase: ManagedObject { @Attribute var name: String }
private final class DraftDerived: DraftBase { @Attribute var extra: Int = 4 }
private final class DraftStranger: ManagedObject { @Attribute var name: String }

@Suite struct Drafts {
  private let temporary: TemporaryStore
  private let store: Store
  private let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(
      Schema {
        Entity(DraftCard.self)
        Entity(DraftBox.self)
        Entity(DraftMark.self)
        Entity(DraftBase.self)
        Entity(DraftDerived.self)
      })
    store = temporary.store
    context = store.makeContext()
  }

  @Test func `values that were set before the insertion are kept, and the others have their defaults`() throws
  {
    let card = DraftCard()
    #expect(card.name == "" && card.age == 30 && card.nick == nil && card.state == .detached)
    #expect(card.managedObjectContext == nil && !card.isInserted && !card.hasChanges)
    let made = card.made
    (card.name, card.nick, card.price) = ("Ann", "A", 7)
    card.age += 1
    #expect(card.name == "Ann" && card.age == 31 && card.price == 7)
    #expect(context.insert(card) === card)
    #expect(card.isInserted && card.managedObjectContext === context && card.notes == ["awake Ann"])
    #expect(card.name == "Ann" && card.age == 31 && card.made == made && card.nick == "A")
    let plain = context.insert(DraftCard(name: "Bea"))
    context.insert(plain)
    card.nick = nil
    try context.save()
    #expect(context.faultErrors.isEmpty)
    let reader = store.makeContext()
    let found = try reader.fetch(DraftCard.self).sorted(by: \.name).all()
    #expect(found.map(\.name) == ["Ann", "Bea"] && found.map(\.age) == [31, 30])
    #expect(found[0].made == made && found[0].nick == nil && found[0].price == 7)
    try checkPending(context)
  }

  @Test func `objects that are connected before are inserted together, and inverses are set`() throws {
    let box = DraftBox()
    let cards = ["a", "b", "c"].map { DraftCard(name: $0, box: box) }
    #expect(cards[0].box === box && box.cards.isEmpty)
    cards[0].next = cards[1]
    let mark = DraftMark()
    mark.text = "m"
    cards[0].marks = [mark]
    cards[1].add(mark, to: \.marks)
    cards[2].add(mark, to: \.marks)
    cards[2].remove(mark, from: \.marks)
    #expect(cards[1].marks == [mark] && cards[2].marks.isEmpty)
    for card in cards { context.insert(card) }
    #expect(box.isInserted && mark.isInserted && box.cards == cards)
    #expect(mark.cards == [cards[0], cards[1]] && cards[0].next === cards[1])
    try context.save()
    let reader = store.makeContext()
    let read = try reader.fetch(DraftBox.self).one()
    #expect(read.cards.map(\.name) == ["a", "b", "c"] && read.cards[0].next?.name == "b")
    #expect(try reader.fetch(DraftMark.self).one().cards.count == 2)
  }

  @Test func `an ordered to-many keeps the order that was set`() throws {
    let box = DraftBox()
    let cards = ["c", "a", "b"].map { DraftCard(name: $0) }
    box.cards = cards
    box.cards.swapAt(0, 1)
    context.insert(box)
    #expect(box.cards.map(\.name) == ["a", "c", "b"] && cards[0].box === box)
    try context.save()
    let reader = store.makeContext()
    #expect(try reader.fetch(DraftBox.self).one().cards.map(\.name) == ["a", "c", "b"])
  }

  @Test func `a draft that an object of a context refers to is inserted`() throws {
    let box = context.insert(DraftBox.self)
    let (one, two) = (DraftCard(name: "one"), DraftCard(name: "two"))
    box.cards = [one]
    box.add(two, to: \.cards)
    #expect(one.isInserted && two.isInserted && box.cards == [one, two])
    let third = DraftCard(name: "third")
    two.next = third
    #expect(third.isInserted && two.next === third)
    try context.save()
    let reader = store.makeContext()
    #expect(try reader.fetch(DraftCard.self).count() == 3)
  }

  @Test func `objects that cannot be inserted are errors that name the reason`() throws {
    func reason(_ insert: (ObjectContext) -> Void) -> String {
      let context = store.makeContext()
      insert(context)
      return context.faultErrors.map { "\($0)" }.joined(separator: "; ")
    }
    let other = store.makeContext()
    let theirs = other.insert(DraftCard(name: "x"))
    #expect(reason { $0.insert(theirs) }.contains("it belongs to another context"))
    other.delete(theirs)
    #expect(reason { $0.insert(theirs) }.contains("it was deleted"))
    #expect(reason { $0.insert(DraftDerived()) }.contains("use insert(DraftDerived.self)"))
    #expect(reason { $0.insert(DraftStranger()) }.contains("DraftStranger is not in the store's schema"))
    #expect(reason { $0.insert(DraftBase()) } == "")
    let card = DraftCard(name: "later")
    #expect(throws: Never.self) { try context.save() }
    context.insert(card)
    context.insert(card)
    try context.save()
    #expect(try store.makeContext().fetch(DraftCard.self).count() == 1)
  }

  @Test func `a context that only reads leaves the draft as it is`() async throws {
    await #expect(throws: StoreError.readOnlyContext) {
      try await store.read { context in
        let card = DraftCard(name: "x")
        context.insert(card)
        #expect(card.name == "x" && card.state == .detached)
      }
    }
    let id = try await store.write { context in context.insert(DraftCard(name: "y")).id }
    #expect(try context.existing(id)?.name == "y")
  }

  @Test func `a value that cannot be stored is reported by the save`() throws {
    let card = DraftCard(name: "x")
    card.price = .nan
    context.insert(card)
    #expect {
      try context.save()
    } throws: {
      "\($0)".contains("DraftCard.price of new object -1 cannot be stored")
    }
    card.price = 2
    try context.save()
  }

  @Test func `an insertion of drafts is undone at once`() throws {
    context.undoManager = ContextUndoManager()
    let box = DraftBox()
    context.insert(DraftCard(name: "x", box: box))
    try context.undo()
    #expect(!context.hasChanges && box.state == .invalid)
    try context.redo()
    try context.save()
    #expect(box.cards.count == 1)
  }

  @Test func `a long chain of drafts is inserted and released without recursion`() throws {
    func chain() -> DraftCard {
      var last = DraftCard(name: "0")
      for number in 1..<100_000 {
        let card = DraftCard(name: "\(number)")
        card.next = last
        last = card
      }
      return last
    }
    _ = chain()
    context.insert(chain())
    try context.save()
    #expect(try store.makeContext().fetch(DraftCard.self).count() == 100_000)
  }
}
