// `set delete rule of E.r to cascade`

struct SetDeleteRule: TableOperation {
  let entity, name: String
  let rule: DeleteRule

  var text: OperationText { .line("set delete rule of \(entity).\(name) to \(rule.rawValue)") }
  var subject: OperationSubject { .changed(entity, name) }
  var traits: OperationTraits {
    OperationTraits(movesLinks: false, rewritesValues: false, completesInverses: true, breaksReaders: false)
  }
  var missingStatement: String? { "ALTER TABLE for that" }

  func change(_ model: inout Schema) throws(ModelError) {
    guard try model.changeRelationship(entity, name, { $0.deleteRule = rule }) else {
      throw ModelError(reason: "there is no relationship \(entity).\(name)")
    }
  }

  func needsOwnRun(behind mapping: SegmentMapping) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func wayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack {
    model.entity(named: entity)?.relationship(named: name).map {
      .operations([.setDeleteRule(entity, name, $0.deleteRule)])
    } ?? .none(reason: "it has no rule")
  }
}
