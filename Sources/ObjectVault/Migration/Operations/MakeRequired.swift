// The operations `make E.a required filling V` and `make E.a optional`, for attributes and to-ones.

internal import CipherSQLite

struct MakeRequired: TableOperation {
  let entity, name: String
  let filling: DefaultValue?

  static let forms = [
    OperationForm("make", property: "required") { line, entity, name in
      .makeRequired(entity, name, filling: line.take("filling") ? try line.value() : nil)
    }
  ]
  var text: OperationText {
    .line("make \(entity).\(name) required\(filling.map { " filling \($0.text)" } ?? "")")
  }
  var subject: OperationSubject { .changed(entity, name) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: true, breaksReaders: true,
      hasForeignSQL: false)
  }
  func missingStatement(_ engine: Engine) -> String? { "ALTER TABLE for this change" }

  func change(_ model: inout Schema) throws(ModelError) {
    try requireFitting(model)
    try model.requireAttributeOrToOne(entity, property: name)
    if try model.changeRelationship(of: entity, named: name, { $0.isRequired = true }) { return }
    try model.changeAttribute(of: entity, named: name) { $0.isOptional = false }
  }

  private func requireFitting(_ model: Schema) throws(ModelError) {
    guard let filling, let owner = model.entity(named: entity) else { return }
    if let type = owner.attribute(named: name)?.type, let problem = filling.problem(for: type) {
      throw ModelError(reason: "\(problem); write \(type.constantForm)")
    }
    guard owner.relationship(named: name) != nil else { return }
    if case .integer(let id) = filling, id > 0 { return }
    throw ModelError(
      reason:
        "\(filling.text) is not the id of an object, which filling needs for a to-one; write filling 1, or "
        + "another id"
    )
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool {
    guard mapping.hasRows(entity) else { return false }
    return mapping.wasLookedUp(entity, property: name)
      || mapping.isNew(entity, property: name) && !fillsAddedProperty(mapping, in: model)
        && earlierExpression(mapping, in: model) == nil
  }

  /// The expression by which an earlier operation of the segment computes the attribute; this operation
  /// replaces its NULLs. nil if there is no such expression or no backfill value, for an attribute that
  /// the segment added, and for a to-one.
  private func earlierExpression(_ mapping: SegmentMapping, in model: Schema) -> String? {
    guard filling != nil, !mapping.isAdded(entity, property: name),
      model.entity(named: entity)?.attribute(named: name) != nil
    else { return nil }
    return mapping.expressions[entity]?[name]
  }

  /// Whether the operation fills a property that the segment added without values. Then one copy of the
  /// table both adds the property and gives each row the value.
  private func fillsAddedProperty(_ mapping: SegmentMapping, in model: Schema) -> Bool {
    guard filling != nil, mapping.hasRows(entity), mapping.hasNoValuesYet(entity, property: name, in: model)
    else {
      return false
    }
    guard let relationship = model.entity(named: entity)?.relationship(named: name) else { return true }
    // The check that the referenced object exists reads the tables before the segment, so the destination
    // must be among them.
    return mapping.hasRows(relationship.destination)
  }

  func fill(_ mapping: inout SegmentMapping, in model: Schema) {
    let isAdded = fillsAddedProperty(mapping, in: model)
    guard
      let column = isAdded
        ? "NULL" : earlierExpression(mapping, in: model) ?? mapping.column(entity, property: name)
    else { return }
    let operation = MigrationOperation.makeRequired(entity, name, filling: filling)
    guard let filling else {
      let isOneToOne = model.entity(named: entity)?.relationship(named: name)?.isOneToOne == true
      let remedy =
        isOneToOne
        ? "first give each its own object with a transform"
        : "write: make \(entity).\(name) required filling VALUE"
      mapping.require(entity, property: name, column: column, by: operation, remedy: remedy)
      return
    }
    let type = model.entity(named: entity)?.attribute(named: name)?.type
    let value = (type.map(filling.stored) ?? filling).sql
    mapping.express(
      entity, property: name,
      as: mapping.ofOwnRows(isAdded ? value : "ifnull(\(column), \(value))", of: entity))
    if case .integer(let id) = filling,
      let destination = model.entity(named: entity)?.relationship(named: name)?.destination
    {
      mapping.require(entity, property: name, column: column, by: operation, referringTo: destination, id: id)
    }
  }

  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    if filling == nil, model.isRequired(entity, property: name) { return .operations([]) }
    // The step itself added the property, so the rollback drops it.
    if mapping.former(entity, property: name) == nil { return .operations([]) }
    // Without a backfill value the operation fills no row: it refuses rows that lack a value, even if the
    // attribute has a default.
    return filling == nil
      ? .operations([.makeOptional(entity, name)])
      : .none(reason: "it is no longer known which objects had no value")
  }

  func advice(in model: Schema) -> String? {
    filling == nil
      ? "\(entity).\(name) becomes required; state the value of rows that have none: filling VALUE" : nil
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    guard place.existed(entity), !place.isTransformed(name) else { return [] }
    guard filling == nil else {
      let isUnique = place.model.entity(named: entity)?.uniqueKeys.contains([name]) == true
      return isUnique
        ? [(.uniqueOnExisting, "all rows without a value get the same value, but it must be unique")] : []
    }
    return [(.requiresWithoutFilling, "the step fails if a row has no value; write: filling VALUE")]
  }
}

struct MakeOptional: TableOperation {
  let entity, name: String

  static let forms = [OperationForm("make", property: "optional") { .makeOptional($1, $2) }]
  var text: OperationText { .line("make \(entity).\(name) optional") }
  var subject: OperationSubject { .changed(entity, name) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: true, breaksReaders: true,
      hasForeignSQL: false)
  }
  func missingStatement(_ engine: Engine) -> String? { "ALTER TABLE for this change" }

  func change(_ model: inout Schema) throws(ModelError) {
    try model.requireAttributeOrToOne(entity, property: name)
    if try model.changeRelationship(of: entity, named: name, { $0.isRequired = false }) { return }
    try model.changeAttribute(of: entity, named: name) { $0.isOptional = true }
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool {
    mapping.isNew(entity, property: name)
  }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations(model.isRequired(entity, property: name) ? [.makeRequired(entity, name, filling: nil)] : [])
  }
}

extension Schema {
  /// Refuses the end of a one-to-one that does not have the column, and a name that no property of the
  /// entity has.
  /// - Throws: ``ModelError``; for an unknown name, it suggests a similar one.
  fileprivate func requireAttributeOrToOne(_ entity: String, property name: String) throws(ModelError) {
    let owner = try known(entity)
    if let relationship = owner.relationship(named: name), relationship.isLookedUp {
      let other = "\(relationship.destination).\(relationship.inverse ?? "")"
      throw ModelError(
        reason:
          "\(entity).\(name) cannot be required: it has no column; the column of this one-to-one belongs to "
          + "\(other)"
      )
    }
    guard owner.attribute(named: name) == nil, owner.relationship(named: name) == nil else { return }
    let names = owner.attributes.map(\.name) + owner.relationships.filter { $0.hasColumn }.map(\.name)
    let hint = didYouMean(nearest(name, among: names)).map { "; \($0)" } ?? ""
    throw ModelError(reason: "there is no attribute or to-one \(entity).\(name)\(hint)")
  }

  fileprivate func isRequired(_ entity: String, property name: String) -> Bool {
    guard let owner = self.entity(named: entity) else { return false }
    return owner.attribute(named: name).map { !$0.isOptional }
      ?? owner.relationship(named: name)?.isRequired ?? false
  }
}
