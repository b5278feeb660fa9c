// Finding an object by a unique key, or inserting it.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct BulkFindOrInsertTests {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(bulkSchema)
    context = temporary.store.makeContext()
  }

  @Test func `a stored, a pending and a changed object are found, and the closure runs for a new one`() throws
  {
    let ann = context.insert(BulkPerson.self) { ($0.remoteID, $0.name) = (1, "Ann") }
    try context.save()
    var calls = 0
    func find(_ id: Int) throws -> BulkPerson {
      try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: id) { person in
        calls += 1
        #expect(person.remoteID == id)
        person.name = "new \(id)"
      }
    }
    #expect(try find(1) === ann)
    let bob = try find(2)
    #expect(calls == 1 && bob.remoteID == 2 && bob.name == "new 2")
    #expect(try find(2) === bob)
    ann.remoteID = 5
    #expect(try find(5) === ann)
    #expect(calls == 1)
    let again = try find(1)
    #expect(again !== ann && calls == 2)
    context.delete(bob)
    #expect(try find(2) !== bob)
    #expect(calls == 3)
    try context.save()
    #expect(try store.bulkPeople() == [5: "Ann", 1: "new 1", 2: "new 2"])
    let other = store.makeContext()
    #expect(try other.findOrInsert(BulkPerson.self, where: \.remoteID, is: 5).name == "Ann")
    #expect(!other.hasChanges)
  }

  @Test func `an object whose row another store has changed meanwhile is found by its present key`()
    async throws
  {
    try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 1) { $0.name = "Ann" }
    try context.save()
    let ann = try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 1)
    let again = try await temporary.again()
    try await again.write { try $0.findOrInsert(BulkPerson.self, where: \.remoteID, is: 1).remoteID = 8 }
    again.close()
    #expect(try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 8) === ann)
    #expect(try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 1) !== ann)
    try context.save()
    #expect(try store.bulkPeople().keys.compactMap(\.self).sorted() == [1, 8])
  }

  @Test func `an object that a pending cascade deletes is not found`() throws {
    let rome = context.insert(BulkTown.self) { ($0.country, $0.name) = ("IT", "Rome") }
    let ann = try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 1) { $0.town = rome }
    try context.save()
    context.delete(rome)
    let other = try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 1) { $0.name = "other" }
    #expect(other !== ann)
    try context.save()
    #expect(try store.bulkPeople() == [1: "other"])
  }

  @Test func `a loop with thousands of pending objects takes linear time`() async throws {
    let store = store
    let factor = try await timeFactor(from: 500, to: 4_000, below: 20) { count in
      let context = store.makeContext()
      return try threadTime {
        for number in 0..<count {
          try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: number / 2) { $0.name = "a" }
        }
      }
    }
    #expect(factor < 20)
  }

  @Test func `two attributes that are unique together are a key, in any order`() throws {
    let rome = try context.findOrInsert(BulkTown.self, where: (\.country, \.name), is: ("IT", "Rome")) {
      $0.size = 3
    }
    #expect(rome.country == "IT" && rome.name == "Rome")
    #expect(try context.findOrInsert(BulkTown.self, where: (\.name, \.country), is: ("Rome", "IT")) === rome)
    try context.findOrInsert(BulkTown.self, where: (\.country, \.name), is: ("US", "Rome"))
    try context.save()
    #expect(try context.findOrInsert(BulkTown.self, where: (\.country, \.name), is: ("IT", "Rome")) === rome)
    #expect(try context.fetch(BulkTown.self).count() == 2)
  }

  @Test func `texts are compared by their bytes, and numbers by their values`() throws {
    for isSaving in [false, true] {
      let made = try bulkTexts.map { text in
        try context.findOrInsert(BulkWord.self, where: \.text, is: text)
      }
      #expect(Set(made.map(ObjectIdentifier.init)).count == bulkTexts.count)
      for (text, word) in zip(bulkTexts, made) {
        #expect(Array(word.text.utf8) == Array(text.utf8))
        #expect(try context.findOrInsert(BulkWord.self, where: \.text, is: text) === word)
      }
      if isSaving { try context.save() }
    }
    let words = try context.fetch(BulkWord.self).all()
    #expect(words.count == bulkTexts.count)
    words[0].price = Decimal(string: "1.50")
    words[1].weight = 0.0
    #expect(try context.findOrInsert(BulkWord.self, where: \.price, is: 1.5) === words[0])
    #expect(try context.findOrInsert(BulkWord.self, where: \.weight, is: -0.0) === words[1])
    try context.save()
    #expect(try context.findOrInsert(BulkWord.self, where: \.price, is: 1.5) === words[0])
    #expect(try context.findOrInsert(BulkWord.self, where: \.weight, is: -0.0) === words[1])
  }

  @Test func `keys that identify no object are errors with the remedy`() throws {
    func error(_ body: () throws -> Void) -> StoreError? {
      do { try body() } catch { return error as? StoreError }
      return nil
    }
    let name = error { try context.findOrInsert(BulkPerson.self, where: \.name, is: "Ann") }
    #expect(
      name == StoreError.notUnique(entity: "BulkPerson", properties: ["name"], keys: ["remoteID", "mail"]))
    #expect(name?.description.contains("@Attribute(.unique)") == true)
    let pair = error { try context.findOrInsert(BulkPerson.self, where: (\.name, \.mail), is: ("a", "b")) }
    #expect(pair?.description.contains(#"Entity(BulkPerson.self).unique(\.name, \.mail)"#) == true)
    let part = error { try context.findOrInsert(BulkTown.self, where: \.name, is: "Rome") }
    #expect(part == StoreError.notUnique(entity: "BulkTown", properties: ["name"], keys: ["country, name"]))
    #expect(
      error { try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: nil) }
        == StoreError.keyRefused(entity: "BulkPerson", property: "remoteID", row: nil, reason: "is nil"))
    #expect(
      error { try context.findOrInsert(BulkWord.self, where: \.weight, is: .nan) }
        == StoreError.keyRefused(
          entity: "BulkWord", property: "weight", row: nil,
          reason: "cannot be stored: NaN cannot be stored; use an optional and nil"))
    #expect(
      error { try context.findOrInsert(Author.self, where: \.name, is: "a") }
        == StoreError.unknownEntity(name: "Author"))
    #expect(!context.hasChanges)
  }

  @Test func `a context that may only read finds, and inserts nothing`() async throws {
    try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 1) { $0.name = "Ann" }
    try context.save()
    let name = try await store.read { context in
      #expect(throws: StoreError.readOnlyContext) {
        try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 2)
      }
      return try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 1).name
    }
    #expect(name == "Ann")
  }

  @Test func `a closure that throws removes the object`() throws {
    struct Refusal: Error {}
    #expect(throws: Refusal.self) {
      try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 2) { _ in throw Refusal() }
    }
    #expect(!context.hasChanges)
    #expect(try context.fetch(BulkPerson.self).count() == 0)
  }

  @Test func `a key of the parent that an object of another entity has is an error`() throws {
    for isSaving in [false, true] {
      let firm = try context.findOrInsert(BulkFirm.self, where: \.code, is: 7) { $0.title = "Acme" }
      let bank = try context.findOrInsert(BulkBank.self, where: \.code, is: 8)
      if isSaving { try context.save() }
      #expect(try context.findOrInsert(BulkParty.self, where: \.code, is: 7) === firm)
      #expect(try context.findOrInsert(BulkFirm.self, where: \.code, is: 8) === bank)
      for isChild in [false, true] {
        do {
          if isChild {
            try context.findOrInsert(BulkBank.self, where: \.code, is: 7)
          } else {
            try context.findOrInsert(BulkHuman.self, where: \.code, is: 7)
          }
          Issue.record("an object was found or inserted")
        } catch StoreError.keyTaken(let entity, let properties, let holder, let rowID) {
          #expect(entity == (isChild ? "BulkBank" : "BulkHuman"))
          #expect(properties == ["code"] && holder == "BulkFirm" && rowID == firm.id.rowID)
        }
      }
    }
    #expect(try context.findOrInsert(BulkBank.self, where: \.swift, is: "X") { $0.code = 9 }.code == 9)
    try context.save()
    #expect(try context.fetch(BulkParty.self).count() == 3)
  }

  @Test func `a new object and its values are one undo`() throws {
    context.undoManager = ContextUndoManager()
    try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 2) { $0.name = "Ann" }
    try context.undo()
    #expect(try context.fetch(BulkPerson.self).count() == 0)
    try context.redo()
    #expect(try context.fetch(BulkPerson.self).all().map(\.name) == ["Ann"])
  }

  @Test func `a store without classes finds by names`() async throws {
    try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 1) { $0.name = "Ann" }
    try context.findOrInsert(BulkTown.self, where: (\.country, \.name), is: ("IT", "Rome"))
    try context.save()
    let dynamic = try await Store.open(at: store.url, key: testKey)
    defer { dynamic.close() }
    let other = dynamic.makeContext()
    let ann = try other.findOrInsert(entity: "BulkPerson", where: "remoteID", is: Int16(1))
    #expect((ann["name"] as String) == "Ann")
    let bob = try other.findOrInsert(entity: "BulkPerson", where: "remoteID", is: 2) { $0["name"] = "Bob" }
    #expect(try other.findOrInsert(entity: "BulkPerson", where: "remoteID", is: 2) === bob)
    let rome = try other.findOrInsert(
      entity: "BulkTown", where: ["name", "country"], is: ["Rome", "IT"])
    #expect(!rome.id.isTemporary)
    #expect(
      throws: StoreError.notUnique(entity: "BulkPerson", properties: ["name"], keys: ["mail", "remoteID"])
    ) {
      try other.findOrInsert(entity: "BulkPerson", where: "name", is: "Ann")
    }
    #expect(throws: StoreError.noProperty(entity: "BulkPerson", property: "remoteIDs", similar: ["remoteID"]))
    {
      try other.findOrInsert(entity: "BulkPerson", where: "remoteIDs", is: 1)
    }
    #expect(throws: StoreError.self) {
      try other.findOrInsert(entity: "BulkPerson", where: "remoteID", is: "1")
    }
    #expect(throws: StoreError.self) { try other.findOrInsert(entity: "BulkPerson", where: "town", is: 1) }
    #expect(throws: StoreError.self) {
      try other.findOrInsert(entity: "BulkTown", where: ["name"], is: ["a"])
    }
    #expect(throws: StoreError.openedWithClasses(entity: "BulkTag")) {
      try context.findOrInsert(entity: "BulkTag", where: "name", is: "a")
    }
    try other.save()
    #expect(try store.bulkPeople() == [1: "Ann", 2: "Bob"])
  }
}
