// The change of a file's format, before the steps.

internal import CipherSQLite

extension MigrationRunner {
  /// Brings a store of an older format to the present one, inside the transaction of the steps.
  func changeFormat(of history: StoreHistory) throws -> StoreHistory {
    guard history.format < FileFormat.current else { return history }
    let model = try history.model()
    let former = model.layout(format: history.format)
    let drift = SchemaDifference.lines(
      found: try SchemaDifference.found(former, in: connection), expected: former)
    guard drift.isEmpty else { throw StoreError.schemaDrift(file: connection.path, differences: drift) }
    let compiler = MigrationCompiler(
      engine: .current, before: model, after: model, mapping: SegmentMapping(model))
    for statement in compiler.linkStatements() { try run(statement) }
    let found = try layout(of: model)
    let differences = SchemaDifference.lines(found: found, expected: model.layout)
    guard differences.isEmpty else {
      throw StoreError.schemaDrift(file: connection.path, differences: differences)
    }
    // Programs that have the store open look for columns that are gone.
    try write([
      (.format, .integer(Int64(FileFormat.current))),
      (.physicalHash, .text(SchemaDifference.physicalHash(found))),
      (.generation, .integer(history.generation + 1)),
    ])
    return try StoreHistory.read(connection)
  }
}
