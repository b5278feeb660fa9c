// The entities that faults of a model involve. An operation on other entities cannot have caused the faults.

/// The entities that some faults involve.
struct FaultReach {
  /// In lower case.
  private var names: Set<String> = []

  /// - Parameter model: The model that has the faults.
  init(of faults: [SchemaFault], in model: Schema) {
    let words = Set(faults.flatMap(\.names).map { $0.lowercased() })
    // A fault may name a table, an index or a join table; such a name contains the name of its entity.
    var left = model.entities.filter { entity in
      let name = entity.name.lowercased()
      return words.contains { $0.contains(name) }
    }
    for case .tooManyProperties(let entity, _) in faults {
      // The fault names the first entity of the hierarchy; a property of any entity in it may exceed
      // the limit.
      if let root = model.entity(named: entity) { left += model.hierarchy(of: root) }
    }
    var seen: Set<String> = []
    names = words
    while let entity = left.popLast() {
      guard seen.insert(entity.name).inserted else { continue }
      names.insert(entity.name.lowercased())
      // The cause may be an inherited property, or the entity that a relationship references.
      names.formUnion(entity.relationships.map { $0.destination.lowercased() })
      guard let parent = entity.parent else { continue }
      names.insert(parent.lowercased())
      if let above = model.entity(named: parent) { left.append(above) }
    }
  }

  /// Whether an operation may have caused the faults.
  func contains(_ subject: OperationSubject) -> Bool {
    switch subject {
    case .madeEntity(let entity): contains(entity.name)
    case .droppedEntity(let name): contains(name)
    case .renamedEntity(let name, let new): contains(name) || contains(new)
    case .movedEntity(let name, let parent): contains(name) || parent.map(contains) == true
    case .made(let entity, _, _), .dropped(let entity, _, _), .renamed(let entity, _, _, _),
      .changed(let entity, _), .moved(let entity, _, _), .madeIndex(let entity, _),
      .droppedIndex(let entity, _):
      contains(entity)
    // The subject does not show which entities these operations change.
    case .mergedEntity, .rawObject, .parts: true
    case .changedEntity, .rows: false
    }
  }

  private func contains(_ entity: String) -> Bool { names.contains(entity.lowercased()) }
}

extension SchemaFault {
  /// The names in the fault that are names of entities, or may contain one.
  fileprivate var names: [String] {
    switch self {
    case .duplicateName(let entity, _), .reservedName(let entity, _, _), .circularParents(let entity),
      .inheritedIndex(let entity, _), .wrongInverse(let entity, _, _), .ownInverse(let entity, _),
      .contestedInverse(let entity, _, _), .unknownProperty(let entity, _, _), .badKeyPath(let entity, _, _),
      .badOption(let entity, _, _), .badDefault(let entity, _, _), .busyInitializer(let entity, _),
      .emptyIndex(let entity), .tooManyProperties(let entity, _):
      [entity]
    case .clashingName(let name, let owner, let other): [name, owner, other]
    case .unknownParent(let entity, let parent): [entity, parent]
    case .hierarchyName(let entity, _, let other): [entity, other]
    case .unknownDestination(let entity, _, let destination): [entity, destination]
    case .inheritedInverse(let entity, _, let destination, _, let owner): [entity, destination, owner]
    case .narrowInverse(let entity, _, _, let owner): [entity, owner]
    case .badRawObject(let name, _): [name]
    }
  }
}
