// What an operation is about, and how the names before it map to those after it: all who follow names ask this alone.

/// What an operation is about, by the names before it.
enum OperationSubject {
  case madeEntity(EntityDescription)
  case droppedEntity(String)
  case renamedEntity(String, to: String)
  case movedEntity(String, below: String?)
  /// Its objects become those of another entity, or none.
  case mergedEntity(String, into: String?)
  case made(String, String, isRelationship: Bool)
  case dropped(String, String, isRelationship: Bool)
  case renamed(String, String, to: String, isRelationship: Bool)
  case changed(String, String)
  /// A relationship whose links lie elsewhere afterwards.
  case moved(String, String, isToMany: Bool)
  case madeIndex(String, [String])
  case droppedIndex(String, [String])
  case rawObject
  /// What the operations are about that it stands for.
  case parts
  case rows

  /// The name of what goes with all that it holds.
  var lost: String? {
    switch self {
    case .droppedEntity(let name): name
    case .dropped(let entity, let name, _): "\(entity).\(name)"
    default: nil
    }
  }

  /// Whether rows lie in another table afterwards, which no other operation of its run may take part in.
  var movesRows: Bool { if case .movedEntity = self { true } else { false } }

  /// Whether links are kept elsewhere afterwards.
  var movesLinks: Bool { if case .moved = self { true } else { false } }

  /// Whether it is about attributes alone, so that all links are where they were.
  /// - Parameter model: The model before it.
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

  /// Whether a relationship may become the inverse of one that is there, so that the links of that are kept elsewhere.
  var mayGiveInverses: Bool {
    switch self {
    case .made(_, _, let isRelationship): isRelationship
    case .madeEntity(let entity): !entity.relationships.isEmpty
    default: false
    }
  }
}

extension Set<String> {
  /// Goes along with the entities that a step makes, which have no objects yet.
  mutating func follow(_ subject: OperationSubject) {
    switch subject {
    case .madeEntity(let entity): insert(entity.name)
    case .droppedEntity(let name): remove(name)
    case .renamedEntity(let name, let new): if remove(name) != nil { insert(new) }
    default: break
    }
  }
}
