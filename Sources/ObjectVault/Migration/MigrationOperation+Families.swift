// What operations ask of a model in which entities have parents: a property is changed where it is declared, and its name is
// free in the whole table.

extension MigrationOperation {
  /// - Throws: ``ModelError`` for an operation that is written for an entity that inherits what it is about, or that gives a
  ///   name which a relative has.
  func checkFamily(in model: Schema) throws(ModelError) {
    if let (entity, name) = changed { try model.requireDeclared(entity, name) }
    if let (entity, name) = dropped { try model.requireUnindexed(name, below: entity) }
    if let (entity, name) = named { try model.requireFree(name, inFamilyOf: entity) }
  }

  /// The property that the operation changes.
  private var changed: (String, String)? {
    switch self {
    case .dropAttribute(let entity, let name), .renameAttribute(let entity, let name, _),
      .retype(let entity, let name, _, _), .retypeBySwift(let entity, let name, _, _),
      .makeRequired(let entity, let name, _), .makeOptional(let entity, let name),
      .setDefault(let entity, let name, _), .dropRelationship(let entity, let name),
      .setDeleteRule(let entity, let name, _), .makeMany(let entity, let name),
      .makeOne(let entity, let name, _), .makeOrdered(let entity, let name),
      .makeUnordered(let entity, let name), .renameRelationship(let entity, let name, _):
      (entity, name)
    default: nil
    }
  }

  /// The property that indexes cannot have any more.
  private var dropped: (String, String)? {
    switch self {
    case .dropAttribute(let entity, let name), .dropRelationship(let entity, let name),
      .makeMany(let entity, let name), .makeOne(let entity, let name, _):
      (entity, name)
    default: nil
    }
  }

  /// The property that it makes.
  private var named: (String, String)? {
    switch self {
    case .addAttribute(let entity, let attribute): (entity, attribute.name)
    case .addRelationship(let entity, let relationship): (entity, relationship.name)
    case .renameAttribute(let entity, _, let new), .renameRelationship(let entity, _, let new): (entity, new)
    default: nil
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
