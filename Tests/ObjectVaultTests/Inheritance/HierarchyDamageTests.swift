// Rows of a hierarchy whose entity was changed from outside, with their former values: they are reported or
// ignored, and never taken for something else.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private enum First {
  class Being: ManagedObject { @Attribute var n: Int = 1 }
}
private enum Second {
  class Being: ManagedObject { @Attribute var text: String = "x" }
  final class Bird: Being { @Attribute var wings: Int = 2 }
}

@Suite struct HierarchyDamage {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(company)
    let context = store.makeContext()
    let boss = context.insert(Manager.self) { ($0.key, $0.level) = (1, 1) }
    for key in 2...4 { context.insert(Employee.self) { ($0.key, $0.boss) = (key, boss) } }
    try context.save()
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    // The row becomes a plain person, and keeps the values of an employee.
    try connection.execute(sql: "UPDATE Person SET _entity = 'Person' WHERE key = 3")
  }

  @Test func `rows whose entity was changed are no members of their former relationships`() throws {
    for isPrefetched in [true, false] {
      let context = store.makeContext()
      let fetch = context.fetch(Manager.self)
      let boss = try (isPrefetched ? fetch.prefetch(\.staff) : fetch).one()
      #expect(boss.staff.map(\.key).sorted() == [2, 4] && context.faultErrors.isEmpty)
    }
  }

  @Test func `an object that a loaded row of a changed entity references can be deleted`() throws {
    for writes in [false, true] {
      let context = store.makeContext()
      let person = try context.fetch(Person.self).where("key == 3").one()
      #expect(type(of: person) == Person.self)
      if writes { person.name = "Eve" }
      let boss = try context.fetch(Manager.self).where("key == 1").first()
      if let boss { context.delete(boss) }
      try context.save()
      #expect(
        try store.makeContext().fetch(Person.self).where("key == 3").one().name == (writes ? "Eve" : "nobody")
      )
    }
    #expect(try store.makeContext().fetch(Employee.self).where("boss == nil").count() == 2)
  }

  @Test func `a to-one to an object of a wrong entity is nil and reports an error`() throws {
    let writing = store.makeContext()
    let tool = writing.insert(Tool.self) { $0.key = 9 }
    tool.owner = try writing.fetch(Employee.self).where("key == 2").one()
    try writing.save()
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    try connection.execute(sql: "UPDATE Tool SET owner_id = (SELECT id FROM Person WHERE key = 3)")
    for isKnown in [true, false] {
      let context = store.makeContext()
      let person = isKnown ? try context.fetch(Person.self).where("key == 3").one() : nil
      #expect(try context.fetch(Tool.self).one().owner == nil)
      #expect(context.faultErrors.count == 1)
      withExtendedLifetime(person) {}
    }
  }

  @Test func `a class whose superclass is not the class of the parent entity is refused`() {
    let schema = Schema {
      Entity(First.Being.self)
      Entity(Second.Bird.self)
    }
    #expect(schema.faults.contains { "\($0)".contains("Bird inherits from") && "\($0)".contains("Second") })
    #expect(throws: (any Error).self) { try schema.validate() }
  }
}
