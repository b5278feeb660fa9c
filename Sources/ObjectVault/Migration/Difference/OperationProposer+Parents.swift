// Who inherits from whom, as operations: before properties are dropped, as what an entity has inherited becomes its own by it, or
// the reverse.

extension OperationProposer {
  /// From above to below.
  mutating func setParents() {
    for entity in new.canonical.parentsFirst {
      guard let former = present.entity(named: entity.name), former.parent != entity.parent else { continue }
      if let parent = entity.parent {
        makeParent(parent)
        // Of one table into another it goes by one of its own.
        if former.parent != nil, present.root(of: parent) != present.root(of: entity.name) {
          setNoParent(entity)
        }
        dropMisfits(entity, below: parent)
        dropClashes(entity, below: parent)
        dropUniqueness(entity.name, below: parent)
        add(.setParent(entity.name, to: parent))
      } else {
        setNoParent(entity)
      }
    }
  }

  /// Gives an entity a table of its own, without what comes along and is not wanted: it would be taken for something else that is
  /// called so.
  private mutating func setNoParent(_ entity: EntityDescription) {
    let own = present.entity(named: entity.name).map { Set($0.propertyNames) } ?? []
    add(.setParent(entity.name, to: nil))
    guard let now = present.entity(named: entity.name) else { return }
    let all = new.flattened(entity)
    let gone = now.propertyNames.filter { !own.contains($0) && !all.declares($0) }
    for index in now.indexes where index.properties.contains(where: gone.contains) {
      add(.dropIndex(entity.name, index.properties))
    }
    for name in gone {
      add(
        now.attribute(named: name) == nil
          ? .dropRelationship(entity.name, name) : .dropAttribute(entity.name, name))
    }
  }

  /// Makes an entity that is no entity yet, and those above it.
  private mutating func makeParent(_ name: String) {
    guard present.entity(named: name) == nil, let entity = new.canonical.entity(named: name) else { return }
    if let parent = entity.parent {
      makeParent(parent)
      dropNamesakes(of: entity, below: parent)
    }
    add(.createEntity(new.written(entity, isThere: isUnpaired)))
  }

  /// Drops what a new entity would share its table with under one name, and what is to go in any case: with an entity that goes
  /// later, mostly, as those below it need the new one first.
  private mutating func dropNamesakes(of entity: EntityDescription, below parent: String) {
    guard let above = present.entity(named: parent) else { return }
    for other in present.family(of: above) {
      for name in entity.propertyNames { dropOne(name, [other.name]) }
    }
  }

  /// Drops what has the name of something inherited and is another thing: whichever of the two is to go.
  private mutating func dropMisfits(_ entity: EntityDescription, below parent: String) {
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

  /// Drops a property with the indexes over it, which entities below may have, too.
  private mutating func drop(_ name: String, of owner: EntityDescription) {
    for entity in [owner] + present.descendants(of: owner) {
      for index in entity.indexes where index.properties.contains(name) {
        add(.dropIndex(entity.name, index.properties))
      }
    }
    add(
      owner.attribute(named: name) == nil
        ? .dropRelationship(owner.name, name) : .dropAttribute(owner.name, name))
  }

  /// Drops what makes values unique that are not so among all objects of the parent.
  private mutating func dropUniqueness(_ name: String, below parent: String) {
    guard let own = present.entity(named: name), own.parent == nil,
      let above = present.flattenedEntity(named: parent)
    else { return }
    for key in own.uniqueKeys
    where key.allSatisfy(above.declares) && !above.uniqueKeys.contains(where: { Set($0).isSubset(of: key) }) {
      add(.dropIndex(name, key))
    }
  }

  /// Drops what two entities would have a column of the same name for once they share a table, as far as one of them is to lose
  /// it in any case: of what it lost last it would be taken for that.
  private mutating func dropClashes(_ entity: EntityDescription, below parent: String) {
    guard let above = present.entity(named: parent), let own = present.entity(named: entity.name) else {
      return
    }
    let line = Set(([above] + present.ancestors(of: above)).map(\.name))
    let (theirs, ours) = (present.family(of: above), [own] + present.descendants(of: own))
    for other in theirs {
      for member in ours where member.name != other.name {
        for name in member.propertyNames where other.spelling(of: name) != nil {
          // What the entity and those above it have both becomes one.
          if member.name == entity.name, line.contains(other.name), other.declares(name) { continue }
          dropOne(name, [member.name, other.name])
        }
      }
    }
  }

  /// Drops a property of the first of some entities that is not to have it, however that writes its name: capitals make no
  /// other column.
  private mutating func dropOne(_ name: String, _ entities: [String]) {
    for entity in entities.compactMap({ present.entity(named: $0) }) {
      guard let own = entity.spelling(of: name), new.entity(named: entity.name)?.declares(own) != true
      else { continue }
      return drop(own, of: entity)
    }
  }
}

extension EntityDescription {
  /// How its property is written that has the name in whatever capitals.
  fileprivate func spelling(of name: String) -> String? {
    if declares(name) { return name }
    let lowercase = name.lowercased()
    return propertyNames.first { $0.lowercased() == lowercase }
  }
}
