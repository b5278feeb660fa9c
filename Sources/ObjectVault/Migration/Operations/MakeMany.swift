// The operations `make E.r many` and `make E.r one picking (SQL)`. LinkMove decides where links are
// stored before and after.

internal import CipherSQLite

struct MakeMany: TableOperation {
  let entity, name: String

  static let forms = [OperationForm("make", property: "many") { .makeMany($1, $2) }]
  var text: OperationText { .line("make \(entity).\(name) many") }
  var subject: OperationSubject { .moved(entity, name, isToMany: true) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: true, breaksReaders: true,
      hasForeignSQL: false)
  }
  var indexedEntity: String? { entity }
  func missingStatement(_ engine: Engine) -> String? { "ALTER TABLE for this change" }

  func change(_ model: inout Schema) throws(ModelError) {
    try model.changeNumber(entity, relationship: name, toMany: true)
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool {
    mapping.movesLinks(of: entity, name, in: model)
  }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {
    if let move = LinkMove(entity, relationship: name, in: model, picking: nil) { mapping.follow(move) }
  }

  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    let relationship = model.entity(named: entity)?.relationship(named: name)
    return .operations(
      [.makeOne(entity, name, picking: nil)]
        // If the relationship had the column of a one-to-one, the inverse has it at this point of the
        // rollback.
        + (relationship.flatMap(model.givingColumnBack(to:)) ?? [])
        + (relationship?.isRequired == true ? [.makeRequired(entity, name, filling: nil)] : []))
  }
}

struct MakeOne: TableOperation {
  let entity, name: String
  /// The first link in this order stays. Without an order, an object with several links is refused.
  let order: String?

  static let forms = [
    OperationForm("make", property: "one") { line, entity, name in
      .makeOne(
        entity, name, picking: line.take("picking") ? try line.expression(after: "picking") : nil)
    }
  ]
  var text: OperationText {
    .line("make \(entity).\(name) one\(order.map { " picking (\($0))" } ?? "")")
  }
  var subject: OperationSubject { .moved(entity, name, isToMany: false) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: true, breaksReaders: true,
      hasForeignSQL: order != nil)
  }
  func missingStatement(_ engine: Engine) -> String? { "ALTER TABLE for this change" }

  func change(_ model: inout Schema) throws(ModelError) {
    try model.changeNumber(entity, relationship: name, toMany: false)
  }

  // The order is evaluated on the rows before the segment, and a segment has only one table of picked
  // links.
  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool {
    mapping.movesLinks(of: entity, name, in: model)
      || order.map { mapping.picks || mapping.changes(wordsOf: $0) } ?? false
  }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) throws(ModelError) {
    let resolved = try order.map { sql throws(ModelError) in
      try LinkMove.checkOrder(sql, of: entity, relationship: name, in: model)
      return try SQLNames(model: model).resolved(expression: sql)
    }
    if let move = LinkMove(entity, relationship: name, in: model, picking: resolved) { mapping.follow(move) }
  }

  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    guard order == nil else { return .none(reason: "the links that were not picked are lost") }
    return .operations(
      [.makeMany(entity, name)]
        + (model.entity(named: entity)?.relationship(named: name)?.isOrdered == true
          ? [.makeOrdered(entity, name)] : []))
  }

  func advice(in model: Schema) -> String? {
    order == nil
      ? "\(entity).\(name): the step fails if an object has several; state which one stays: picking (ORDER)"
      : nil
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    guard place.existed(entity) else { return [] }
    return [
      (
        .severalToOne,
        order == nil
          ? "the step fails if an object has several; write: picking (ORDER)"
          : "links that are not picked are permanently lost"
      )
    ]
  }
}

extension Schema {
  /// The operations that move the column of a one-to-one from the inverse to this relationship. nil if the
  /// relationship is not the end with the column in this model.
  fileprivate func givingColumnBack(to relationship: RelationshipDescription) -> [MigrationOperation]? {
    guard relationship.isOneToOne, let inverse = relationship.inverse,
      let other = entity(named: relationship.destination)?.relationship(named: inverse)
    else { return nil }
    return [
      .dropRelationship(relationship.destination, inverse),
      .addRelationship(relationship.destination, other.written),
    ]
  }

  fileprivate mutating func changeNumber(_ entity: String, relationship name: String, toMany: Bool)
    throws(ModelError)
  {
    let owner = try index(of: entity)
    let index = try relationshipIndex(owner, name)
    let relationship = entities[owner].relationships[index]
    guard relationship.isToMany != toMany else {
      throw ModelError(reason: "\(entity).\(name) is already \(toMany ? "many" : "one")")
    }
    guard relationship.destination != entity || relationship.inverse != name else {
      throw ModelError(reason: "\(entity).\(name) is its own inverse, so both of its ends would change")
    }
    try entities[owner].requireUnindexed(name)
    entities[owner].relationships[index].isToMany = toMany
    // A to-one inverse keeps the column, or gets it from this relationship.
    entities[owner].relationships[index].isLookedUp = false
    if let (other, back) = back(to: entity, property: name) {
      entities[other].relationships[back].isLookedUp = false
      entities[owner].relationships[index].isLookedUp =
        !toMany && entities[other].relationships[back].hasColumn
    }
    // Objects may have no link, so the relationship cannot be required.
    entities[owner].relationships[index].isRequired = false
    // A to-one has no order. A to-many gets one by an operation of its own.
    entities[owner].relationships[index].isOrdered = false
  }
}
