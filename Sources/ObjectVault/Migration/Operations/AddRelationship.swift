// The operation `add relationship E.r -> D …`.

struct AddRelationship: TableOperation {
  let entity: String
  let relationship: RelationshipDescription

  static let forms = [
    // `filling ID` is shorthand for two operations in sequence. The canonical text has these operations.
    OperationForm("add", "relationship") { line in
      let (entity, name) = try line.property()
      let start = line.column
      var (relationship, filling) = try line.relationship(name)
      guard let filling else { return [.addRelationship(entity, relationship)] }
      guard !relationship.isToMany else {
        throw line.failure("a to-many is never required", hint: "remove filling", at: start)
      }
      guard relationship.isRequired else { throw line.fillsNothing(start) }
      relationship.isRequired = false
      return [.addRelationship(entity, relationship), .makeRequired(entity, name, filling: filling)]
    }
  ]
  var text: OperationText { .line("add relationship \(entity).\(relationship.text)") }
  var subject: OperationSubject { .made(entity, relationship.name, isRelationship: true) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: true,
      breaksReaders: relationship.isRequired, hasForeignSQL: false)
  }
  var indexedEntity: String? { relationship.isToMany ? nil : entity }

  func change(_ model: inout Schema) throws(ModelError) {
    try model.change(entity) { entity throws(ModelError) in
      try entity.requireFree(relationship.name)
      entity.relationships.append(relationship)
    }
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations([.dropRelationship(entity, relationship.name)])
  }

  /// Whether the operation adds the end of a one-to-one that does not have the column. This end takes no
  /// backfill value and cannot be required; if it is, the model reports a fault.
  private func isLookedUp(in model: Schema) -> Bool {
    var model = model
    guard (try? MigrationOperation.addRelationship(entity, relationship).apply(to: &model)) != nil else {
      return false
    }
    return model.entity(named: entity)?.relationship(named: relationship.name)?.isLookedUp == true
  }

  func advice(in model: Schema) -> String? {
    guard relationship.isRequired, !relationship.isToMany, model.entity(named: entity) != nil,
      !isLookedUp(in: model)
    else { return nil }
    return
      "\(entity).\(relationship.name) is required, but existing rows have no value; \(BackfillAdvice.toOne)"
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    guard place.existed(entity), relationship.isRequired, !isLookedUp(in: place.model) else { return [] }
    return [(.requiresWithoutFilling, "existing rows have no value; \(BackfillAdvice.toOne)")]
  }
}
