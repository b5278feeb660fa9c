// `transform swift NAME on E …`, as an operation. What a step says in it is in SwiftTransform.

extension SwiftTransform: DataOperation {
  var text: OperationText { .line(description) }
  var work: OperationWork { .transform(self) }
  var traits: OperationTraits {
    OperationTraits(movesLinks: false, rewritesValues: true, completesInverses: false, breaksReaders: false)
  }
  var function: AppFunction? { AppFunction(name: name, entity: entity, takesValues: false) }

  func change(_ model: inout Schema) throws(ModelError) { try check(in: model) }

  /// What only the step's own properties hold goes with these.
  func wayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack {
    !mapping.hasMovedRows && hasMade(writes, mapping, in: model)
      ? .operations([]) : .none(reason: "what it wrote over is gone")
  }

  /// Whether none of these was there before the step.
  /// - Parameter model: The model as the step has made it so far.
  private func hasMade(_ places: [Place]?, _ mapping: SegmentMapping, in model: Schema) -> Bool {
    places?.allSatisfy { place in
      mapping.entities[place.entity] == nil
        || place.property.map { property in
          // An inherited one is as old as it is where it is declared.
          let owner = model.entity(named: place.entity).flatMap { model.declarer(of: property, in: $0) }
          return mapping.former(owner?.name ?? place.entity, property) == nil
        } ?? false
    } ?? false
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] { place.unchecked }
}
