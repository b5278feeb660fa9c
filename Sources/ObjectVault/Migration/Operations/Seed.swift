// The operation `seed { … }`, which runs for new stores as well.

struct Seed: DataOperation {
  let sql: String

  static let forms = [
    OperationForm(block: "seed") { parser in
      var head = try parser.head()
      try head.expect("seed")
      return .seed(try parser.block(from: head.brace(after: "seed")))
    }
  ]
  var text: OperationText { .sql("seed", sql) }
  var work: OperationWork { .data(sql, TransformAccess()) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: false,
      hasForeignSQL: true)
  }

  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .none(reason: "it is no longer known which objects it created")
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] { place.writes(in: sql) }
}
