// Predicates that cast objects to child entities, compared with casts in Swift.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct CastPredicates {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(company)
    context = temporary.store.makeContext()
    let town = context.insert(Town.self) { $0.name = "Basel" }
    context.insert(Person.self) { ($0.key, $0.name, $0.town) = (1, "Ann", town) }
    let boss = context.insert(Manager.self) {
      ($0.key, $0.name, $0.number, $0.salary, $0.level, $0.town) = (2, "Max", 1, 900, 4, town)
    }
    for key in 3..<9 {
      let employee = context.insert(Employee.self) {
        ($0.key, $0.name, $0.number, $0.salary) = (key, "Eve \(key)", key, key * 100)
        ($0.boss, $0.town, $0.mentor) = (key % 2 == 0 ? boss : nil, key % 3 == 0 ? town : nil, boss)
      }
      context.insert(Tool.self) { ($0.key, $0.owner) = (key, employee) }
      context.insert(Visitor.self) {
        ($0.key, $0.name, $0.host, $0.mentor) = (10 + key, "Vic \(key)", employee, employee)
      }
    }
    try context.save()
  }

  /// Compares the results of SQL and of the evaluation in memory with a plain filter.
  private func check(
    _ fetch: Fetch<Person>, _ isWanted: (Person) -> Bool, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let all = try context.fetch(Person.self).sorted(by: \.key).all()
    let expected = all.filter(isWanted).map(\.key)
    #expect(!expected.isEmpty && expected.count < all.count, sourceLocation: location)
    let sorted = fetch.sorted(by: \.key)
    let sql = try fetch.sql.text
    #expect(try sorted.all().map(\.key) == expected, "\(sql)", sourceLocation: location)
    #expect(try sorted.includingPending(false).all().map(\.key) == expected, sourceLocation: location)
    // Changed and changed back: the objects are pending, and equal their rows.
    for person in all {
      let key = person.key
      (person.key, person.key) = (-1, key)
    }
    #expect(try sorted.all().map(\.key) == expected, "in memory", sourceLocation: location)
    context.rollback()
  }

  private func check(
    _ format: String, _ isWanted: (Person) -> Bool, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try check(try context.fetch(Person.self).where(format), isWanted, location)
  }

  @Test func `casts in the format language find what casts in Swift find`() throws {
    try check("CAST(SELF, 'Employee') != nil") { $0 is Employee }
    try check("NOT CAST(SELF, 'Manager') != nil") { !($0 is Manager) }
    try check("CAST(SELF, 'Employee').salary > 500") { (($0 as? Employee)?.salary ?? 0) > 500 }
    try check("CAST(SELF, 'Employee').salary == nil") { !($0 is Employee) }
    try check("CAST(SELF, 'Employee').boss.level == 4") { ($0 as? Employee)?.boss?.level == 4 }
    try check("CAST(mentor, 'Manager').level == 4") { ($0.mentor as? Manager)?.level == 4 }
    try check("CAST(mentor, 'Visitor') == nil AND mentor != nil") {
      $0.mentor != nil && !($0.mentor is Visitor)
    }
    try check("CAST(SELF, 'Employee').tools.@count == 1") { ($0 as? Employee)?.tools.count == 1 }
    try check("CAST(SELF, 'Manager').staff.@max.salary == 800") { person in
      (person as? Manager)?.staff.map(\.salary).max() == 800
    }
    try check("ANY CAST(SELF, 'Employee').tools.key > 5") { person in
      (person as? Employee)?.tools.contains { $0.key > 5 } ?? false
    }
    try check("SUBQUERY(pupils, $p, CAST($p, 'Visitor').host.salary > 400).@count > 0") { person in
      person.pupils.contains { (($0 as? Visitor)?.host?.salary ?? 0) > 400 }
    }
    try check("ANY town.people.name == 'Ann' AND CAST(SELF, 'Employee') == nil") {
      $0.town != nil && !($0 is Employee)
    }
    #expect(
      try context.fetch(Town.self).where("CAST(people, 'Employee').tools.@count == 3 OR ANY people.key == 1")
        .count() == 1)
  }

  @Test func `casts in a #Predicate find what casts in Swift find`() throws {
    func check(_ predicate: Predicate<Person>, _ isWanted: (Person) -> Bool) throws {
      try self.check(try context.fetch(Person.self).where(predicate), isWanted)
    }
    try check(#Predicate { $0 is Employee }) { $0 is Employee }
    try check(#Predicate { !($0 is Manager) }) { !($0 is Manager) }
    try check(#Predicate { ($0 as? Employee)?.salary == 900 }) { ($0 as? Employee)?.salary == 900 }
    try check(#Predicate { (($0 as? Employee)?.salary ?? 0) > 500 }) {
      (($0 as? Employee)?.salary ?? 0) > 500
    }
    try check(#Predicate { ($0 as? Employee)?.boss?.level == 4 }) { ($0 as? Employee)?.boss?.level == 4 }
    try check(#Predicate { ($0 as? Visitor)?.host?.salary == 500 }) { ($0 as? Visitor)?.host?.salary == 500 }
    try check(#Predicate { person in person.pupils.contains { $0 is Visitor } }) { person in
      person.pupils.contains { $0 is Visitor }
    }
    // The shape of a predicate includes the class of its cast.
    for _ in 0..<3 {
      #expect(try context.fetch(Person.self).where(#Predicate { $0 is Visitor }).count() == 6)
      #expect(try context.fetch(Person.self).where(#Predicate { $0 is Manager }).count() == 1)
    }
  }

  @Test func `a cast sees pending changes of the objects after it`() throws {
    let manager = try context.fetch(Manager.self).one()
    manager.level = 9
    #expect(try context.fetch(Person.self).where("CAST(SELF, 'Employee').boss.level == 9").count() == 3)
    #expect(try context.fetch(Person.self).where("CAST(mentor, 'Manager').level == 9").count() == 6)
    manager.salary = 1
    #expect(try context.fetch(Person.self).where("CAST(SELF, 'Manager').salary == 1").one() === manager)
    context.delete(try #require(try context.fetch(Tool.self).where("key == 4").first()))
    #expect(try context.fetch(Person.self).where("CAST(SELF, 'Employee').tools.@count == 0").count() == 2)
  }

  @Test(arguments: [
    ("CAST(SELF, 'Employee').salary > 500", "of-self"), ("CAST(mentor, 'Manager') != nil", "of-a-to-one"),
    ("ANY CAST(SELF, 'Manager').staff.tools.key > 5", "before-members"),
  ])
  func `the SQL of a cast equals its golden file`(_ format: String, _ name: String) throws {
    let text = "\(format)\n\(try context.fetch(Person.self).where(format).sql)\n"
    let difference = try Golden.difference(of: text, from: "cast-\(name).txt", in: "ObjectVaultTests")
    #expect(difference == nil, "\(difference ?? "")")
  }

  @Test func `a cast to an entity outside of the hierarchy is an error with the child entities`() throws {
    for (format, reason) in [
      ("CAST(SELF, 'Town') != nil", "Employee, Manager, Visitor"),
      ("CAST(town, 'Person') != nil", "no child entity"),
    ] {
      #expect {
        _ = try context.fetch(Person.self).where(format).all()
      } throws: { error in "\(error)".contains(reason) }
    }
  }
}
