// The expected content of a store of the company in plain values: people of all kinds by their keys, and
// their relationships.

import ObjectVault

struct HierarchyWorld: Equatable {
  enum Kind: CaseIterable { case person, employee, manager, visitor }

  struct Human: Equatable {
    var kind: Kind
    var name = "nobody"
    var salary = 100
    var level = 0
    var town: Int?
    var mentor: Int?
    var boss: Int?
    var host: Int?
    var circles: Set<Int> = []
  }

  var people: [Int: Human] = [:]
  /// The mayor of each town.
  var towns: [Int: Int?] = [:]
  var circles: Set<Int> = []
  /// The members of each crew, in order.
  var crews: [Int: [Int]] = [:]
  /// The owner of each tool.
  var tools: [Int: Int?] = [:]
  /// The signer of each contract.
  var contracts: [Int: Int?] = [:]

  /// The keys of the people of a kind or of a kind below it.
  func keys(_ kind: Kind) -> [Int] {
    people.filter { $0.value.kind.isOne(of: kind) }.keys.sorted()
  }

  /// The people that are deleted with a key: the person, or the members of the crew.
  func goingWith(_ key: Int) -> Set<Int> { Set(crews[key] ?? [key]) }

  /// Whether a delete rule or a required to-one prevents the deletion.
  func isNeeded(_ going: Set<Int>) -> Bool {
    contracts.values.contains { $0.map(going.contains) == true }
      || people.contains { !going.contains($0.key) && $0.value.host.map(going.contains) == true }
  }

  mutating func delete(_ key: Int) {
    let going = goingWith(key)
    crews[key] = nil
    towns[key] = nil
    circles.remove(key)
    tools[key] = nil
    contracts[key] = nil
    tools = tools.filter { $0.value.map(going.contains) != true }
    for key in going { people[key] = nil }
    for other in people.keys {
      if let mentor = people[other]?.mentor, going.contains(mentor) { people[other]?.mentor = nil }
      if let boss = people[other]?.boss, going.contains(boss) { people[other]?.boss = nil }
      if people[other]?.town == key { people[other]?.town = nil }
      people[other]?.circles.remove(key)
    }
    for crew in crews.keys { crews[crew]?.removeAll(where: going.contains) }
    for town in towns.keys {
      if let mayor = towns[town] ?? nil, going.contains(mayor) { towns[town] = .some(nil) }
    }
  }

  mutating func put(_ key: Int, into crew: Int?) {
    for other in crews.keys where other != crew { crews[other]?.removeAll { $0 == key } }
    if let crew, crews[crew]?.contains(key) == false { crews[crew]?.append(key) }
  }
}

extension HierarchyWorld.Kind {
  func isOne(of kind: Self) -> Bool {
    self == kind || kind == .person || (kind == .employee && self == .manager)
  }
  var isEmployed: Bool { isOne(of: .employee) }
}

// MARK: Comparison

