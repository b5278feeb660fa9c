// The operation `require "text" { SELECT … }`.

struct Require: DataOperation {
  let sentence, query: String

  static let forms = [
    OperationForm(block: "require") { parser in
      var head = try parser.head()
      try head.expect("require")
      let text = try head.string("what is required, as a text,")
      return .require(text, try parser.block(from: head.brace(after: "require \"…\"")))
    }
  ]
  var text: OperationText { .sql("require \(MigrationOperation.quoted(sentence))", query) }
  var work: OperationWork { .require(sentence, query: query) }
  var refusesLate: Bool { false }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: false,
      hasForeignSQL: true)
  }

  /// The failure when the query returns false.
  static func notMet(_ sentence: String) -> String { "the requirement \"\(sentence)\" is not met" }
  /// The failure when the query returns several rows: the others would be ignored.
  static let hasManyRows =
    "its query returns more than one row, but must return one value: SELECT count(*) = 0 FROM … WHERE NOT (…)"

  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback { .operations([]) }

  func remarks(_ place: OperationContext) -> [OperationRemark] { place.formerNames(in: query) }
}
