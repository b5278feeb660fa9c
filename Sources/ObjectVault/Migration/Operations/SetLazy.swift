// The operations `make E.a lazy` and `make E.a eager`.

internal import CipherSQLite

struct SetLazy: TableOperation {
  let entity, name: String
  let isLazy: Bool

  static let forms = [
    OperationForm("make", property: "lazy") { .setLazy($1, $2, true) },
    OperationForm("make", property: "eager") { .setLazy($1, $2, false) },
  ]
  var text: OperationText { .line("make \(entity).\(name) \(isLazy ? "lazy" : "eager")") }
  var subject: OperationSubject { .changed(entity, name) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: false,
      hasForeignSQL: false)
  }
  func missingStatement(_ engine: Engine) -> String? { isLazy ? "ALTER TABLE for this change" : nil }

  func change(_ model: inout Schema) throws(ModelError) {
    try model.changeAttribute(of: entity, named: name) { $0.isLazy = isLazy }
  }

  // At most, the operation moves the column within the table. It neither reads nor changes values.
  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    let wasLazy = model.entity(named: entity)?.attribute(named: name)?.isLazy
    return .operations(wasLazy == !isLazy ? [.setLazy(entity, name, !isLazy)] : [])
  }
}