extension HierarchyWorld {
  /// Compares everything that a context finds with the expected content.
  func compare(_ context: ObjectContext, _ moment: String) throws {
    func expect<Value: Equatable>(_ what: String, _ found: Value, equals expected: Value) throws {
      if found != expected { throw Mismatch("\(moment): \(what) is \(found), should be \(expected)") }
    }
    try compareFetches(context, moment)
    for person in try context.fetch(Person.self).all() {
      guard let human = people[person.key] else { continue }
      let name = "\(human.kind) \(person.key)"
      try expect("\(name)'s class", "\(type(of: person))".lowercased(), equals: "\(human.kind)")
      try expect("\(name)'s town", person.town?.key, equals: human.town)
      try expect("\(name)'s mentor", person.mentor?.key, equals: human.mentor)
      try expect("\(name)'s circles", Set(person.circles.map(\.key)), equals: human.circles)
      try expect(
        "\(name)'s crew", person.crew?.key, equals: crews.first { $0.value.contains(person.key) }?.key)
      let pupils = people.filter { $0.value.mentor == person.key }.keys.sorted()
      try expect("\(name)'s pupils", person.pupils.map(\.key).sorted(), equals: pupils)
      if let employee = person as? Employee {
        try expect("\(name)'s salary", employee.salary, equals: human.salary)
        try expect("\(name)'s boss", employee.boss?.key, equals: human.boss)
        let tools = self.tools.filter { $0.value == person.key }.keys.sorted()
        try expect("\(name)'s tools", employee.tools.map(\.key).sorted(), equals: tools)
      }
      if let manager = person as? Manager {
        try expect("\(name)'s level", manager.level, equals: human.level)
        let staff = people.filter { $0.value.boss == person.key }.keys.sorted()
        try expect("\(name)'s staff", manager.staff.map(\.key).sorted(), equals: staff)
      }
      if let visitor = person as? Visitor {
        try expect("\(name)'s host", visitor.host?.key, equals: human.host)
      }
    }
    for crew in try context.fetch(Crew.self).all() {
      try expect("crew \(crew.key)", crew.members.map(\.key), equals: crews[crew.key] ?? [])
    }
    for town in try context.fetch(Town.self).all() {
      try expect("the mayor of \(town.key)", town.mayor?.key, equals: towns[town.key] ?? nil)
      let people = people.filter { $0.value.town == town.key }.keys.sorted()
      try expect("the people of \(town.key)", town.people.map(\.key).sorted(), equals: people)
    }
    for circle in try context.fetch(Circle.self).all() {
      let members = people.filter { $0.value.circles.contains(circle.key) }.keys.sorted()
      try expect("circle \(circle.key)", circle.members.map(\.key).sorted(), equals: members)
    }
    if let error = context.faultErrors.first { throw Mismatch("\(moment): \(error)") }
  }

  /// Compares the results of fetches, which include pending changes.
  func compareFetches(_ context: ObjectContext, _ moment: String) throws {
    func expect(_ what: String, _ found: [Int], where isFound: (Human) -> Bool) throws {
      let expected = people.filter { isFound($0.value) }.keys.sorted()
      if found.sorted() != expected {
        throw Mismatch("\(moment): \(what) are \(found.sorted()), should be \(expected)")
      }
    }
    try expect("the people", try context.fetch(Person.self).all().map(\.key)) { _ in true }
    try expect("the employees", try context.fetch(Employee.self).all().map(\.key)) { $0.kind.isEmployed }
    try expect("the managers", try context.fetch(Manager.self).all().map(\.key)) { $0.kind == .manager }
    try expect(
      "mere employees", try context.fetch(Employee.self).includingSubentities(false).all().map(\.key)
    ) { $0.kind == .employee }
    try expect(
      "those with a rich boss", try context.fetch(Employee.self).where("boss.salary > 500").all().map(\.key)
    ) { human in human.kind.isEmployed && human.boss.flatMap { people[$0]?.salary } ?? 0 > 500 }
    try expect(
      "those with a named mentor", try context.fetch(Person.self).where("mentor.name == 'b'").all().map(\.key)
    ) { human in human.mentor.flatMap { people[$0]?.name } == "b" }
    try expect(
      "guests of leaders", try context.fetch(Visitor.self).where("host.boss.level > 4").all().map(\.key)
    ) { human in
      human.host.flatMap { people[$0]?.boss }.flatMap { people[$0]?.level } ?? 0 > 4
    }
    let towns = try context.fetch(Town.self).where("ANY people.name == 'a'").all().map(\.key).sorted()
    let expected = self.towns.keys.filter { key in
      people.values.contains { $0.town == key && $0.name == "a" }
    }.sorted()
    if towns != expected { throw Mismatch("\(moment): towns with an a are \(towns), should be \(expected)") }
    if try context.fetch(Tool.self).count() != tools.count { throw Mismatch("\(moment): tools are missing") }
  }
}
