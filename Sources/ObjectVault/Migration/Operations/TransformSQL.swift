// `transform sql { … }`

struct TransformSQL: DataOperation {
  let sql: String

  static let forms = [
    OperationForm(block: "transform") { parser in
      var head = try parser.head()
      try head.expect("transform")
      try head.expect("sql")
      return .transform(try parser.block(from: head.brace(behind: "transform sql")))
    }
  ]
  var text: OperationText { .block("transform sql", lines: [sql]) }
  var work: OperationWork { .data(sql) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: true, completesInverses: false, breaksReaders: false,
      hasForeignSQL: true)
  }

  func wayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack {
    .none(reason: "what it wrote over is gone")
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] { place.writes(in: sql) + place.unchecked }
}
