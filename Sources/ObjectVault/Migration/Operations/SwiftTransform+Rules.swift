// The rules of the operation `transform swift NAME on E …`. Its contents are in SwiftTransform.

extension SwiftTransform: DataOperation {
  static let forms = [
    OperationForm("transform", "swift") { line in
      let function = try line.name("the function's name")
      try line.expect("on")
      let entity = try line.name("the entity's name")
      var batch = SwiftTransform.usualBatch
      let access = try line.access(["batch"]) { batch = try $1.batchSize() }
      return [
        .transformSwift(SwiftTransform(name: function, entity: entity, access: access, batch: batch))
      ]
    },
    OperationForm("transform") { line in
      throw line.failure(
        "sql or swift is missing", hint: "write transform sql { … }, or transform swift NAME on Entity")
    },
  ]

  var text: OperationText { .line(description) }
  var work: OperationWork { .transform(self) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: true, completesInverses: false, breaksReaders: false,
      hasForeignSQL: false)
  }
  var function: AppFunction? { AppFunction(name: name, entity: entity, takesValues: false) }

  func change(_ model: inout Schema) throws(ModelError) { try check(in: model) }

  /// The rollback does nothing if the transform declares that it writes only what the step itself added,
  /// and the step moved no rows before: dropping the additions removes the values.
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    !mapping.hasMovedRows && access.writesOnlyNew(mapping, in: model, seesTables: false)
      ? .operations([]) : .none(reason: "it overwrites values and does not keep them")
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] { place.unchecked }
}

extension MigrationLine {
  fileprivate mutating func batchSize() throws -> Int {
    guard let size = next.flatMap(Int.init), (1...100_000).contains(size) else {
      throw failure("the size of the batches is missing", hint: "write a number from 1 to 100000")
    }
    skip()
    return size
  }
}
