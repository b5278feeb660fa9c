// The change feed of an inheritance hierarchy, replayed in another store, and its objects without classes.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct HierarchyChanges {
  @Test func `a change names the object's own entity, and the feed rebuilds the hierarchy elsewhere`()
    async throws
  {
    let temporary = try await TemporaryStore(company)
    let store = temporary.store
    let feed = store.changes()
    let context = store.makeContext()
    let crew = context.insert(Crew.self)
    let manager = context.insert(Manager.self) { ($0.key, $0.number, $0.level) = (1, 1, 2) }
    let employee = context.insert(Employee.self) { ($0.key, $0.number, $0.boss) = (2, 2, manager) }
    let person = context.insert(Person.self) { ($0.key, $0.mentor) = (3, employee) }
    crew.members = [manager, person]
    let circle = context.insert(Circle.self) { $0.members = [employee, person] }
    try context.save()
    (employee.salary, manager.name) = (200, "Max")
    circle.members.insert(manager)
    try context.save()
    (employee.number, manager.number) = (1, 2)
    crew.members.swapAt(0, 1)
    try context.save()
    context.delete(employee)
    try context.save()
    let other = store.makeContext()
    other.delete(try other.fetch(Crew.self).one())
    try other.save()
    let origin = try ChangeReplays.content(store)
    store.close()
    let sets = try await ChangeReplays.all(feed)
    #expect(sets.count == 5)
    #expect(Set(sets[0].inserted.map(\.entity)) == ["Crew", "Manager", "Employee", "Person", "Circle"])
    #expect(Set(sets[1].updated.map(\.entity)) == ["Employee", "Manager"])
    #expect(sets[3].deleted.map(\.entity) == ["Employee"])
    #expect(sets[3].updated.map { "\($0.entity).\($0.properties)" } == ["Person.[\"mentor\"]"])
    #expect(Set(sets[4].deleted.map(\.entity)) == ["Crew", "Manager", "Person"])
    try await ChangeReplays.replay(sets, of: origin, in: company)
  }

  @Test func `changes that name another entity of the hierarchy are refused`() async throws {
    let store = try await TemporaryStore(company)
    let context = store.store.makeContext()
    context.insert(Person.self) { $0.key = 1 }
    context.insert(Manager.self) { ($0.key, $0.level) = (2, 1) }
    try context.save()
    func misfit(_ changes: ChangeSet, entity: String, properties: [String] = []) async {
      await #expect(throws: StoreError.changesDoNotFit(entity: entity, rowID: 1, properties: properties)) {
        try await store.store.apply(changes)
      }
    }
    await misfit(
      ChangeSet(updated: [.init(entity: "Employee", rowID: 1, old: ["key": 1], new: ["key": 2])]),
      entity: "Employee")
    await misfit(
      ChangeSet(inserted: [
        .init(entity: "Employee", rowID: 1, values: ["key": 1, "name": "x", "salary": 1])
      ]), entity: "Employee")
    // The name of the parent does not fit either.
    await #expect(throws: StoreError.changesDoNotFit(entity: "Person", rowID: 2, properties: [])) {
      try await store.store.apply(
        ChangeSet(updated: [.init(entity: "Person", rowID: 2, old: ["key": 2], new: ["key": 3])]))
    }
    let boss = ChangeSet(inserted: [
      .init(
        entity: "Employee", rowID: 9, values: ["key": 1, "name": "x", "salary": 1, "boss": .integer(1)])
    ])
    await #expect(throws: StoreError.changesDoNotFit(entity: "Employee", rowID: 9, properties: ["boss"])) {
      try await store.store.apply(boss)
    }
    try await store.store.apply(
      ChangeSet(inserted: [
        .init(
          entity: "Employee", rowID: 9, values: ["key": 1, "name": "x", "salary": 1, "boss": .integer(2)])
      ]))
    let other = store.store.makeContext()
    #expect(try other.fetch(Manager.self).one().staff.count == 1)
  }

  @Test func `objects without classes have their own entity, too`() async throws {
    let temporary = try await TemporaryStore(company)
    let setup = temporary.store.makeContext()
    let manager = setup.insert(Manager.self) { ($0.key, $0.level) = (1, 3) }
    setup.insert(Employee.self) { ($0.key, $0.boss, $0.mentor) = (2, manager, manager) }
    setup.insert(Person.self) { $0.key = 3 }
    try setup.save()
    let store = try await Store.open(at: temporary.store.url, key: testKey)
    let context = store.makeContext()
    let found = try context.fetch(entity: "Person").sorted(byPath: "key").all()
    #expect(found.map(\.entityName) == ["Manager", "Employee", "Person"])
    #expect(found[0]["level"] == 3 && found[1][toOne: "boss"] === found[0])
    #expect(found[1][toOne: "mentor"] === found[0] && found[0][toMany: "pupils"] == [found[1]])
    #expect(try context.fetch(entity: "Employee").includingSubentities(false).count() == 1)
    #expect(try context.existing(DynamicID(entity: "Person", rowID: 1)) === found[0])
    #expect(try context.existing(DynamicID(entity: "Employee", rowID: 3)) == nil)
    #expect(throws: StoreError.self) { try found[1].set("boss", toOne: found[2]) }
    #expect(throws: StoreError.self) { try found[2].set("salary", to: 3) }
    try found[2].set("mentor", toOne: found[1])
    let visitor = try context.insert(entity: "Visitor") { $0[toOne: "host"] = found[0] }
    try context.save()
    #expect(found[1][toMany: "pupils"] == [found[2]])
    #expect(visitor["name"] == "nobody")
    #expect(try setup.fetch(Visitor.self).one().host === manager)
  }
}
