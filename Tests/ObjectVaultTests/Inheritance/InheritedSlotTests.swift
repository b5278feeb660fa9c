// What a subclass of an entity's class declares, and where its objects store it.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct InheritedSlots {
  @Test func `a subclass of an entity's class is an entity with its own declarations`() throws {
    try company.validate()
    let employee = try #require(company.entity(named: "Employee"))
    #expect(employee.parent == "Person")
    #expect(employee.attributes.map(\.name) == ["number", "salary"])
    #expect(employee.relationships.map(\.name) == ["boss", "tools"])
    #expect(company.entity(named: "Manager")?.parent == "Employee")
    #expect(company.entity(named: "Person")?.parent == nil)
    let flat = try #require(company.flattenedEntity(named: "Manager"))
    #expect(flat.attributes.map(\.name) == ["key", "name", "born", "number", "salary", "level"])
  }

  @Test func `each property of each class has a slot of its own`() async throws {
    let temporary = try await TemporaryStore(company)
    let context = temporary.store.makeContext()
    let manager = context.insert(Manager.self) {
      ($0.key, $0.name, $0.born, $0.number, $0.salary, $0.level) = (1, "Ada", 1815, 7, 300, 3)
    }
    let employee = context.insert(Employee.self) {
      ($0.key, $0.name, $0.born, $0.number, $0.boss) = (2, "Bob", 1990, 8, manager)
    }
    let visitor = context.insert(Visitor.self) {
      ($0.key, $0.name, $0.until, $0.host) = (3, "Cleo", Date(timeIntervalSince1970: 5), employee)
    }
    let person = context.insert(Person.self) { ($0.key, $0.mentor) = (4, manager) }
    func check() {
      let all = [manager, employee, visitor, person]
      #expect(all.map(\.key) == [1, 2, 3, 4])
      #expect(all.map(\.name) == ["Ada", "Bob", "Cleo", "nobody"])
      let born: [Int?] = [manager.born, employee.born, visitor.born]
      #expect(born == [1815, 1990, nil])
      let numbers: [Int?] = [manager.number, employee.number]
      #expect(numbers == [7, 8])
      let salaries: [Int] = [manager.salary, manager.level, employee.salary]
      #expect(salaries == [300, 3, 100])
      #expect(employee.boss === manager)
      #expect(visitor.host === employee)
      #expect(visitor.until == Date(timeIntervalSince1970: 5))
      #expect(person.mentor === manager)
      #expect(manager.pupils.map(\.key) == [4])
      #expect(manager.staff.map(\.key) == [2])
    }
    check()
    try context.save()
    check()
    for object in [manager, employee, visitor, person] as [ManagedObject] { context.refresh(object) }
    check()
  }

  @Test func `the defaults and rules of a superclass apply to its subclasses`() async throws {
    let temporary = try await TemporaryStore(company)
    let context = temporary.store.makeContext()
    let manager = context.insert(Manager.self) { $0.level = 1 }
    #expect(manager.name == "nobody" && manager.salary == 100 && manager.note == "plain")
    (manager.name, manager.salary, manager.level) = (" ", -1, 12)
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return Set(failures.map { "\($0.entity).\($0.property)" })
        == ["Manager.name", "Manager.salary", "Manager.level"]
    }
  }

  @Test func `a required property applies only to the class that declares it and to its subclasses`()
    async throws
  {
    let temporary = try await TemporaryStore(company)
    let context = temporary.store.makeContext()
    context.insert(Employee.self) { $0.number = 1 }
    context.insert(Person.self)
    try context.save()
    context.insert(Visitor.self)
    let manager = context.insert(Manager.self)
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return Set(failures.map { "\($0.entity).\($0.property)" }) == ["Visitor.host", "Manager.level"]
    }
    manager.level = 1
    #expect(throws: StoreError.self) { try context.save() }
  }

  @Test func `the error for a property of an object without a context names the property`() {
    let told = Told()
    told.hearStrayErrors()
    defer { told.endHearing() }
    let loose = Employee()
    (loose.salary, loose.name) = (1, "x")
    for property in ["Employee.salary", "Employee.name"] {
      #expect(told.texts.contains { $0.contains("\(property) was used") }, "\(property)")
    }
  }
}
