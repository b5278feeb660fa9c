// An inheritance hierarchy of three levels, with relationships to it, from it and within it, of every kind.

import Foundation
import ObjectVault

class Person: ManagedObject {
  @Attribute var key: Int = -1
  @Attribute(.indexed) var name: String = "nobody"
  @Attribute var born: Int?
  @ToOne var town: Town?
  @ToOne var mentor: Person?
  @ToMany(inverse: \Person.mentor) var pupils: Set<Person>
  @ToMany(inverse: \Circle.members) var circles: Set<Circle>
  @ToOne var crew: Crew?
  /// Not a property of the entity.
  var note = "plain"
  var loudName: String { name.uppercased() }
}

class Employee: Person {
  @Attribute(.unique) var number: Int?
  @Attribute var salary: Int = 100
  @ToOne var boss: Manager?
  @ToMany(inverse: \Tool.owner, onDelete: .cascade) var tools: Set<Tool>
  var initial: String { String(name.prefix(1)) }
}

final class Manager: Employee {
  @Attribute var level: Int
  @ToMany(inverse: \Employee.boss) var staff: Set<Employee>
  @ToMany(inverse: \Contract.signer, onDelete: .deny) var contracts: Set<Contract>
}

final class Visitor: Person {
  @Attribute var until: Date?
  @ToOne(.required) var host: Employee?
}

final class Town: ManagedObject {
  @Attribute var key: Int = -1
  @Attribute var name: String = "nowhere"
  @ToMany(inverse: \Person.town) var people: Set<Person>
  @ToOne var mayor: Employee?
}

final class Circle: ManagedObject {
  @Attribute var key: Int = -1
  @Attribute var title: String = "none"
  @ToMany var members: Set<Person>
}

final class Crew: ManagedObject {
  @Attribute var key: Int = -1
  @ToMany(inverse: \Person.crew, onDelete: .cascade) var members: [Person]
}

final class Tool: ManagedObject {
  @Attribute var key: Int = -1
  @ToOne var owner: Employee?
}

final class Contract: ManagedObject {
  @Attribute var key: Int = -1
  @ToOne var signer: Manager?
}

let company = Schema {
  Entity(Visitor.self)
  Entity(Manager.self).check(\.level, .range(1...9))
  Entity(Employee.self).check(\.salary, .range(0...10_000)).index(\.salary, \.boss)
  Entity(Person.self).check(\.name, .notBlank)
  Entity(Town.self)
  Entity(Circle.self)
  Entity(Crew.self)
  Entity(Tool.self)
  Entity(Contract.self)
}
