// Updating the object with the key of each row, or inserting one.

import Foundation
import ObjectVault
import Synchronization
import TestSupport
import Testing

@Suite struct BulkUpsertTests {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(bulkSchema)
    context = temporary.store.makeContext()
  }

  @discardableResult
  private func upsert(_ rows: [BulkRow]) throws -> UpsertReport<ObjectID<BulkPerson>> {
    try context.upsert(rows, into: BulkPerson.self, on: \.remoteID, by: \.id) { $0.name = $1.name }
  }

  @Test func `rows insert, update or leave objects, stored and pending ones`() throws {
    let first = try upsert([BulkRow(id: 1, name: "Ann"), BulkRow(id: 2, name: "Bob")])
    #expect(first.counts == [2, 0, 0] && first.rows == 2)
    #expect(first.ids == nil)
    #expect(context.insertedObjects.count == 2)
    let second = try upsert([
      BulkRow(id: 2, name: "Bea"), BulkRow(id: 1, name: "Ann"), BulkRow(id: 3, name: "Cid"),
    ])
    #expect(second.counts == [1, 1, 1])
    try context.save()
    #expect(try store.bulkPeople() == [1: "Ann", 2: "Bea", 3: "Cid"])
    let third = try upsert([BulkRow(id: 1, name: "Ann"), BulkRow(id: 3, name: "Cid")])
    #expect(third.unchanged == 2 && !context.hasChanges)
    let fourth = try upsert([BulkRow(id: 3, name: "Cya")])
    #expect(fourth.updated == 1 && context.updatedObjects.count == 1)
  }

  @Test func `the key twice in the rows is one object, and each row counts`() throws {
    let report = try upsert([
      BulkRow(id: 1, name: "a"), BulkRow(id: 1, name: "b"), BulkRow(id: 1, name: "b"),
      BulkRow(id: 2, name: "c"),
      BulkRow(id: 1, name: "d"),
    ])
    #expect(report.counts == [2, 2, 1])
    try context.save()
    #expect(try store.bulkPeople() == [1: "d", 2: "c"])
  }

  @Test func `a value that is set and set back is unchanged, and the save writes nothing`() throws {
    try upsert([BulkRow(id: 1, name: "Ann")])
    try context.save()
    let report = try context.upsert([1], into: BulkPerson.self, on: \.remoteID, by: \.self) { person, _ in
      person.name = "other"
      person.name = "Ann"
    }
    #expect(report.unchanged == 1 && !context.hasChanges && context.updatedObjects.isEmpty)
    let ann = try context.fetch(BulkPerson.self).one()
    ann.name = "Bea"
    #expect(context.updatedObjects == [ann])
    try context.save()
    #expect(try store.bulkPeople() == [1: "Bea"])
  }

  @Test func `ids are reported for each row on request`() async throws {
    try upsert([BulkRow(id: 1, name: "Ann"), BulkRow(id: 2, name: "Bob")])
    try context.save()
    let known = try context.fetch(BulkPerson.self).sorted(by: \.remoteID).ids()
    let report = try await store.upsert(
      contentsOf: [BulkRow(id: 2, name: "Bob"), BulkRow(id: 3, name: "Cid"), BulkRow(id: 1, name: "Ada")],
      into: BulkPerson.self, on: \.remoteID, by: \.id, reportingIDs: true
    ) { $0.name = $1.name }
    #expect(report.ids?.unchanged == [known[1]] && report.ids?.updated == [known[0]])
    let cid = try #require(report.ids?.inserted.first)
    #expect(try store.makeContext().existing(cid)?.name == "Cid")
  }

  @Test func `changes of relationships count`() throws {
    let rome = context.insert(BulkTown.self) { ($0.country, $0.name) = ("IT", "Rome") }
    let tag = context.insert(BulkTag.self) { $0.name = "home" }
    func upsert(_ change: @escaping (BulkPerson) -> Void) throws -> [Int] {
      let report = try context.upsert([1], into: BulkPerson.self, on: \.remoteID, by: \.self) { person, _ in
        change(person)
      }
      return report.counts
    }
    for isSaving in [false, true] {
      context.delete(try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 1))
      try context.save()
      #expect(try upsert { _ in } == [1, 0, 0])
      if isSaving { try context.save() }
      #expect(try upsert { $0.town = rome } == [0, 1, 0])
      if isSaving { try context.save() }
      #expect(try upsert { $0.town = rome } == [0, 0, 1])
      #expect(try upsert { $0.tags.insert(tag) } == [0, 1, 0])
      if isSaving { try context.save() }
      #expect(try upsert { _ = $0.tags.count } == [0, 0, 1])
      #expect(try upsert { _ = $0.tags.remove(tag) } == [0, 1, 0])
      if isSaving { try context.save() }
      #expect(try upsert { tag.people.insert($0) } == [0, 1, 0])
    }
  }

  @Test func `rows without a key are an error with their position`() async throws {
    let rows = [BulkRow(id: 1, name: "a"), BulkRow(id: nil, name: "b"), BulkRow(id: 3, name: "c")]
    let error = StoreError.keyRefused(entity: "BulkPerson", property: "remoteID", row: 1, reason: "is nil")
    #expect(throws: error) { try upsert(rows) }
    #expect(
      error.description.hasPrefix("Row 1 (counted from 0) has no usable key: BulkPerson.remoteID is nil."))
    let many = (0..<700).map { BulkRow(id: $0 == 650 ? nil : $0, name: "a") }
    await #expect(
      throws: StoreError.keyRefused(entity: "BulkPerson", property: "remoteID", row: 650, reason: "is nil")
    ) {
      try await store.upsert(contentsOf: many, into: BulkPerson.self, on: \.remoteID, by: \.id) { _, _ in }
    }
    #expect(try store.bulkPeople().isEmpty)
    #expect(
      throws: StoreError.notUnique(entity: "BulkPerson", properties: ["name"], keys: ["remoteID", "mail"])
    ) {
      try context.upsert(rows, into: BulkPerson.self, on: \.name, by: \.name) { _, _ in }
    }
    #expect(throws: StoreError.self) {
      try context.upsert(
        [1], into: BulkTown.self, on: (\.country, \.name), by: { _ in ("IT", nil) }
      ) { _, _ in }
    }
  }

  @Test func `keys of several attributes and texts are compared as in the file`() async throws {
    let pairs = bulkTexts.flatMap { a in bulkTexts.map { (country: a, name: $0) } }
    for round in 0..<3 {
      let report =
        try round < 2
        ? context.upsert(
          pairs, into: BulkTown.self, on: (\.country, \.name), by: { ($0.country, $0.name) }
        ) { town, _ in town.size = 1 }
        : await store.upsert(
          contentsOf: pairs, into: BulkTown.self, on: (\.name, \.country), by: { ($0.name, $0.country) }
        ) { town, _ in town.size = 1 }
      #expect(round == 0 ? report.inserted == pairs.count : report.unchanged == pairs.count)
      if round == 1 { try context.save() }
    }
    let words = try context.upsert(bulkTexts, into: BulkWord.self, on: \.text, by: \.self) {
      $0.count += $1.utf8.count
    }
    #expect(words.inserted == bulkTexts.count)
    try context.save()
    let again = try await store.upsert(contentsOf: bulkTexts, into: BulkWord.self, on: \.text, by: \.self) {
      $0.count += $1.utf8.count
    }
    #expect(
      again.updated == bulkTexts.count { !$0.isEmpty } && again.unchanged == bulkTexts.count { $0.isEmpty })
    for word in try store.makeContext().fetch(BulkWord.self).all() {
      #expect(word.count == 2 * word.text.utf8.count)
    }
  }

  @Test func `a closure may insert, change and delete objects that later rows are about`() throws {
    try upsert((1...6).map { BulkRow(id: $0, name: "old") })
    try context.save()
    let context = context
    let report = try context.upsert(
      [10, 11, 1, 2, 3, 4, 12], into: BulkPerson.self, on: \.remoteID, by: \.self
    ) { person, id in
      switch id {
      case 10: try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 11) { $0.note = "found" }
      case 1: context.delete(try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 2))
      case 2: try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 3).remoteID = 30
      case 3:
        try context.findOrInsert(BulkPerson.self, where: \.remoteID, is: 12) { $0.note = "saved" }
        try context.save()
      default: break
      }
      person.name = "new"
    }
    // 10, 2 (deleted), and 3 (renamed) are new.
    #expect(report.counts == [3, 4, 0])
    try context.save()
    let notes = Dictionary(
      uniqueKeysWithValues: try store.makeContext().fetch(BulkPerson.self).all().map {
        ($0.remoteID, $0.note)
      })
    #expect(notes.keys.compactMap(\.self).sorted() == [1, 2, 3, 4, 5, 6, 10, 11, 12, 30])
    #expect(notes[11] == "found" && notes[12] == "saved")
  }

  @Test func `an object of another entity with the key is an error`() async throws {
    let firm = context.insert(BulkFirm.self) { $0.code = 7 }
    try context.save()
    await #expect(
      throws: StoreError.keyTaken(
        entity: "BulkHuman", properties: ["code"], holder: "BulkFirm", rowID: firm.id.rowID)
    ) {
      try await store.upsert(contentsOf: 1...9, into: BulkHuman.self, on: \.code, by: \.self) { _, _ in }
    }
    #expect(try store.makeContext().fetch(BulkParty.self).count() == 1)
    let report = try context.upsert(6...8, into: BulkParty.self, on: \.code, by: \.self) {
      $0.title = "\($1)"
    }
    #expect(report.counts == [2, 1, 0])
    #expect(firm.title == "7")
  }

  @Test func `an error of a row leaves what earlier rows have changed, and undo is one group`() throws {
    struct Refusal: Error {}
    try upsert((1...3).map { BulkRow(id: $0, name: "old") })
    try context.save()
    #expect(throws: Refusal.self) {
      try context.upsert(1...5, into: BulkPerson.self, on: \.remoteID, by: \.self) { person, id in
        if id == 5 { throw Refusal() }
        person.name = "new"
      }
    }
    #expect(context.updatedObjects.count == 3 && context.insertedObjects.count == 1)
    context.rollback()
    context.undoManager = ContextUndoManager()
    try context.upsert(1...5, into: BulkPerson.self, on: \.remoteID, by: \.self) { person, _ in
      person.name = "new"
    }
    try context.undo()
    #expect(try context.fetch(BulkPerson.self).all().map(\.name) == ["old", "old", "old"])
    try context.redo()
    #expect(try context.fetch(BulkPerson.self).all().map(\.name) == Array(repeating: "new", count: 5))
  }

  @Test func `another store's changes are met by the query, or by a conflict of the save`() async throws {
    try upsert((1...3).map { BulkRow(id: $0, name: "old") })
    try context.save()
    let kept = try context.fetch(BulkPerson.self).all()
    let again = try await temporary.again()
    defer { again.close() }
    try await again.upsert(contentsOf: [1, 9], into: BulkPerson.self, on: \.remoteID, by: \.self) {
      person, _ in
      person.note = "theirs"
    }
    let report = try upsert([BulkRow(id: 1, name: "mine"), BulkRow(id: 9, name: "mine")])
    #expect(report.updated == 2 && kept[0].note == "theirs")
    try context.save()
    kept[1].name = "mine"
    try await again.upsert(contentsOf: [2], into: BulkPerson.self, on: \.remoteID, by: \.self) { person, _ in
      person.note = "theirs"
    }
    try upsert([BulkRow(id: 2, name: "more")])
    #expect(throws: StoreError.self) { try context.save() }
  }

  @Test func `60,000 rows of which half exist are one transaction with few objects in memory`() async throws {
    try await store.insert(contentsOf: 0..<30_000, into: BulkPerson.self) {
      ($0.remoteID, $0.name) = (2 * $1, "old")
    }
    let most = Mutex(0)
    let rows = (0..<60_000).lazy.map { BulkRow(id: $0, name: $0 % 3 == 0 ? "old" : "new") }
    let report = try await store.upsert(contentsOf: rows, into: BulkPerson.self, on: \.remoteID, by: \.id) {
      person, row in
      person.name = row.name
      if row.name == "old", person.managedObjectContext?.registeredObjects.count ?? 0 > 1_500 {
        most.withLock { $0 += 1 }
      }
    }
    #expect(report.counts == [30_000, 20_000, 10_000])
    #expect(most.withLock(\.self) == 0)
    let people = try store.bulkPeople()
    #expect(people.count == 60_000 && people.allSatisfy { ($0 ?? 0) % 3 == 0 ? $1 == "old" : $1 == "new" })
  }

  @Test(arguments: [1, 64, 600, 1_999])
  func `a cancellation or a clash at any row writes nothing`(_ place: Int) async throws {
    try await store.insert(contentsOf: 0..<1_000, into: BulkPerson.self) {
      ($0.remoteID, $0.name) = (2 * $1, "old")
    }
    let before = try store.bulkPeople()
    let moment = BulkMoment()
    let task = Task { [store] in
      try await store.upsert(contentsOf: 0..<2_000, into: BulkPerson.self, on: \.remoteID, by: \.self) {
        person, number in
        person.name = "new"
        if number == place { moment.hold() }
      }
    }
    await moment.reached()
    task.cancel()
    moment.release()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try store.bulkPeople() == before)
    await #expect(throws: StoreError.self) {
      try await store.upsert(contentsOf: 0..<2_000, into: BulkPerson.self, on: \.remoteID, by: \.self) {
        person, number in
        person.mail = number == place ? "0" : "\(number)"
      }
    }
    #expect(try store.bulkPeople() == before)
  }

  @Test func `a write and a pooled context upsert alike`() async throws {
    let report = try await store.write { context in
      try context.upsert(1...3, into: BulkPerson.self, on: \.remoteID, by: \.self, reportingIDs: true) {
        $0.name = "\($1)"
      }
    }
    #expect(report.ids?.inserted.allSatisfy { !$0.isTemporary } == true)
    let waited = try waiting()
    #expect(waited == 3)
    #expect(try store.bulkPeople() == [1: "1", 2: "2", 3: "3", 4: "4", 5: "5", 6: "6"])
    await #expect(throws: StoreError.readOnlyContext) {
      try await store.read { context in
        _ = try context.upsert([1], into: BulkPerson.self, on: \.remoteID, by: \.self) { _, _ in }
      }
    }
  }

  private func waiting() throws -> Int {
    try store.writeAndWait { context in
      try context.upsert(4...6, into: BulkPerson.self, on: \.remoteID, by: \.self) { $0.name = "\($1)" }
        .inserted
    }
  }

  @Test func `a store without classes upserts by names`() async throws {
    try upsert([BulkRow(id: 1, name: "Ann")])
    try context.save()
    let dynamic = try await Store.open(at: store.url, key: testKey)
    defer { dynamic.close() }
    let other = dynamic.makeContext()
    let report = try other.upsert(1...2, entity: "BulkPerson", on: "remoteID", by: { $0 }, reportingIDs: true)
    {
      $0["name"] = "n\($1)"
    }
    #expect(report.counts == [1, 1, 0])
    #expect(report.ids?.updated.first?.entity == "BulkPerson")
    try other.save()
    let rows: [[String: any AttributeValue & Sendable]] = [
      ["c": "IT", "n": "Rome"], ["c": "IT", "n": "Bari"],
    ]
    for round in 0..<2 {
      let towns = try await dynamic.upsert(
        contentsOf: rows, entity: "BulkTown", on: ["name", "country"], by: { [$0["n"], $0["c"]] }
      ) { town, _ in town["size"] = 3 }
      #expect(round == 0 ? towns.inserted == 2 : towns.unchanged == 2)
    }
    await #expect(
      throws: StoreError.keyRefused(
        entity: "BulkPerson", property: "remoteID", row: 1,
        reason: "cannot be stored: a value of type string is not a value of type int")
    ) {
      let keys: [any AttributeValue & Sendable] = [1, "1"]
      try await dynamic.upsert(contentsOf: keys, entity: "BulkPerson", on: "remoteID", by: { $0 }) { _, _ in }
    }
    #expect(throws: StoreError.self) {
      try other.upsert(rows, entity: "BulkTown", on: ["name", "country"], by: { [$0["n"]] }) { _, _ in }
    }
    #expect(try store.bulkPeople() == [1: "n1", 2: "n2"])
  }
}
