// What an operation changes, and how it changes names. Code that follows names through operations uses
// only this type.

/// What an operation changes, under the names before it.
enum OperationSubject {
  case madeEntity(EntityDescription)
  case droppedEntity(String)
  case renamedEntity(String, to: String)
  case movedEntity(String, below: String?)
  /// Objects of the entity become objects of another entity, or links (nil).
  case mergedEntity(String, into: String?)
  case made(String, String, isRelationship: Bool)
  case dropped(String, String, isRelationship: Bool)
  case renamed(String, String, to: String, isRelationship: Bool)
  case changed(String, String)
  /// An option of an entity, which concerns neither its table nor any name.
  case changedEntity(String)
  /// A relationship whose links the operation stores in another place.
  case moved(String, String, isToMany: Bool)
  case madeIndex(String, [String])
  case droppedIndex(String, [String])
  case rawObject
  /// A composite operation. Its parts have subjects of their own.
  case parts
  case rows

  /// The entity or property that is dropped with all its content; nil for other operations.
  var lost: String? {
    switch self {
    case .droppedEntity(let name): name
    case .dropped(let entity, let name, _): "\(entity).\(name)"
    default: nil
    }
  }

  /// Whether the operation gives an entity another parent, so that rows may move to another table. A
  /// segment with such an operation has no other operations.
  var movesRows: Bool { if case .movedEntity = self { true } else { false } }

  /// Whether links are stored in another place afterwards.
  var movesLinks: Bool { if case .moved = self { true } else { false } }

  /// Whether the operation is about attributes only, so that no links move.
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
    case .madeEntity, .droppedEntity, .renamedEntity, .changedEntity, .movedEntity, .mergedEntity, .moved,
      .rawObject, .parts, .rows:
      return false
    }
  }

  var isRawObject: Bool { if case .rawObject = self { true } else { false } }

  /// Whether the operation may give an existing relationship an inverse, which changes the place of its
  /// links.
  var mayGiveInverses: Bool {
    switch self {
    case .made(_, _, let isRelationship): isRelationship
    case .madeEntity(let entity): !entity.relationships.isEmpty
    default: false
    }
  }
}

extension Set<String> {
  /// Applies an operation to the set of entities that a step has created and that have no objects yet.
  mutating func follow(_ subject: OperationSubject) {
    switch subject {
    case .madeEntity(let entity): insert(entity.name)
    case .droppedEntity(let name): remove(name)
    case .renamedEntity(let name, let new): if remove(name) != nil { insert(new) }
    default: break
    }
  }
}
