// Random changes of an inheritance hierarchy, reproducible by seed, made to objects and to plain values
// alike.

import ObjectVault

final class HierarchyScript {
  private let context: ObjectContext
  private var dice: Dice
  private(set) var world: HierarchyWorld
  private var saved: HierarchyWorld
  private var rows: [Int: Int64]
  private var objects: [Int: ManagedObject] = [:]
  private var nextKey: Int
  private(set) var trace: [String] = []

  init(
    _ context: ObjectContext, seed: UInt64, _ start: (world: HierarchyWorld, rows: [Int: Int64], next: Int)
  ) {
    self.context = context
    dice = Dice(seed)
    (world, saved, rows, nextKey) = (start.world, start.world, start.rows, start.next)
  }

  var end: (world: HierarchyWorld, rows: [Int: Int64], next: Int) { (world, rows, nextKey) }

  func run(steps: Int) throws {
    for _ in 0..<steps {
      try step()
      for key in objects.keys where !isThere(key) { objects[key] = nil }
      if let error = context.faultErrors.first { throw Mismatch("an error was noted: \(error)") }
    }
    try save()
  }

  private func log(_ line: String) { trace.append(line) }

  private func isThere(_ key: Int) -> Bool {
    world.people[key] != nil || world.towns[key] != nil || world.circles.contains(key)
      || world.crews[key] != nil || world.tools[key] != nil || world.contracts[key] != nil
  }

  private func object<Object: ManagedObject>(_ key: Int) throws -> Object {
    if let known = objects[key] as? Object { return known }
    guard let row = rows[key], let found = try context.existing(ObjectID<Object>(rowID: row)) else {
      throw Mismatch("\(Object.self) \(key) is not there")
    }
    objects[key] = found
    return found
  }

  private func step() throws {
    switch dice.next(28) {
    case 0...4: try insertHuman()
    case 5, 6: try insertOther()
    case 7...9: try changeValue()
    case 10...14: try changeToOne()
    case 15...17: try changeCircle()
    case 18...20: try changeCrew()
    case 21, 22: try delete()
    case 23: try save()
    case 24:
      log("roll back")
      context.rollback()
      (world, objects) = (saved, [:])
    case 25:
      for key in objects.keys.sorted() where rows[key] != nil && dice.isOne(in: 2) { objects[key] = nil }
    default: try world.compareFetches(context, "between two changes")
    }
  }

  private func save() throws {
    log("save")
    do { try context.save() } catch { throw Mismatch("the save failed: \(error)") }
    saved = world
    for (key, object) in objects {
      switch object {
      case let object as Person: rows[key] = object.id.rowID
      case let object as Town: rows[key] = object.id.rowID
      case let object as Circle: rows[key] = object.id.rowID
      case let object as Crew: rows[key] = object.id.rowID
      case let object as Tool: rows[key] = object.id.rowID
      default: rows[key] = (object as? Contract)?.id.rowID
      }
    }
    if dice.isOne(in: 3) { try world.compare(context, "after a save") }
  }

  // MARK: Insertions

  private func insertHuman() throws {
    let key = nextKey
    nextKey += 1
    var kind = HierarchyWorld.Kind.allCases[dice.next(4)]
    let host = dice.pick(world.keys(.employee))
    if kind == .visitor, host == nil { kind = .employee }
    var human = HierarchyWorld.Human(kind: kind)
    human.mentor = dice.isOne(in: 2) ? dice.pick(world.keys(.person)) : nil
    log("insert \(kind) \(key), mentor \(human.mentor ?? 0)")
    let person: Person
    switch kind {
    case .person: person = context.insert(Person.self)
    case .employee: person = context.insert(Employee.self)
    case .manager:
      human.level = 1 + dice.next(9)
      person = context.insert(Manager.self) { $0.level = human.level }
    case .visitor:
      human.host = host
      person = try context.insert(Visitor.self) { $0.host = try host.map(object) }
    }
    person.key = key
    person.mentor = try human.mentor.map(object)
    objects[key] = person
    world.people[key] = human
  }

  private func insertOther() throws {
    let key = nextKey
    nextKey += 1
    log("insert another, \(key)")
    switch dice.next(5) {
    case 0:
      objects[key] = context.insert(Town.self) { $0.key = key }
      world.towns[key] = .some(nil)
    case 1:
      objects[key] = context.insert(Circle.self) { $0.key = key }
      world.circles.insert(key)
    case 2:
      objects[key] = context.insert(Crew.self) { $0.key = key }
      world.crews[key] = []
    case 3:
      let owner = dice.pick(world.keys(.employee))
      objects[key] = try context.insert(Tool.self) { ($0.key, $0.owner) = (key, try owner.map(object)) }
      world.tools[key] = .some(owner)
    default:
      let signer = dice.isOne(in: 2) ? dice.pick(world.keys(.manager)) : nil
      objects[key] = try context.insert(Contract.self) { ($0.key, $0.signer) = (key, try signer.map(object)) }
      world.contracts[key] = .some(signer)
    }
  }

