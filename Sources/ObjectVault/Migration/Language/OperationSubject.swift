// What an operation changes, and how names before it map to names after it. Code that follows names uses
// this type only.

/// What an operation changes, with the names before it.
enum OperationSubject {
  case madeEntity(EntityDescription)
  case droppedEntity(String)
  case renamedEntity(String, to: String)
  case movedEntity(String, below: String?)
  /// The entity's objects become objects of another entity, or links (nil).
  case mergedEntity(String, into: String?)
  case made(String, String, isRelationship: Bool)
  case dropped(String, String, isRelationship: Bool)
  case renamed(String, String, to: String, isRelationship: Bool)
  case changed(String, String)
  /// A relationship whose links are stored elsewhere afterwards.
  case moved(String, String, isToMany: Bool)
  case madeIndex(String, [String])
  case droppedIndex(String, [String])
  case rawObject
  /// A composite operation; its parts have the subjects.
  case parts
  case rows

  /// The name of the entity or property that is removed with all its content.
  var lost: String? {
    switch self {
    case .droppedEntity(let name): name
    case .dropped(let entity, let name, _): "\(entity).\(name)"
    default: nil
    }
  }

  /// Whether rows move to another table. Such an operation is compiled alone, in a segment without other
  /// operations.
  var movesRows: Bool { if case .movedEntity = self { true } else { false } }

  /// Whether links are stored elsewhere afterwards.
  var movesLinks: Bool { if case .moved = self { true } else { false } }

  /// Whether the operation is about attributes only, so that all links stay where they are.
  /// - Parameter model: The model before the operation.
  func isOfAttributes(in model: Schema) -> Bool {
    switch self {
    case .made(_, _, let isRelationship), .dropped(_, _, let isRelationship),
      .renamed(_, _, _, let isRelationship):
      return !isRelationship
    case .changed(let entity, let name): return model.entity(named: entity)?.attribute(named: name) != nil
    case .madeIndex(let entity, let names), .droppedIndex(let entity, let names):
      let owner = model.flattenedEntity(named: entity)
      return names.allSatisfy { owner?.attribute(named: $0) != nil }
    case .madeEntity, .droppedEntity, .renamedEntity, .movedEntity, .mergedEntity, .moved, .rawObject, .parts,
      .rows:
      return false
    }
  }

  var isRawObject: Bool { if case .rawObject = self { true } else { false } }

  /// Whether the operation may add an inverse to an existing relationship, whose links are then stored
  /// elsewhere.
  var mayGiveInverses: Bool {
    switch self {
    case .made(_, _, let isRelationship): isRelationship
    case .madeEntity(let entity): !entity.relationships.isEmpty
    default: false
    }
  }
}

extension Set<String> {
  /// Applies an operation to a set of the entities that a step has created, which have no objects yet.
  mutating func follow(_ subject: OperationSubject) {
    switch subject {
    case .madeEntity(let entity): insert(entity.name)
    case .droppedEntity(let name): remove(name)
    case .renamedEntity(let name, let new): if remove(name) != nil { insert(new) }
    default: break
    }
  }
}
