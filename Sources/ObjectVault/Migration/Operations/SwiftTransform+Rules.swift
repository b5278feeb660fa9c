// `transform swift NAME on E …`, as an operation. What a step says in it is in SwiftTransform.

extension SwiftTransform: DataOperation {
  static let forms = [
    OperationForm("transform", "swift") { line in
      let function = try line.name("the function's name")
      try line.expect("on")
      let entity = try line.name("the entity's name")
      var (reads, writes, batch): ([SwiftTransform.Place]?, [SwiftTransform.Place]?, Int?)
      while let word = line.next {
        line.skip()
        switch word {
        case "reads" where reads == nil: reads = try line.places()
        case "writes" where writes == nil: writes = try line.places()
        case "batch" where batch == nil: batch = try line.batchSize()
        default:
          throw line.failure(
            "\"\(word)\" has no meaning here",
            ["reads", "writes", "batch"].contains(word)
              ? "the line goes on with reads, writes or batch, each once"
              : didYouMean(nearest(word, among: ["reads", "writes", "batch"]))
                ?? "the line goes on with reads, writes or batch, each once")
        }
      }
      return [
        .transformSwift(
          SwiftTransform(
            name: function, entity: entity, reads: reads, writes: writes,
            batch: batch ?? SwiftTransform.usualBatch))
      ]
    },
    OperationForm("transform") { line in
      throw line.failure(
        "sql or swift is missing", "write transform sql { … }, or transform swift NAME on Entity")
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

extension MigrationLine {
  fileprivate mutating func places() throws -> [SwiftTransform.Place] {
    var places = [try place()]
    while take(",") { places.append(try place()) }
    return places
  }

  /// `Entity.property`, or `Entity`.
  private mutating func place() throws -> SwiftTransform.Place {
    if next?.contains(".") == true {
      let (entity, property) = try property()
      return SwiftTransform.Place(entity: entity, property: property)
    }
    return SwiftTransform.Place(entity: try name("an entity or Entity.property"))
  }

  fileprivate mutating func batchSize() throws -> Int {
    guard let size = next.flatMap(Int.init), (1...100_000).contains(size) else {
      throw failure("the size of the batches is missing", "write a number from 1 to 100000")
    }
    skip()
    return size
  }
}
