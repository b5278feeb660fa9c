// The rules of entities with parents: who may be one, and that all properties of a table differ.

extension Schema {
  /// - Parameter isAsked: Whether an entity is looked at; with it all that share its table are.
  func familyFaults(_ isAsked: (EntityDescription) -> Bool) -> [SchemaFault] {
    guard hasFamilies else { return [] }
    var faults: [SchemaFault] = []
    var isBroken = false
    for entity in entities {
      guard let parent = entity.parent else { continue }
      if self.entity(named: parent) == nil {
        faults.append(.unknownParent(entity: entity.name, parent: parent))
        isBroken = true
      } else if root(of: entity).parent != nil, isAboveItself(entity) {
        faults.append(.circularParents(entity: entity.name))
        isBroken = true
      }
    }
    // Of a circle nobody is the root.
    guard !isBroken else { return faults }
    for root in entities where root.parent == nil {
      let family = family(of: root)
      guard family.count > 1, family.contains(where: isAsked) else { continue }
      faults += nameFaults(of: family)
    }
    return faults
  }

  private func isAboveItself(_ entity: EntityDescription) -> Bool {
    var next = entity.parent
    // No line of parents is longer than there are entities.
    for _ in entities {
      guard let name = next else { return false }
      if name == entity.name { return true }
      next = self.entity(named: name)?.parent
    }
    return false
  }

  private func nameFaults(of family: [EntityDescription]) -> [SchemaFault] {
    var faults: [SchemaFault] = []
    var owners: [String: String] = [:]
    var count = 0
    for entity in family {
      count += entity.propertyNames.count
      for name in entity.propertyNames {
        // What one entity declares twice is a fault of its own.
        guard let other = owners.updateValue(entity.name, forKey: name.lowercased()), other != entity.name
        else { continue }
        faults.append(.familyName(entity: entity.name, property: name, other: other))
      }
    }
    // The columns of all of them lie in one table, and are read together.
    if count > 512 { faults.append(.tooManyProperties(entity: family[0].name, count: count)) }
    return faults
  }
}
