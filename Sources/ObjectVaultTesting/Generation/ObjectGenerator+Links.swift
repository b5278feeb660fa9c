// Whom generated objects know.

internal import CipherSQLite
internal import ObjectVault

extension ObjectGenerator {
  mutating func connect(
    _ relationship: RelationshipDescription, of entity: EntityDescription
  ) throws(ObjectShortage) {
    let back = schema.partner(of: relationship, in: entity)
    switch (relationship.isToMany, back?.isToMany) {
    // Said by the other end.
    case (true, false): break
    case (true, _): connectMany(relationship, entity, back)
    case (false, false?): connectOne(relationship, entity, back)
    case (false, _): try connectEach(relationship, entity)
    }
  }

  // MARK: To-ones of which many may lead to one

  private mutating func connectEach(
    _ relationship: RelationshipDescription, _ entity: EntityDescription
  ) throws(ObjectShortage) {
    let targets = counts[relationship.destination] ?? 0
    guard targets > 0 else { return }
    // The last of its unique values that is linked: only then are they known whole.
    let linked = entity.relationships.filter { !$0.isToMany }.map(\.name)
    let keys = entity.uniqueKeys.filter { key in
      key.contains(relationship.name)
        && key.allSatisfy { name in
          !linked.contains(name)
            || (linked.firstIndex(of: name) ?? 0) <= (linked.firstIndex(of: relationship.name) ?? 0)
        }
    }
    var taken = TakenKeys(keys)
    for number in 0..<(counts[entity.name] ?? 0) {
      if let target = try target(of: relationship, entity, number, targets, taken) {
        made[entity.name]?[number].toOne[relationship.name] = target
      }
      taken.take(compared(entity.name, number))
    }
  }

  private mutating func target(
    of relationship: RelationshipDescription, _ entity: EntityDescription, _ number: Int, _ targets: Int,
    _ taken: TakenKeys
  ) throws(ObjectShortage) -> Int? {
    let isNil = number == 0 || Int.random(in: 0..<5, using: &random) == 0
    if !relationship.isRequired, links == .some, isNil { return nil }
    var first = Int.random(in: 0..<targets, using: &random)
    // A circle through all of them, for who leads to its own kind.
    if relationship.destination == entity.name { first = (number + 1) % targets }
    for step in 0..<targets {
      let target = (first + step) % targets
      var values = compared(entity.name, number)
      values[relationship.name] = .integer(Int64(target))
      if taken.conflict(of: values) == nil { return target }
    }
    guard relationship.isRequired else { return nil }
    throw ObjectShortage(entity: entity.name, possible: number)
  }

  /// The values of an object, to-ones as the number of what they lead to.
  private func compared(_ entity: String, _ number: Int) -> [String: SQLValue] {
    guard let object = made[entity]?[number] else { return [:] }
    return object.values.merging(object.toOne.mapValues { .integer(Int64($0)) }) { $1 }
  }

  // MARK: One-to-ones

  private mutating func connectOne(
    _ relationship: RelationshipDescription, _ entity: EntityDescription, _ back: RelationshipDescription?
  ) {
    guard let back else { return }
    let (name, other) = (entity.name, relationship.destination)
    // The end whose name comes first says it for both.
    guard "\(name).\(relationship.name)" < "\(other).\(back.name)" else { return }
    let (own, targets) = (counts[name] ?? 0, counts[other] ?? 0)
    let isNeeded = relationship.isRequired || back.isRequired
    // Among its own kind each has the next one, and the last has none unless it needs one.
    let shift = name == other ? 1 : 0
    for number in 0..<min(own, targets) {
      if shift == 1, number == own - 1, !isNeeded { continue }
      if !isNeeded, links == .some, number % 3 == 0 { continue }
      made[name]?[number].toOne[relationship.name] = (number + shift) % targets
    }
  }

  // MARK: Many-to-many

  private mutating func connectMany(
    _ relationship: RelationshipDescription, _ entity: EntityDescription, _ back: RelationshipDescription?
  ) {
    let (name, other) = (entity.name, relationship.destination)
    if let back, "\(name).\(relationship.name)" > "\(other).\(back.name)" { return }
    let targets = counts[other] ?? 0
    guard targets > 0 else { return }
    for number in 0..<(counts[name] ?? 0) {
      let most = min(targets, links == .all ? 3 : number % 4)
      let first = Int.random(in: 0..<targets, using: &random)
      let members = (0..<max(most, links == .all ? 1 : 0)).map { (first + $0 * 2) % targets }
      if !members.isEmpty {
        made[name]?[number].toMany[relationship.name] = Array(Set(members)).sorted()
      }
    }
  }
}
