// The change of a file's format, before the steps.

internal import CipherSQLite

extension MigrationRunner {
  /// Brings a store of an older format to the present one, inside the transaction of the steps.
  func changeFormat(of history: StoreHistory) throws -> StoreHistory {
    guard history.format < FileFormat.current else { return history }
    let model = try history.model()
    guard let change = FormatChange(of: model, format: history.format) else { return history }
    let drift = SchemaDifference.lines(
      found: try SchemaDifference.found(change.former, in: connection), expected: change.former,
      repairing: model)
    guard drift.isEmpty else { throw StoreError.schemaDrift(file: connection.path, differences: drift) }
    let obstacles = try ForeignObjects(layout: change.former).obstacles(
      to: [], behind: change, connection)
    guard obstacles.isEmpty else {
      throw StoreError.stepsObstructed(file: connection.path, obstacles: obstacles)
    }
    for statement in change.statements { try run(statement) }
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
