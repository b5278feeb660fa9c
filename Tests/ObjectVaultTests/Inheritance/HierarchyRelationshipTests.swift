// Relationships to, from and within entities that share a table: faults, prefetching, inverses, delete
// rules.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct HierarchyRelationships {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(company) }

  /// Inserts this number of employees in one town, each with a mentor of another class.
  private func fill(_ count: Int) throws {
    let context = store.makeContext()
    let town = context.insert(Town.self)
    let boss = context.insert(Manager.self) { ($0.key, $0.level) = (0, 1) }
    for key in 1...count {
      let mentor = key % 2 == 0 ? context.insert(Person.self) : context.insert(Manager.self) { $0.level = 2 }
      mentor.key = 1000 + key
      context.insert(Employee.self) { ($0.key, $0.mentor, $0.boss, $0.town) = (key, mentor, boss, town) }
    }
    try context.save()
  }

  @Test func `a to-one to an entity with subentities is read at once, as an object of its class`() throws {
    try fill(2)
    let context = store.makeContext()
    let found = try context.fetch(Employee.self).where("key IN {1, 2}").sorted(by: \.key).all()
    let queries = context.statistics.queries
    #expect(found[0].mentor is Manager)
    #expect(found[0].mentor?.isFault == false)
    #expect(context.statistics.queries == queries + 1)
    #expect(found[1].mentor.map { type(of: $0) == Person.self } == true)
    // Manager has no subentity, so the boss is a fault until it is used.
    #expect(found[0].boss?.isFault == true)
    #expect(found[0].boss === found[1].boss)
    #expect(found[0].boss?.key == 0)
  }

  @Test func `a prefetch reads all objects of a hierarchy with one query`() throws {
    try fill(20)
    let context = store.makeContext()
    let employees = try context.fetch(Employee.self).where("key > 0 AND key < 1000").prefetch(\.mentor)
      .prefetch(\.boss).all()
    #expect(employees.count == 20)
    #expect(context.statistics.queries == 3)
    #expect(employees.filter { $0.mentor is Manager }.count == 10)
    #expect(employees.allSatisfy { $0.boss?.key == 0 && ($0.mentor?.key ?? 0) == 1000 + $0.key })
    #expect(context.statistics.queries == 3)
    let other = store.makeContext()
    let town = try other.fetch(Town.self).prefetch(\.people).one()
    #expect(other.statistics.queries == 2)
    #expect(town.people.count == 20 && town.people.allSatisfy { $0 is Employee })
    #expect(other.statistics.queries == 2)
    let filling = store.makeContext()
    let second = filling.insert(Town.self) { $0.key = 2 }
    for mentor in try filling.fetch(Person.self).where("key >= 1000").all() { mentor.town = second }
    try filling.save()
    let third = store.makeContext()
    // After a to-one to persons the path continues with properties of persons.
    let all = try third.fetch(Employee.self).prefetch(\.mentor?.town).all()
    #expect(all.count == 31 && third.statistics.queries == 3)
    #expect(all.filter { $0.mentor?.town?.key == 2 }.count == 20 && third.statistics.queries == 3)
  }

  @Test func `both ends of a relationship within a hierarchy agree, before and after a save`() throws {
    let context = store.makeContext()
    let manager = context.insert(Manager.self) { $0.level = 1 }
    let (one, two) = (context.insert(Employee.self), context.insert(Employee.self))
    let person = context.insert(Person.self)
    one.boss = manager
    manager.staff.insert(two)
    (manager.mentor, person.mentor) = (person, manager)
    let circle = context.insert(Circle.self)
    circle.members = [manager, one, person]
    two.circles.insert(circle)
    func check(_ context: ObjectContext) throws {
      let manager = try context.fetch(Manager.self).one()
      #expect(manager.staff.count == 2)
      #expect(manager.staff.allSatisfy { $0.boss === manager })
      #expect(manager.mentor?.mentor === manager)
      #expect(manager.pupils.count == 1 && manager.pupils.first?.pupils == [manager])
      let circle = try context.fetch(Circle.self).one()
      #expect(circle.members.count == 4)
      #expect(circle.members.allSatisfy { $0.circles.contains(circle) })
    }
    try check(context)
    try context.save()
    try check(context)
    try check(store.makeContext())
    one.boss = nil
    circle.members.remove(person)
    try context.save()
    let other = store.makeContext()
    #expect(try other.fetch(Manager.self).one().staff.count == 1)
    #expect(try other.fetch(Circle.self).one().members.allSatisfy { $0 is Employee })
    #expect(context.faultErrors.isEmpty)
  }

  @Test func `a deletion follows the delete rules of each object's own class`() async throws {
    let setup = store.makeContext()
    let crew = setup.insert(Crew.self)
    let manager = setup.insert(Manager.self) { ($0.key, $0.level) = (1, 1) }
    let employee = setup.insert(Employee.self) { ($0.key, $0.boss) = (2, manager) }
    crew.members = [setup.insert(Person.self) { $0.key = 3 }, employee, manager]
    setup.insert(Tool.self) { $0.owner = employee }
    setup.insert(Tool.self) { $0.owner = manager }
    setup.insert(Town.self) { $0.mayor = employee }
    let pupil = setup.insert(Person.self) { ($0.key, $0.mentor) = (4, employee) }
    try setup.save()

    let denied = store.makeContext()
    let signer = try denied.fetch(Manager.self).one()
    denied.insert(Contract.self) { $0.signer = signer }
    try denied.save()
    denied.delete(try denied.fetch(Crew.self).one())
    #expect(throws: StoreError.deleteDenied(entity: "Manager", rowID: 1, property: "contracts", count: 1)) {
      try denied.save()
    }
    denied.rollback()
    denied.delete(try denied.fetch(Contract.self).one())
    try denied.save()

    // No member of the crew is in memory.
    let context = store.makeContext()
    context.delete(try context.fetch(Crew.self).one())
    #expect(try context.fetch(Person.self).all().map(\.key) == [4])
    #expect(try context.fetch(Tool.self).count() == 0)
    try context.save()
    #expect(try context.fetch(Person.self).all().map(\.key) == [4])
    #expect(try context.fetch(Tool.self).count() == 0)
    #expect(try context.fetch(Town.self).one().mayor == nil)
    #expect(try context.fetch(Person.self).one().mentor == nil)
    setup.refresh(pupil)
    #expect(pupil.mentor == nil)
    #expect(try await store.verify() == [])
  }

  @Test func `an object that a child entity requires cannot be deleted, loaded or not`() async throws {
    let context = store.makeContext()
    let host = context.insert(Employee.self) { $0.key = 1 }
    context.insert(Visitor.self) { ($0.key, $0.host) = (2, host) }
    try context.save()
    let isRefusal: (any Error) throws -> Bool = { error in
      guard case StoreError.validation(let failures) = error, let first = failures.first else { return false }
      return failures.count == 1 && first.entity == "Visitor" && first.property == "host" && first.rowID == 2
    }
    for isHeld in [false, true] {
      let context = store.makeContext()
      let held = isHeld ? try context.fetch(Visitor.self).all() : []
      context.delete(try context.fetch(Employee.self).one())
      #expect(performing: { try context.save() }, throws: isRefusal)
      await #expect(
        performing: {
          try await store.write { context in
            let held = isHeld ? try context.fetch(Visitor.self).all() : []
            context.delete(try context.fetch(Employee.self).one())
            // A fetch that would write the deletion first.
            #expect(try context.fetch(Visitor.self).count() == 1)
            withExtendedLifetime(held) {}
          }
        }, throws: isRefusal)
      withExtendedLifetime(held) {}
    }
    #expect(try await store.verify().isEmpty)
    let both = store.makeContext()
    #expect(try both.fetch(Visitor.self).one().host?.key == 1)
    both.delete(try both.fetch(Employee.self).one())
    both.delete(try both.fetch(Visitor.self).one())
    try both.save()
    #expect(try store.makeContext().fetch(Person.self).count() == 0)
  }

  @Test func `an ordered relationship can have members of all classes`() throws {
    let context = store.makeContext()
    let crew = context.insert(Crew.self)
    let people: [Person] = [
      context.insert(Employee.self) { $0.key = 1 }, context.insert(Person.self) { $0.key = 2 },
      context.insert(Manager.self) { ($0.key, $0.level) = (3, 1) },
    ]
    crew.members = people
    try context.save()
    crew.members.swapAt(0, 2)
    try context.save()
    let other = store.makeContext()
    #expect(try other.fetch(Crew.self).one().members.map(\.key) == [3, 2, 1])
    #expect(try other.fetch(Crew.self).prefetch(\.members).one().members.first is Manager)
  }

  @Test func `an error of an inherited relationship names the object's own entity`() throws {
    let (context, other) = (store.makeContext(), store.makeContext())
    let (employee, stranger) = (context.insert(Employee.self), other.insert(Person.self))
    employee.mentor = stranger
    #expect(throws: StoreError.foreignObject(entity: "Employee", property: "mentor")) { try context.save() }
  }

  @Test func `a reference to a row that was deleted elsewhere is nil and reports an error`() throws {
    let context = store.makeContext()
    let mentor = context.insert(Person.self) { $0.key = 1 }
    context.insert(Employee.self) { ($0.key, $0.mentor) = (2, mentor) }
    try context.save()
    let other = store.makeContext()
    let employee = try other.fetch(Employee.self).one()
    context.delete(mentor)
    try context.save()
    #expect(employee.mentor == nil)
    #expect(other.faultErrors.count == 1)
    #expect(throws: StoreError.objectGone(entity: "Person", rowID: 1)) { try other.save() }
  }

  @Test func `a fault of a class with subclasses reads its row again as its own class`() throws {
    let context = store.makeContext()
    let person = context.insert(Person.self) { ($0.key, $0.name) = (1, "Ann") }
    let manager = context.insert(Manager.self) { ($0.key, $0.level, $0.mentor) = (2, 3, person) }
    try context.save()
    let other = store.makeContext()
    try other.fetch(Person.self).where("key == 1").one().name = "Bea"
    try other.fetch(Manager.self).one().level = 4
    try other.save()
    context.refresh(person)
    context.refresh(manager)
    #expect(person.isFault && manager.isFault)
    #expect(person.name == "Bea" && manager.level == 4 && manager.mentor === person)
    manager.level = 5
    context.rollback()
    #expect(manager.level == 4)
  }

  @Test func `a conflict names the object's own entity`() throws {
    let (one, two) = (store.makeContext(), store.makeContext())
    one.insert(Manager.self) { ($0.key, $0.level) = (1, 1) }
    try one.save()
    try one.fetch(Person.self).one().name = "A"
    try two.fetch(Manager.self).one().name = "B"
    try two.save()
    #expect {
      try one.save()
    } throws: { error in
      guard case StoreError.conflicts(let all) = error, let conflict = all.first else { return false }
      return conflict.entity == "Manager" && conflict.properties == ["name"]
    }
  }
}
