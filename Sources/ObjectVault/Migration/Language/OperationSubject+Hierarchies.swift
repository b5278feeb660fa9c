// Checks of operations in a model with inheritance: a property can be changed only at the entity that
// declares it, and a name must be unused in the whole table.

extension OperationSubject {
  /// Checks an operation against the inheritance hierarchy of its entity.
  /// - Throws: ``ModelError`` if the entity inherits the property, if another entity of the hierarchy has
  ///   the new name, or if an index of a subentity uses the property that is dropped or whose links move.
  func checkHierarchy(in model: Schema) throws(ModelError) {
    switch self {
    case .made(let entity, let name, _): try model.requireFree(name, inHierarchyOf: entity)
    case .changed(let entity, let name): try model.requireDeclared(entity, property: name)
    // The column is removed, so no index of a subentity may have it.
    case .dropped(let entity, let name, _), .moved(let entity, let name, _):
      try model.requireDeclared(entity, property: name)
      try model.requireUnindexed(name, below: entity)
    case .renamed(let entity, let name, let new, _):
      try model.requireDeclared(entity, property: name)
      try model.requireFree(new, inHierarchyOf: entity)
    case .madeEntity, .droppedEntity, .renamedEntity, .changedEntity, .movedEntity, .mergedEntity, .madeIndex,
      .droppedIndex, .rawObject, .parts, .rows:
      break
    }
  }
}

extension Schema {
  /// Checks the names of the properties of an entity that is to become a subentity.
  /// - Throws: ``ModelError`` if another entity of the hierarchy has a property with one of the names.
  func requireFreeNames(of entity: EntityDescription) throws(ModelError) {
    guard let parent = entity.parent.flatMap({ self.entity(named: $0) }) else { return }
    // Names are compared first: few names are equal, and only their entities need a look-up of the root.
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

  /// Checks that an entity itself declares a property.
  /// - Throws: ``ModelError`` if the entity inherits the property.
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
          "the index \(child.name)\(index.wording) uses it; drop the index first")
    }
  }

  /// Renames a property in the indexes of the subentities that inherit it.
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
