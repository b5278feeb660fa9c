// Checks of operations in a model with inheritance: a property is changed at the entity that declares it,
// and its name must be free in the whole table.

extension OperationSubject {
  /// Checks an operation against the inheritance hierarchy of its entity.
  /// - Throws: ``ModelError`` where the entity inherits the property, or where another entity of the
  ///   hierarchy has the new name.
  func checkHierarchy(in model: Schema) throws(ModelError) {
    switch self {
    case .made(let entity, let name, _): try model.requireFree(name, inHierarchyOf: entity)
    case .changed(let entity, let name): try model.requireDeclared(entity, property: name)
    // The column is removed, so no index of a subentity may use it.
    case .dropped(let entity, let name, _), .moved(let entity, let name, _):
      try model.requireDeclared(entity, property: name)
      try model.requireUnindexed(name, below: entity)
    case .renamed(let entity, let name, let new, _):
      try model.requireDeclared(entity, property: name)
      try model.requireFree(new, inHierarchyOf: entity)
    case .madeEntity, .droppedEntity, .renamedEntity, .movedEntity, .mergedEntity, .madeIndex, .droppedIndex,
      .rawObject, .parts, .rows:
      break
    }
  }
}

extension Schema {
  /// Checks the property names of an entity that is to become a subentity.
  /// - Throws: ``ModelError`` where another entity of the hierarchy has one of the names.
  func requireFreeNames(of entity: EntityDescription) throws(ModelError) {
    guard let parent = entity.parent.flatMap({ self.entity(named: $0) }) else { return }
    // Compares names first: few occur twice, and only their owners' roots then have to be looked up.
    let names = Set(entity.propertyNames.map { $0.lowercased() })
    let table = root(of: parent).name
    for other in entities where other.name != entity.name {
      guard let property = other.propertyNames.first(where: { names.contains($0.lowercased()) }),
        root(of: other).name == table
      else { continue }
      throw ModelError(
        reason:
          "\(other.name).\(property) already exists, and \(entity.name) shares its table; choose another "
          + "name")
    }
  }

  /// Checks that an entity declares a property itself.
  /// - Throws: ``ModelError`` for a property that the entity inherits.
  func requireDeclared(_ name: String, property: String) throws(ModelError) {
    guard let entity = entity(named: name), entity.parent != nil,
      let owner = declarer(of: property, in: entity), owner.name != name
    else { return }
    throw ModelError(reason: "\(name) inherits \(property); write \(owner.name).\(property)")
  }

  fileprivate func requireUnindexed(_ property: String, below name: String) throws(ModelError) {
    for child in entity(named: name).map(descendants) ?? [] {
      guard let index = child.indexes.first(where: { $0.properties.contains(property) }) else { continue }
      throw ModelError(
        reason:
          "the index \(child.name)(\(index.properties.joined(separator: ", "))) uses it; drop the index "
          + "first")
    }
  }

  /// Renames an inherited property in the indexes of the subentities.
  mutating func renameInIndexes(below name: String, property: String, to new: String) {
    guard hasHierarchies, let owner = entity(named: name) else { return }
    let below = Set(descendants(of: owner).map(\.name))
    for index in entities.indices where below.contains(entities[index].name) {
      entities[index].renameInIndexes(property, to: new)
    }
  }

  fileprivate func requireFree(_ property: String, inHierarchyOf name: String) throws(ModelError) {
    guard let entity = entity(named: name) else { return }
    let names = HierarchyNames(hierarchy(of: entity).filter { $0.name != name })
    guard let other = names.owner(of: property) else { return }
    throw ModelError(
      reason:
        "\(other.entity).\(other.property) already exists, and \(name) shares its table; choose another name")
  }
}
