// The relationships of generated objects.

internal import CipherSQLite
internal import ObjectVault

extension ObjectGenerator {
  mutating func connect(
    _ relationship: RelationshipDescription, of entity: EntityDescription
  ) throws(ObjectShortage) {
    let back = schema.partner(of: relationship, in: entity)
    switch (relationship.isToMany, back?.isToMany) {
    // The inverse, a to-one, sets these links.
    case (true, false): break
    case (true, _): connectManyToMany(relationship, of: entity, inverse: back)
    case (false, false?): connectOneToOne(relationship, entity)
    case (false, _): try connectToOne(relationship, entity)
    }
  }

  // MARK: To-ones, which may share a target

  private mutating func connectToOne(
    _ relationship: RelationshipDescription, _ entity: EntityDescription
  ) throws(ObjectShortage) {
    let targets = members(of: relationship.destination).count
    guard targets > 0 else { return }
    // A unique key is checked only when the last of its to-ones is linked: before that, its values are
    // incomplete.
    let known = linked[schema.root(of: entity.name)] ?? []
    var taken: [String: TakenKeys] = [:]
    for kind in schema.kinds(of: entity.name) {
      guard let owner = schema.entity(named: kind) else { continue }
      let all = schema.flattened(owner)
      let keys = owner.uniqueKeys.filter { key in
        key.contains(relationship.name)
          && key.allSatisfy { name in
            name == relationship.name || known.contains(name) || all.attribute(named: name) != nil
          }
      }
      taken[kind] = TakenKeys(keys)
    }
    for (position, object) in members(of: entity.name).enumerated() {
      let line = lineage(of: object.entity)
      if let target = try target(
        of: relationship, in: entity, for: object, at: position, among: targets,
        taken: line.compactMap { taken[$0] })
      {
        made[object.entity]?[object.number].toOne[relationship.name] = target
      }
      for owner in line { taken[owner]?.take(compared(object)) }
    }
  }

  /// Returns the names of an entity and its ancestors.
  private func lineage(of name: String) -> [String] {
    [name] + (schema.entity(named: name).map(schema.ancestors) ?? []).map(\.name)
  }

  private mutating func target(
    of relationship: RelationshipDescription, in entity: EntityDescription, for object: GeneratedObjectNumber,
    at position: Int, among targets: Int, taken: [TakenKeys]
  ) throws(ObjectShortage) -> Int? {
    let isNil = position == 0 || Int.random(in: 0..<5, using: &random) == 0
    if !relationship.isRequired, links == .some, isNil { return nil }
    var first = Int.random(in: 0..<targets, using: &random)
    // A to-one that refers to its own entity forms a circle through all objects, if none of them is nil.
    if relationship.destination == entity.name { first = (position + 1) % targets }
    for step in 0..<targets {
      let target = (first + step) % targets
      var values = compared(object)
      values[relationship.name] = .integer(Int64(target))
      if taken.allSatisfy({ $0.conflict(of: values) == nil }) { return target }
    }
    guard relationship.isRequired else { return nil }
    throw ObjectShortage(entity: object.entity, possible: object.number)
  }

  /// Returns the values of an object; for each to-one, the position of its target.
  private func compared(_ object: GeneratedObjectNumber) -> [String: SQLValue] {
    guard let object = made[object.entity]?[object.number] else { return [:] }
    return object.values.merging(object.toOne.mapValues { .integer(Int64($0)) }) { $1 }
  }

  // MARK: One-to-ones

  private mutating func connectOneToOne(_ relationship: RelationshipDescription, _ entity: EntityDescription)
  {
    // Only the relationship that has the column is set, not its inverse.
    guard relationship.hasColumn else { return }
    let (name, other) = (entity.name, relationship.destination)
    let (own, targets) = (members(of: name), members(of: other).count)
    let isNeeded = relationship.isRequired
    // In a relationship of an entity with itself, each object refers to the next one. The last one refers
    // to none unless the relationship is required.
    let shift = name == other ? 1 : 0
    for (position, object) in own.prefix(targets).enumerated() {
      if shift == 1, position == own.count - 1, !isNeeded { continue }
      if !isNeeded, links == .some, position % 3 == 0 { continue }
      made[object.entity]?[object.number].toOne[relationship.name] = (position + shift) % targets
    }
  }

  // MARK: Many-to-many

  private mutating func connectManyToMany(
    _ relationship: RelationshipDescription, of entity: EntityDescription,
    inverse back: RelationshipDescription?
  ) {
    let (name, other) = (entity.name, relationship.destination)
    if let back, "\(name).\(relationship.name)" > "\(other).\(back.name)" { return }
    let targets = members(of: other).count
    guard targets > 0 else { return }
    for (position, object) in members(of: name).enumerated() {
      let most = min(targets, links == .all ? 3 : position % 4)
      let first = Int.random(in: 0..<targets, using: &random)
      let found = (0..<max(most, links == .all ? 1 : 0)).map { (first + $0 * 2) % targets }
      if !found.isEmpty {
        made[object.entity]?[object.number].toMany[relationship.name] = Array(Set(found)).sorted()
      }
    }
  }
}
