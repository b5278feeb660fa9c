// `seed { … }`, which runs for new stores too

struct Seed: DataOperation {
  let sql: String

  var text: OperationText { .block("seed", lines: [sql]) }
  var work: OperationWork { .data(sql) }
  var traits: OperationTraits {
    OperationTraits(movesLinks: false, rewritesValues: false, completesInverses: false, breaksReaders: false)
  }

  func wayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack {
    .none(reason: "which objects it made is not known any more")
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] { place.writes(in: sql) }
}
