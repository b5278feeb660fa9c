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
