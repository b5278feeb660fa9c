// What a run writes into the store's bookkeeping tables.

internal import CipherSQLite
internal import Foundation

extension MigrationRunner {
  func layout(of model: Schema) throws -> StoreLayout {
    try SchemaDifference.found(model.layout, in: connection)
  }

  /// Checks that the tables are those of the model, and records the store's new state.
  func finish(
    _ model: Schema, version: Int, minimumReader: Int, generation: Int64
  ) throws {
    try raiseHighWaterMarks(model)
    let (found, expected) = (try layout(of: model), model.layout)
    let differences = SchemaDifference.lines(found: found, expected: expected)
    guard differences.isEmpty,
      SchemaDifference.physicalHash(found) == SchemaDifference.physicalHash(expected)
    else {
      throw StoreError.schemaDrift(file: connection.path, differences: differences)
    }
    try write([
      (.format, .integer(Int64(FileFormat.version(of: model)))), (.version, .integer(Int64(version))),
      (.modelHash, .text(texts.meaningHash(of: model))), (.modelJSON, .text(texts.json(of: model))),
      (.physicalHash, .text(SchemaDifference.physicalHash(found))),
      (.minimumReader, .integer(Int64(minimumReader))), (.generation, .integer(generation)),
      (
        .storeState,
        .text(
          try StateDigest(of: HistoryTable(connection: connection), model: model)
            .text(generation: generation))
      ),
    ])
    // Tables that were rebuilt have lost their statistics.
    if keepsStatistics { try TableStatistics(connection).refresh() }
    try RecordedNames.update(connection, to: model, version: version)
    if generation == 1 { try write([(.createdBy, .text("ObjectVault, \(Engine.current)"))]) }
    try connection.setUserVersion(version)
  }

  /// Writes entries of the store's state, and an id for a store that has none.
  func write(_ values: [(entry: MetaTable.Entry, value: SQLValue)]) throws {
    let meta = MetaTable(connection: connection)
    try meta.write(values)
    try meta.writeIfMissing(.storeID, .text(UUID().uuidString))
  }

  func record(
    _ step: MigrationStep, kind: String, since start: Date, from before: Schema, to model: Schema
  ) throws {
    let back = step.backup.carrying(try step.rollback(from: before, to: model).text)
    let applied = AppliedStep(
      number: step.number, name: step.name, kind: kind, checksum: step.checksum,
      appliedAt: StoreHistory.now(), milliseconds: Self.milliseconds(since: start),
      app: StoreHistory.program, engine: "\(Engine.current)", text: step.canonicalText, down: back)
    try HistoryTable(connection: connection).append(
      .init(step: applied, modelHash: texts.meaningHash(of: model), tool: Self.tool))
  }

  func takeBack(_ step: MigrationStep, since start: Date) throws {
    try OwnTables(connection).takeBack(
      step.number,
      RollbackRecord(
        at: StoreHistory.now(), milliseconds: Self.milliseconds(since: start), app: StoreHistory.program,
        tool: Self.tool, engine: "\(Engine.current)"))
  }

  private static let tool = "ObjectVault"

  private static func milliseconds(since start: Date) -> Int {
    Int(Date().timeIntervalSince(start) * 1000)
  }
}
