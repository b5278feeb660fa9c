// The rules of the operation `transform sql { … }`. Its contents are in SQLTransform.

extension SQLTransform: DataOperation {
  static let forms = [
    OperationForm(block: "transform") { parser in
      var head = try parser.head()
      try head.expect("transform")
      try head.expect("sql")
      let access = try head.access()
      return .transform(
        SQLTransform(try parser.block(from: head.brace(after: "transform sql\(access.text)")), access))
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

  /// The rollback does nothing if the transform declares that it writes only what the step itself added,
  /// and the step moved no rows before: dropping the additions removes the values.
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    !mapping.hasMovedRows && access.writesOnlyNew(mapping, in: model, seesTables: true)
      ? .operations([]) : .none(reason: "it overwrites values and does not keep them")
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] { place.writes(in: sql) + place.unchecked }
}
