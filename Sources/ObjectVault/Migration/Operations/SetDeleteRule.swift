// The operation `set delete rule of E.r to cascade`.

internal import CipherSQLite

struct SetDeleteRule: TableOperation {
  let entity, name: String
  let rule: DeleteRule

  static let forms = [
    OperationForm("set", "delete") { line in
      try line.expect("rule")
      try line.expect("of")
      let (entity, name) = try line.property()
      try line.expect("to")
      return [.setDeleteRule(entity, name, try line.rule())]
    }
  ]
  var text: OperationText { .line("set delete rule of \(entity).\(name) to \(rule.rawValue)") }
  var subject: OperationSubject { .changed(entity, name) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: true, breaksReaders: false,
      hasForeignSQL: false)
  }
  func missingStatement(_ engine: Engine) -> String? { "ALTER TABLE for this change" }

  func change(_ model: inout Schema) throws(ModelError) {
    _ = try model.known(entity, relationship: name)
    _ = try model.changeRelationship(of: entity, named: name) { $0.deleteRule = rule }
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    model.entity(named: entity)?.relationship(named: name).map {
      .operations([.setDeleteRule(entity, name, $0.deleteRule)])
    } ?? .none(reason: "it has no delete rule")
  }
}
