// What operations ask of a model in which entities have parents: a property is changed where it is declared, and its name is
// free in the whole table.

extension OperationSubject {
  /// - Throws: ``ModelError`` for an operation that is written for an entity that inherits what it is about, or that gives a
  ///   name which a relative has.
  func checkFamily(in model: Schema) throws(ModelError) {
    switch self {
    case .made(let entity, let name, _): try model.requireFree(name, inFamilyOf: entity)
    case .changed(let entity, let name): try model.requireDeclared(entity, name)
    // Indexes cannot have it any more.
    case .dropped(let entity, let name, _), .moved(let entity, let name, _):
      try model.requireDeclared(entity, name)
      try model.requireUnindexed(name, below: entity)
    case .renamed(let entity, let name, let new, _):
      try model.requireDeclared(entity, name)
      try model.requireFree(new, inFamilyOf: entity)
    case .madeEntity, .droppedEntity, .renamedEntity, .movedEntity, .mergedEntity, .madeIndex, .droppedIndex,
      .rawObject, .parts, .rows:
      break
    }
  }
}

extension Schema {
  /// - Throws: ``ModelError`` where an entity that is to come below its parent has a name that a relative has.
  func requireFreeNames(of entity: EntityDescription) throws(ModelError) {
    guard let parent = entity.parent.flatMap({ self.entity(named: $0) }) else { return }
    // Names first: few are there twice, and who belongs to the family is asked of their owners alone.
    let names = Set(entity.propertyNames.map { $0.lowercased() })
    let table = root(of: parent).name
    for other in entities where other.name != entity.name {
      guard let property = other.propertyNames.first(where: { names.contains($0.lowercased()) }),
        root(of: other).name == table
      else { continue }
      throw ModelError(
        reason:
          "\(other.name).\(property) exists already, and \(entity.name) shares its table; take another name")
    }
  }

  /// - Throws: ``ModelError`` for a property that an entity inherits.
  func requireDeclared(_ name: String, _ property: String) throws(ModelError) {
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
          "the index \(child.name)(\(index.properties.joined(separator: ", "))) uses it; drop that first")
    }
  }

  /// Calls an inherited property by its new name in the indexes of those that inherit it.
  mutating func renameInIndexes(below name: String, _ property: String, _ new: String) {
    guard hasFamilies, let owner = entity(named: name) else { return }
    let below = Set(descendants(of: owner).map(\.name))
    for index in entities.indices where below.contains(entities[index].name) {
      entities[index].renameInIndexes(property, new)
    }
  }

  fileprivate func requireFree(_ property: String, inFamilyOf name: String) throws(ModelError) {
    guard let entity = entity(named: name) else { return }
    let names = FamilyNames(family(of: entity).filter { $0.name != name })
    guard let other = names.owner(of: property) else { return }
    throw ModelError(
      reason:
        "\(other.entity).\(other.property) exists already, and \(name) shares its table; take another name")
  }
}
