// `transform sql { … }`, as an operation. What a step says in it is in SQLTransform.

extension SQLTransform: DataOperation {
  static let forms = [
    OperationForm(block: "transform") { parser in
      var head = try parser.head()
      try head.expect("transform")
      try head.expect("sql")
      let access = try head.access()
      return .transform(
        SQLTransform(try parser.block(from: head.brace(behind: "transform sql\(access.text)")), access))
    }
  ]
  var text: OperationText { .sql("transform sql\(access.text)", sql) }
  var work: OperationWork { .data(sql, access) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: true, completesInverses: false, breaksReaders: false,
      hasForeignSQL: true)
  }

  func change(_ model: inout Schema) throws(ModelError) { try access.check(in: model) }

  /// What only the step's own properties hold goes with these.
  func wayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack {
    !mapping.hasMovedRows && access.writesOnlyNew(mapping, in: model, seesTables: true)
      ? .operations([]) : .none(reason: "what it wrote over is gone")
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] { place.writes(in: sql) + place.unchecked }
}
