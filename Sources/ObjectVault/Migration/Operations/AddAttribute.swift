// `add attribute E.a TYPE …`

struct AddAttribute: TableOperation {
  let entity: String
  let attribute: AttributeDescription

  var text: OperationText { .line("add attribute \(entity).\(attribute.text)") }
  var subject: OperationSubject { .made(entity, attribute.name, isRelationship: false) }
  var traits: OperationTraits {
    OperationTraits(
      movesLinks: false, rewritesValues: false, completesInverses: false, breaksReaders: lacksValue)
  }
  var indexedEntity: String? { attribute.isUnique || attribute.isIndexed ? entity : nil }

  /// Whether rows that are there have nothing that they must have.
  private var lacksValue: Bool { !attribute.isOptional && attribute.defaultValue == nil }

  func change(_ model: inout Schema) throws(ModelError) {
    try model.change(entity) { entity throws(ModelError) in
      try entity.requireFree(attribute.name)
      try attribute.requireDefault()
      entity.attributes.append(attribute)
      entity.attributes[entity.attributes.count - 1].normalizeDefault()
    }
  }

  func needsOwnRun(behind mapping: SegmentMapping) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func wayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack {
    .operations([.dropAttribute(entity, attribute.name)])
  }

  func advice(in model: Schema) -> String? {
    guard lacksValue, model.entity(named: entity) != nil else { return nil }
    return
      "\(entity).\(attribute.name) is required: give those that are there a value; \(FillingAdvice.attribute)"
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    guard place.existed(entity) else { return [] }
    var remarks: [OperationRemark] = []
    if lacksValue {
      remarks.append(
        (.requiresWithoutFilling, "rows that are there have no value; \(FillingAdvice.attribute)"))
    }
    if attribute.isUnique, attribute.defaultValue != nil {
      remarks.append(
        (.uniqueOnExisting, "all rows that are there get the same value, and it has to be unique"))
    }
    return remarks
  }
}
