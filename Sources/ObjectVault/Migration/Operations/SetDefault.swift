// The operations `set default of E.a to V` and `set default of E.a to none`.

internal import CipherSQLite

struct SetDefault: TableOperation {
  let entity, name: String
  let value: DefaultValue?

  static let forms = [
    OperationForm("set") { line in
      try line.expect("default")
      try line.expect("of")
      let (entity, name) = try line.property()
      try line.expect("to")
      return [.setDefault(entity, name, line.take("none") ? nil : try line.value())]
    }
  ]
  var text: OperationText { .line("set default of \(entity).\(name) to \(value?.text ?? "none")") }
  var subject: OperationSubject { .changed(entity, name) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: false,
      hasForeignSQL: false)
  }
  func missingStatement(_ engine: Engine) -> String? { "ALTER TABLE for this change" }

  func change(_ model: inout Schema) throws(ModelError) {
    try model.changeAttribute(of: entity, named: name) { attribute throws(ModelError) in
      attribute.defaultValue = value
      try attribute.requireDefault()
      attribute.normalizeDefault()
    }
  }

  // A column filled by an expression does not depend on the default.
  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool {
    mapping.hasRows(entity) && mapping.isAdded(entity, property: name)
      && !mapping.isExpressed(entity, property: name)
  }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations([
      .setDefault(entity, name, model.entity(named: entity)?.attribute(named: name)?.defaultValue)
    ])
  }
}
