// The rules for inheritance: parents exist and form no circle, and the properties that share a table have
// different names.

extension Schema {
  /// Returns the faults of inheritance.
  /// - Parameter isAsked: Whether the properties of an entity are checked. If they are, those of all
  ///   entities that share its table are checked with them. Parents are checked in any case.
  func hierarchyFaults(_ isAsked: (EntityDescription) -> Bool) -> [SchemaFault] {
    guard hasHierarchies else { return [] }
    var faults: [SchemaFault] = []
    var isBroken = false
    for entity in entities {
      guard let parent = entity.parent else { continue }
      if self.entity(named: parent) == nil {
        faults.append(.unknownParent(entity: entity.name, parent: parent))
        isBroken = true
      } else if root(of: entity).parent != nil, isOwnAncestor(entity) {
        faults.append(.circularParents(entity: entity.name))
        isBroken = true
      }
    }
    // A circle of parents has no root.
    guard !isBroken else { return faults }
    for hierarchy in hierarchies where hierarchy.contains(where: isAsked) {
      faults += nameFaults(of: hierarchy)
    }
    return faults
  }

  private func isOwnAncestor(_ entity: EntityDescription) -> Bool {
    var next = entity.parent
    // A chain of parents cannot be longer than the number of entities.
    for _ in entities {
      guard let name = next else { return false }
      if name == entity.name { return true }
      next = self.entity(named: name)?.parent
    }
    return false
  }

  private func nameFaults(of hierarchy: [EntityDescription]) -> [SchemaFault] {
    var (names, faults): (HierarchyNames, [SchemaFault]) = (HierarchyNames(), [])
    for entity in hierarchy {
      faults += names.enter(entity).map {
        .hierarchyName(entity: entity.name, property: $0.name, other: $0.other.entity)
      }
    }
    // The columns of all these entities are in one table and are read together.
    let count = hierarchy.reduce(0) { $0 + $1.propertyNames.count }
    if count > 512 { faults.append(.tooManyProperties(entity: hierarchy[0].name, count: count)) }
    return faults
  }
}

/// The property names of the entities that share a table: each may occur once, ignoring case.
struct HierarchyNames {
  private var owners: [String: (entity: String, property: String)] = [:]

  init() {}

  /// Collects the names of some entities.
  init(_ entities: some Sequence<EntityDescription>) { for entity in entities { enter(entity) } }

  /// Returns the entity and the property that have a name.
  func owner(of name: String) -> (entity: String, property: String)? { owners[name.lowercased()] }

  /// Adds the properties that an entity declares.
  /// - Returns: The names that another entity already has. A name that one entity declares twice is a
  ///   separate fault.
  @discardableResult
  mutating func enter(_ entity: EntityDescription) -> [(
    name: String, other: (entity: String, property: String)
  )] {
    entity.propertyNames.compactMap { name in
      let former = owners.updateValue((entity.name, name), forKey: name.lowercased())
      return former.flatMap { $0.entity == entity.name ? nil : (name, $0) }
    }
  }
}
