// The operation `add attribute E.a TYPE …`.

struct AddAttribute: TableOperation {
  let entity: String
  let attribute: AttributeDescription

  static let forms = [
    // `filling V` is shorthand for up to three operations in sequence. The canonical text has these
    // operations.
    OperationForm("add", "attribute") { line in
      let (entity, name) = try line.property()
      let start = line.column
      var (attribute, filling) = try line.attribute(name)
      guard let filling else { return [.addAttribute(entity, attribute)] }
      guard !attribute.isOptional else { throw line.fillsNothing(start) }
      let later = attribute.defaultValue
      attribute.isOptional = true
      attribute.defaultValue = nil
      return [.addAttribute(entity, attribute), .makeRequired(entity, name, filling: filling)]
        + (later.map { [.setDefault(entity, name, $0)] } ?? [])
    }
  ]
  var text: OperationText { .line("add attribute \(entity).\(attribute.text)") }
  var subject: OperationSubject { .made(entity, attribute.name, isRelationship: false) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: lacksValue || repeatsDefault,
      hasForeignSQL: false)
  }
  var indexedEntity: String? { attribute.isUnique || attribute.isIndexed ? entity : nil }

  /// Whether the attribute is required and has no default, so existing rows lack a value.
  private var lacksValue: Bool { !attribute.isOptional && attribute.defaultValue == nil }

  /// Whether the attribute is unique and has a default: older programs give all new rows the default.
  private var repeatsDefault: Bool { attribute.isUnique && attribute.defaultValue != nil }

  func change(_ model: inout Schema) throws(ModelError) {
    try model.change(entity) { entity throws(ModelError) in
      try entity.requireFree(attribute.name)
      try attribute.requireDefault()
      entity.attributes.append(attribute)
      entity.attributes[entity.attributes.count - 1].normalizeDefault()
    }
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations([.dropAttribute(entity, attribute.name)])
  }

  func advice(in model: Schema) -> String? {
    guard lacksValue, model.entity(named: entity) != nil else { return nil }
    return
      "\(entity).\(attribute.name) is required, but existing rows have no value; \(BackfillAdvice.attribute)"
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    guard place.existed(entity) else { return [] }
    var remarks: [OperationRemark] = []
    if lacksValue {
      remarks.append(
        (.requiresWithoutFilling, "existing rows have no value; \(BackfillAdvice.attribute)"))
    }
    if attribute.isUnique, attribute.defaultValue != nil {
      remarks.append(
        (.uniqueOnExisting, "all existing rows get the same value, but it must be unique"))
    }
    return remarks
  }
}
