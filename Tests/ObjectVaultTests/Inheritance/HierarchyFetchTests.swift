// Fetches of entities that share a table: which rows they find, as objects of which class.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct HierarchyFetches {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  /// Two persons, two employees, a manager, a visitor.
  init() async throws {
    temporary = try await TemporaryStore(company)
    let context = store.makeContext()
    let town = context.insert(Town.self) { $0.name = "Basel" }
    context.insert(Person.self) { ($0.key, $0.name, $0.town) = (1, "Ann", town) }
    let boss = context.insert(Manager.self) {
      ($0.key, $0.name, $0.number, $0.salary, $0.level) = (2, "Max", 1, 900, 4)
    }
    let employee = context.insert(Employee.self) {
      ($0.key, $0.name, $0.number, $0.salary, $0.boss) = (3, "Eve", 2, 500, boss)
      $0.town = town
    }
    context.insert(Visitor.self) { ($0.key, $0.name, $0.host) = (4, "Vic", employee) }
    context.insert(Employee.self) { ($0.key, $0.name, $0.number, $0.boss) = (5, "Ned", 3, boss) }
    context.insert(Person.self) { ($0.key, $0.name, $0.mentor) = (6, "Pia", employee) }
    try context.save()
  }

  @Test func `a fetch includes subentities, as objects of their own classes`() throws {
    let context = store.makeContext()
    let all = try context.fetch(Person.self).all()
    #expect(all.map(\.key) == [1, 2, 3, 4, 5, 6])
    #expect(
      all.map { "\(type(of: $0))" } == ["Person", "Manager", "Employee", "Visitor", "Employee", "Person"])
    #expect((all[1] as? Manager)?.level == 4)
    let employees = try context.fetch(Employee.self).all()
    #expect(employees.map(\.key) == [2, 3, 5] && employees[0] === all[1])
    #expect(employees.map(\.salary) == [900, 500, 100])
    #expect(try context.fetch(Manager.self).one() === all[1])
    #expect(try context.fetch(Visitor.self).one() === all[3])
    #expect((try context.fetch(Visitor.self).one()).host === all[2])
    #expect(context.faultErrors.isEmpty)
  }

  @Test func `a fetch by a class that is known only at run time fetches that class`() throws {
    let context = store.makeContext()
    let types: [Person.Type] = [Person.self, Employee.self, Manager.self, Visitor.self]
    #expect(try types.map { try context.fetch($0).count() } == [6, 3, 1, 1])
    #expect(try types.map { try context.fetch($0).includingSubentities(false).all().count } == [2, 2, 1, 1])
    for type in types {
      let named = try context.fetch(type).where(#Predicate { $0.key > 0 }).sorted(by: \.name).all()
      #expect(named.map(\.name) == named.map(\.name).sorted())
      #expect(try named.count == context.fetch(type).count())
    }
  }

  @Test func `a fetch without subentities finds only objects of the entity itself`() throws {
    let context = store.makeContext()
    let persons = context.fetch(Person.self).includingSubentities(false)
    #expect(try persons.all().map(\.key) == [1, 6])
    #expect(try persons.count() == 2 && persons.ids().map(\.rowID) == [1, 6])
    #expect(try context.fetch(Employee.self).includingSubentities(false).all().map(\.key) == [3, 5])
    #expect(try context.fetch(Manager.self).includingSubentities(false).count() == 1)
    #expect(try context.fetch(Town.self).includingSubentities(false).count() == 1)
    // Pending objects take part like saved ones.
    context.insert(Manager.self) { ($0.key, $0.number, $0.level) = (7, 9, 1) }
    context.insert(Person.self) { $0.key = 8 }
    #expect(try persons.all().map(\.key) == [1, 6, 8])
    #expect(try context.fetch(Person.self).all().map(\.key) == [1, 2, 3, 4, 5, 6, 7, 8])
    #expect(try context.fetch(Employee.self).count() == 4)
  }

  @Test func `counts, ids, sorts, limits and predicates apply to the fetched entity`() throws {
    let context = store.makeContext()
    #expect(try context.fetch(Person.self).count() == 6 && context.fetch(Employee.self).count() == 3)
    #expect(try context.fetch(Employee.self).ids().map(\.rowID).sorted() == [2, 3, 5])
    #expect(try context.fetch(Visitor.self).where("key == 3").exists() == false)
    #expect(
      try context.fetch(Employee.self).sorted(by: \.name).all().map(\.name) == ["Eve", "Max", "Ned"])
    #expect(
      try context.fetch(Employee.self).sorted(by: \.salary, .reverse).limit(1).all().map(\.name) == ["Max"])
    #expect(
      try context.fetch(Person.self).sorted(by: \.name).offset(1).limit(3).all().map(\.name)
        == ["Eve", "Max", "Ned"])
    #expect(
      try context.fetch(Employee.self).where(#Predicate { $0.name == "Eve" && $0.salary > 100 }).all().map(
        \.key)
        == [3])
    #expect(
      try context.fetch(Employee.self).where("boss.level > 3 AND name != 'Ned'").all().map(\.key) == [3])
    #expect(try context.fetch(Visitor.self).where("host.boss.level == 4").count() == 1)
    #expect(
      try context.fetch(Employee.self).where(#Predicate { $0.boss?.name == "Max" }).sorted(by: \.key).all()
        .map(\.key) == [3, 5])
    #expect(try context.fetch(Town.self).where("ANY people.name == 'Eve'").count() == 1)
    #expect(try context.fetch(Manager.self).where("ANY staff.salary == 500").count() == 1)
    #expect(try context.fetch(Employee.self).where("number == 3").one().name == "Ned")
    #expect(throws: StoreError.self) { try context.fetch(Person.self).where("salary > 3").all() }
  }

  @Test func `key paths may use inherited properties, and no computed ones`() throws {
    let context = store.makeContext()
    #expect(
      try context.fetch(Employee.self).sorted(by: \.boss?.name, .reverse).sorted(by: \.name).all().map(\.key)
        == [3, 5, 2])
    #expect(try context.fetch(Employee.self).sorted(by: \.id, .reverse).all().map(\.key) == [5, 3, 2])
    #expect(try context.fetch(Person.self).sorted(by: \.mentor).all().map(\.key).last == 6)
    #expect(try context.fetch(Visitor.self).sorted(by: \.host?.town?.name).count() == 1)
    #expect(
      try context.fetch(Employee.self).where(#Predicate { $0.boss?.mentor?.name == nil }).count() == 3)
    for path in [\Employee.initial, \Employee.loudName, \Employee.mentor!.name] as [PartialKeyPath<Employee>]
    {
      #expect {
        try context.fetch(Employee.self).sorted(by: path).all()
      } throws: { error in
        if case StoreError.predicate = error { true } else { false }
      }
    }
    let eve = try context.fetch(Employee.self).where("key == 3").one()
    eve.add(try context.fetch(Visitor.self).one(), to: \.pupils)
    #expect(eve.pupils.map(\.key).sorted() == [4, 6])
  }

  @Test func `an object can be compared with one of an ancestor or of a subentity`() throws {
    let context = store.makeContext()
    let eve = try context.fetch(Employee.self).where("key == 3").one()
    let max = try context.fetch(Manager.self).one()
    #expect(try context.fetch(Person.self).where("mentor == %@", eve).all().map(\.key) == [6])
    #expect(try context.fetch(Employee.self).where("boss == %@", max.id).all().map(\.key) == [3, 5])
    #expect(try context.fetch(Person.self).where("SELF == %@", eve).one() === eve)
    #expect(try context.fetch(Town.self).where("people CONTAINS %@", eve).count() == 1)
    let visitor = try context.fetch(Visitor.self).one()
    #expect(throws: StoreError.self) { try context.fetch(Employee.self).where("boss == %@", visitor).all() }
  }

  @Test func `an id finds an object of its class or of a subclass, and no other`() throws {
    let context = store.makeContext()
    #expect(try context.existing(ObjectID<Person>(rowID: 2)) is Manager)
    #expect(try context.existing(ObjectID<Employee>(rowID: 2))?.salary == 900)
    #expect(try context.existing(ObjectID<Employee>(rowID: 1)) == nil)
    #expect(try context.existing(ObjectID<Manager>(rowID: 3)) == nil)
    let other = store.makeContext()
    #expect(try other.existing(ObjectID<Manager>(rowID: 3)) == nil)
    #expect(try other.existing(ObjectID<Visitor>(rowID: 4))?.name == "Vic")
    #expect(try other.existing(ObjectID<Person>(rowID: 99)) == nil)
    #expect(try other.existing(ObjectID<Person>(rowID: 3)) === other.existing(ObjectID<Employee>(rowID: 3)))
  }

  @Test func `the file has one table, whose rows have the names of their entities`() async throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    let rows = try connection.query(
      sql: "SELECT id, _entity, name, salary, level FROM Person ORDER BY id"
    ) { row in (0..<5).map { row.value($0) } }
    #expect(
      rows == [
        [1, "Person", "Ann", .null, .null], [2, "Manager", "Max", 900, 4],
        [3, "Employee", "Eve", 500, .null], [4, "Visitor", "Vic", .null, .null],
        [5, "Employee", "Ned", 100, .null], [6, "Person", "Pia", .null, .null],
      ])
    let marks = try connection.query(
      sql: "SELECT entity, last FROM vault_ids WHERE last > 0 ORDER BY entity"
    ) { row in
      "\(row.value(0).string ?? "") \(row.int64(1))"
    }
    #expect(marks == ["Person 6", "Town 1"])
    #expect(try await store.verify() == [])
  }

  @Test func `a row of an unknown entity is an error that names the row`() throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    try connection.execute(sql: "UPDATE Person SET _entity = 'Ghost' WHERE id = 3")
    let context = store.makeContext()
    #expect(
      throws: StoreError.unreadableValue(entity: "Person", property: "_entity", rowID: 3, expected: "entity")
    ) { try context.fetch(Person.self).all() }
    #expect(try context.fetch(Employee.self).all().map(\.key) == [2, 5])
  }

  @Test func `a row whose entity is changed from outside becomes another object`() throws {
    let context = store.makeContext()
    let eve = try context.fetch(Employee.self).where("key == 3").one()
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    try connection.execute(
      sql: "UPDATE Person SET _entity = 'Person', salary = NULL, number = NULL, boss_id = NULL WHERE id = 3")
    #expect(try context.fetch(Employee.self).all().map(\.key) == [2, 5])
    let person = try context.fetch(Person.self).where("key == 3").one()
    #expect(type(of: person) == Person.self)
    #expect(person.name == "Eve" && eve.state == .invalid)
    #expect(try context.existing(ObjectID<Employee>(rowID: 3)) == nil)
  }

  @Test func `a unique value is unique among all entities of the table`() throws {
    let context = store.makeContext()
    context.insert(Manager.self) { ($0.number, $0.level) = (2, 1) }
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.map { "\($0.entity).\($0.property)" } == ["Manager.number"]
        && failures[0].holder?.entity == "Employee" && failures[0].holder?.isPending == false
    }
  }

  @Test func `comparing a to-one with an unrelated object is an error that names both entities`() throws {
    let context = store.makeContext()
    let visitor = try context.fetch(Visitor.self).one()
    #expect {
      _ = try context.fetch(Employee.self).where("boss == %@", visitor).count()
    } throws: {
      "\($0)".contains("Employee.boss, of Manager, and an object of Visitor are never the same object")
    }
  }
}
