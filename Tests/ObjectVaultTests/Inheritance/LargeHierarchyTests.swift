// Sixty thousand objects of one inheritance hierarchy, of three classes in turn.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct LargeHierarchies {
  private static let count = 60_000

  @Test func `many objects of several classes are written, found, changed and deleted`() async throws {
    let temporary = try await TemporaryStore(company)
    let store = temporary.store
    try await store.write { context in
      let town = context.insert(Town.self)
      var boss: Manager?
      for key in 0..<Self.count {
        switch key % 3 {
        case 0:
          boss = context.insert(Manager.self) {
            ($0.key, $0.level, $0.salary) = (key, 1 + key % 9, key % 999)
          }
        case 1: context.insert(Employee.self) { ($0.key, $0.boss, $0.salary) = (key, boss, key % 999) }
        default: context.insert(Person.self) { ($0.key, $0.town) = (key, town) }
        }
      }
    }
    let third = Self.count / 3
    let context = store.makeContext()
    let people = try context.fetch(Person.self).all()
    #expect(people.map(\.key) == Array(0..<Self.count), "in the order in which they were made")
    #expect(people.count { $0 is Manager } == third)
    #expect(people.count { type(of: $0) == Employee.self } == third)
    let salaries = (0..<Self.count).filter { $0 % 3 < 2 }.reduce(0) { $0 + $1 % 999 }
    #expect(people.reduce(0) { $0 + (($1 as? Employee)?.salary ?? 0) } == salaries)
    let queries = context.statistics.queries
    let employees = try context.fetch(Employee.self).includingSubentities(false).prefetch(\.boss).all()
    #expect(employees.count == third && employees.allSatisfy { $0.boss?.key == $0.key - 1 })
    #expect(context.statistics.queries == queries + 1, "all bosses are in memory")
    for employee in employees { employee.salary += 1 }
    for person in people where person.key % 3 == 2 { context.delete(person) }
    #expect(try context.fetch(Person.self).count() == 2 * third)
    try context.save()
    let other = store.makeContext()
    let rest = try other.fetch(Person.self).all()
    #expect(rest.count == 2 * third && rest.allSatisfy { $0 is Employee })
    #expect(rest.reduce(0) { $0 + (($1 as? Employee)?.salary ?? 0) } == salaries + third)
    #expect(try other.fetch(Person.self).includingSubentities(false).exists() == false)
  }
}
