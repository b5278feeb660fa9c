// Proposes changes of parents. These come before properties are dropped, because an inherited property
// may become the entity's own, or an own one may become inherited.

extension OperationProposer {
  /// Proposes the changes of parents, root entities first.
  mutating func setParents() {
    for entity in new.canonical.parentsFirst {
      guard let former = present.entity(named: entity.name), former.parent != entity.parent else { continue }
      if let parent = entity.parent {
        makeParent(parent)
        // An entity that moves from one table to another first gets its own table.
        if former.parent != nil, present.root(of: parent) != present.root(of: entity.name) {
          setNoParent(entity)
        }
        dropConflictingProperties(entity, below: parent)
        dropClashes(entity, below: parent)
        dropUniqueness(entity.name, below: parent)
        add(.setParent(entity.name, to: parent))
      } else {
        setNoParent(entity)
      }
    }
  }

  /// Gives an entity its own table, and drops the formerly inherited properties that the new model does
  /// not have. Otherwise, later operations would mistake them for new properties with the same names.
  private mutating func setNoParent(_ entity: EntityDescription) {
    let own = present.entity(named: entity.name).map { Set($0.propertyNames) } ?? []
    add(.setParent(entity.name, to: nil))
    guard let now = present.entity(named: entity.name) else { return }
    let all = new.flattened(entity)
    let gone = now.propertyNames.filter { !own.contains($0) && !all.declares($0) }
    for index in now.indexes where index.properties.contains(where: gone.contains) {
      add(.dropIndex(entity.name, index.properties, index.comparing))
    }
    for name in gone {
      add(
        now.attribute(named: name) == nil
          ? .dropRelationship(entity.name, name) : .dropAttribute(entity.name, name))
    }
  }

  /// Creates an entity that does not exist yet, and its ancestors.
  private mutating func makeParent(_ name: String) {
    guard present.entity(named: name) == nil, let entity = new.canonical.entity(named: name) else { return }
    if let parent = entity.parent {
      makeParent(parent)
      dropNamesakes(of: entity, below: parent)
    }
    add(.createEntity(new.written(entity, isThere: isUnpaired)))
  }

  /// Drops properties that would clash with a property of a new entity in its table, if the new model
  /// does not have them. Mostly they belong to entities that are dropped only later, because their
  /// subentities need the new entity first.
  private mutating func dropNamesakes(of entity: EntityDescription, below parent: String) {
    guard let above = present.entity(named: parent) else { return }
    for other in present.hierarchy(of: above) {
      for name in entity.propertyNames { dropOne(name, [other.name]) }
    }
  }

  /// Resolves equal names of properties in an entity and its new ancestors. The ancestor's property is
  /// dropped if only the entity is to have it. Otherwise the entity's own is dropped, unless both are
  /// attributes of one type.
  private mutating func dropConflictingProperties(_ entity: EntityDescription, below parent: String) {
    guard let own = present.entity(named: entity.name), let above = present.entity(named: parent) else {
      return
    }
    for name in own.propertyNames {
      guard let owner = present.declarer(of: name, in: above) else { continue }
      if new.entity(named: owner.name)?.declares(name) != true, entity.declares(name) {
        drop(name, of: owner)
      } else if own.attribute(named: name).map({ $0.type != owner.attribute(named: name)?.type }) ?? true {
        drop(name, of: own)
      }
    }
  }

  /// Drops a property with its indexes, including the indexes of subentities.
  private mutating func drop(_ name: String, of owner: EntityDescription) {
    for entity in [owner] + present.descendants(of: owner) {
      for index in entity.indexes where index.properties.contains(name) {
        add(.dropIndex(entity.name, index.properties, index.comparing))
      }
    }
    add(
      owner.attribute(named: name) == nil
        ? .dropRelationship(owner.name, name) : .dropAttribute(owner.name, name))
  }

  /// Drops the unique indexes whose values need not be unique among the parent's objects.
  private mutating func dropUniqueness(_ name: String, below parent: String) {
    guard let own = present.entity(named: name), own.parent == nil,
      let above = present.flattenedEntity(named: parent)
    else { return }
    for key in own.uniqueKeys
    where key.allSatisfy(above.declares) && !above.uniqueKeys.contains(where: { Set($0).isSubset(of: key) }) {
      add(.dropIndex(name, key))
    }
  }

  /// Of two properties that would clash in the shared table, drops the one that the new model does not
  /// have. After the change of parent, a drop by this name would be applied to the other property.
  private mutating func dropClashes(_ entity: EntityDescription, below parent: String) {
    guard let above = present.entity(named: parent), let own = present.entity(named: entity.name) else {
      return
    }
    let line = Set(([above] + present.ancestors(of: above)).map(\.name))
    let (theirs, ours) = (present.hierarchy(of: above), [own] + present.descendants(of: own))
    for other in theirs {
      for member in ours where member.name != other.name {
        for name in member.propertyNames where other.spelling(of: name) != nil {
          // A property that both the entity and an ancestor have is merged.
          if member.name == entity.name, line.contains(other.name), other.declares(name) { continue }
          dropOne(name, [member.name, other.name])
        }
      }
    }
  }

  /// Drops a property from the first of some entities that does not have it in the new model. Names are
  /// compared without regard to case, like names of columns.
  private mutating func dropOne(_ name: String, _ entities: [String]) {
    for entity in entities.compactMap({ present.entity(named: $0) }) {
      guard let own = entity.spelling(of: name), new.entity(named: entity.name)?.declares(own) != true
      else { continue }
      return drop(own, of: entity)
    }
  }
}

extension EntityDescription {
  /// Returns the spelling of a property's name, found without regard to case.
  fileprivate func spelling(of name: String) -> String? {
    if declares(name) { return name }
    let lowercase = name.lowercased()
    return propertyNames.first { $0.lowercased() == lowercase }
  }
}
