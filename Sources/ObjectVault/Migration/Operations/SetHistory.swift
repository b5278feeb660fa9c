// The operations `set history of E to full`, `to changes` and `to none`.

struct SetHistory: TableOperation {
  let entity: String
  let detail: HistoryDetail?

  static let forms = [
    OperationForm("set", "history") { line in
      try line.expect("of")
      let entity = try line.name("the entity's name")
      try line.expect("to")
      return [.setHistory(entity, line.take("none") ? nil : try line.historyDetail())]
    }
  ]
  var text: OperationText { .line("set history of \(entity) to \(detail?.rawValue ?? "none")") }
  var subject: OperationSubject { .changedEntity(entity) }
  var traits: OperationTraits {
    // A program with the model before would write past the history.
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: true,
      hasForeignSQL: false)
  }

  func change(_ model: inout Schema) throws(ModelError) {
    let index = try model.index(of: entity)
    guard model.entities[index].history != detail else {
      throw ModelError(
        reason: detail.map { "\(entity) already has the history \($0.rawValue)" }
          ?? "\(entity) has no history of its own")
    }
    model.entities[index].history = detail
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations([.setHistory(entity, model.entity(named: entity)?.history)])
  }
}