  // MARK: Changes

  private func changeValue() throws {
    guard let key = dice.pick(world.keys(.person)), let kind = world.people[key]?.kind else { return }
    let (name, salary) = (["a", "b", "c"][dice.next(3)], dice.next(1000))
    log("values of \(key): \(name), \(salary)")
    (try object(key) as Person).name = name
    world.people[key]?.name = name
    guard kind.isEmployed else { return }
    (try object(key) as Employee).salary = salary
    world.people[key]?.salary = salary
  }

  private func changeToOne() throws {
    guard let key = dice.pick(world.keys(.person)), let kind = world.people[key]?.kind else { return }
    let way = dice.next(6)
    log("to-one \(way) of \(key)")
    let person: Person = try object(key)
    switch way {
    case 0:
      let town = dice.pick(world.towns.keys.sorted())
      if let town, dice.isOne(in: 2) {
        (try object(town) as Town).add(person, to: \.people)
      } else {
        person.town = try town.map(object)
      }
      world.people[key]?.town = town
    case 1:
      let mentor = dice.isOne(in: 4) ? nil : dice.pick(world.keys(.person))
      if let mentor, dice.isOne(in: 2) {
        (try object(mentor) as Person).pupils.insert(person)
      } else {
        person.mentor = try mentor.map(object)
      }
      world.people[key]?.mentor = mentor
    case 2 where kind.isEmployed:
      let boss = dice.isOne(in: 4) ? nil : dice.pick(world.keys(.manager))
      let employee: Employee = try object(key)
      if let boss, dice.isOne(in: 2) {
        (try object(boss) as Manager).add(employee, to: \.staff)
      } else {
        employee.boss = try boss.map(object)
      }
      world.people[key]?.boss = boss
    case 3 where kind == .visitor:
      guard let host = dice.pick(world.keys(.employee)) else { return }
      (try object(key) as Visitor).host = try object(host)
      world.people[key]?.host = host
    case 4 where kind.isEmployed:
      guard let town = dice.pick(world.towns.keys.sorted()) else { return }
      (try object(town) as Town).mayor = try object(key)
      world.towns[town] = .some(key)
    case 5 where kind.isEmployed:
      guard let tool = dice.pick(world.tools.keys.sorted()) else { return }
      (try object(tool) as Tool).owner = try object(key)
      world.tools[tool] = .some(key)
    default: break
    }
  }

  private func changeCircle() throws {
    guard let key = dice.pick(world.keys(.person)), let circle = dice.pick(world.circles.sorted()) else {
      return
    }
    let isMember = world.people[key]?.circles.contains(circle) == true
    let (person, other): (Person, Circle) = (try object(key), try object(circle))
    log("\(key) \(isMember ? "leaves" : "joins") circle \(circle)")
    switch (isMember, dice.isOne(in: 2)) {
    case (true, true): other.members.remove(person)
    case (true, false): person.remove(other, from: \.circles)
    case (false, true): other.add(person, to: \.members)
    case (false, false): person.circles.insert(other)
    }
    if isMember {
      world.people[key]?.circles.remove(circle)
    } else {
      world.people[key]?.circles.insert(circle)
    }
  }

  private func changeCrew() throws {
    guard let crew = dice.pick(world.crews.keys.sorted()), let members = world.crews[crew] else { return }
    let object: Crew = try object(crew)
    if members.count > 1, dice.isOne(in: 2) {
      let order = [members[members.count - 1]] + members.dropLast()
      log("order of crew \(crew): \(order)")
      object.members = try order.map { try self.object($0) }
      world.crews[crew] = order
    } else if let key = dice.pick(world.keys(.person)), !members.contains(key) {
      log("\(key) joins crew \(crew)")
      if dice.isOne(in: 2) {
        (try self.object(key) as Person).crew = object
      } else {
        object.add(try self.object(key), to: \.members)
      }
      world.put(key, into: crew)
    }
  }

  private func delete() throws {
    let all =
      world.keys(.person) + world.crews.keys.sorted() + world.circles.sorted()
      + world.contracts.keys.sorted() + world.towns.keys.sorted()
    guard let key = dice.pick(all), rows[key] != nil, !world.isNeeded(world.goingWith(key)) else { return }
    // The cascade of an unsaved object happens at once and in memory only, so such objects are skipped.
    guard world.goingWith(key).allSatisfy({ rows[$0] != nil }) else { return }
    log("delete \(key)")
    if world.people[key] != nil {
      context.delete(try object(key) as Person)
    } else if world.crews[key] != nil {
      context.delete(try object(key) as Crew)
    } else if world.circles.contains(key) {
      context.delete(try object(key) as Circle)
    } else if world.contracts[key] != nil {
      context.delete(try object(key) as Contract)
    } else {
      context.delete(try object(key) as Town)
    }
    world.delete(key)
  }
}
