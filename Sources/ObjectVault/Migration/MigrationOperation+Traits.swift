// What kind of thing each operation is: all of it in one place, without a default. An operation that is added does not compile
// before it has an answer to each question; those that have more to say than yes or no (text, meaning on a model, SQL, way
// back, how names follow) are asked by switches without a default, too.

/// The kinds of operations, by what others have to know of them.
struct OperationTraits {
  /// Whether it works on rows and not on the model.
  let isData: Bool
  /// Whether it may write rows, be it of a new store.
  let writesRows: Bool
  /// Whether it keeps links or rows elsewhere afterwards, which no other operation of its run may take part in.
  let movesLinks: Bool
  /// Whether it puts values that its author's SQL or Swift computes in the place of others, or moves rows and values to
  /// where a way back does not find all of them: a copy of the store is made before.
  let rewritesValues: Bool
  /// Whether a relationship may have an inverse afterwards that does not say so itself.
  let completesInverses: Bool
  /// The operation as one that stands for others; nil for those that stand for themselves.
  let composite: (any CompositeOperation)?

  fileprivate static let properties = OperationTraits(
    isData: false, writesRows: false, movesLinks: false, rewritesValues: false, completesInverses: false,
    composite: nil)
  fileprivate static let graph = OperationTraits(
    isData: false, writesRows: false, movesLinks: false, rewritesValues: false, completesInverses: true,
    composite: nil)
  fileprivate static let computing = OperationTraits(
    isData: false, writesRows: false, movesLinks: false, rewritesValues: true, completesInverses: false,
    composite: nil)
  fileprivate static let links = OperationTraits(
    isData: false, writesRows: false, movesLinks: true, rewritesValues: false, completesInverses: true,
    composite: nil)
  fileprivate static let family = OperationTraits(
    isData: false, writesRows: false, movesLinks: true, rewritesValues: true, completesInverses: true,
    composite: nil)
  fileprivate static let writing = OperationTraits(
    isData: true, writesRows: true, movesLinks: false, rewritesValues: true, completesInverses: false,
    composite: nil)
  fileprivate static let seeding = OperationTraits(
    isData: true, writesRows: true, movesLinks: false, rewritesValues: false, completesInverses: false,
    composite: nil)
  fileprivate static let asking = OperationTraits(
    isData: true, writesRows: false, movesLinks: false, rewritesValues: false, completesInverses: false,
    composite: nil)

  fileprivate static func standing(for composite: any CompositeOperation) -> OperationTraits {
    OperationTraits(
      isData: false, writesRows: false, movesLinks: false, rewritesValues: true, completesInverses: true,
      composite: composite)
  }
}

extension MigrationOperation {
  var traits: OperationTraits {
    switch self {
    case .createEntity, .dropEntity, .renameEntity, .makeRequired, .makeOptional, .addRelationship,
      .dropRelationship, .setDeleteRule, .renameRelationship:
      .graph
    case .addAttribute, .dropAttribute, .renameAttribute, .setDefault, .addIndex, .dropIndex, .makeOrdered,
      .makeUnordered, .createRawObject, .dropRawObject, .retype(_, _, _, using: nil):
      .properties
    case .retype(_, _, _, using: _?), .retypeBySwift: .computing
    case .makeMany, .makeOne: .links
    case .setParent: .family
    case .moveAttributes(let move): .standing(for: move)
    case .mergeEntities(let merge): .standing(for: merge)
    case .makeEntityRelationship(let change): .standing(for: change)
    case .makeRelationshipEntity(let change): .standing(for: change)
    case .transform, .transformSwift: .writing
    case .seed: .seeding
    case .require: .asking
    }
  }

  var isData: Bool { traits.isData }
  var writesRows: Bool { traits.writesRows }
  var movesLinks: Bool { traits.movesLinks }
  var rewritesValues: Bool { traits.rewritesValues }
  var completesInverses: Bool { traits.completesInverses }
  var composite: (any CompositeOperation)? { traits.composite }
}
