// Creates a new store: from the last model, or by running all steps where some of them write rows.

internal import CipherSQLite
internal import Foundation

extension MigrationRunner {
  /// Fills an empty file. Where no step writes rows, the tables of the last model are created at once.
  /// Otherwise all steps run, because a seed or a transform is written for the model of its own step.
  package func createStore() throws {
    let hasRows = set.steps.contains { $0.operations.contains(where: \.writesRows) }
    try registerConversions()
    try withoutForeignKeys {
      try connection.transaction(.exclusive) {
        try OwnTables(connection).create()
        var model = Schema()
        var audit = try RowAudit(connection, readers: readers, model: nil)
        let seeding = hasRows ? try set.compiled(after: 0) : []
        try beginProgress(seeding)
        for (index, step) in set.steps.enumerated() {
          try checkCancelled()
          let (start, before) = (Date(), model)
          if hasRows {
            let compiled = seeding[index]
            self.record.meter.beginStep()
            // A `require` concerns the rows of existing stores. A new store has only rows that its steps
            // created.
            try run(compiled.parts.filter { !$0.isRequirement }, of: step, &audit)
            model = compiled.model
            self.record.meter.endStep()
          } else {
            model = try step.applied(to: before)
          }
          try record(step, kind: "created", since: start, from: before, to: model)
        }
        if !hasRows {
          for table in model.tables { try create(table, model) }
          try makeRawObjects(of: model)
        }
        try audit.finish(model)
        try finish(
          model, version: set.version, minimumReader: set.minimumReader, generation: 1)
      }
    }
  }

  /// Begins the progress with the forecast rows of the steps of a new store.
  private func beginProgress(_ steps: [CompiledStep]) throws {
    guard let progress, !steps.isEmpty else { return }
    let rows = try RowForecast.rowsOfParts(of: steps, in: connection)
    record.meter.begin(
      progress,
      rows: zip(steps, rows).map { step, rows in
        zip(step.parts, rows).filter { !$0.0.isRequirement }.map(\.1)
      })
  }

  func create(_ table: TableInfo, _ model: Schema) throws {
    try connection.execute(sql: table.createSQL(model.layout(ofTable: table.name)))
    for index in table.indexes { try connection.execute(sql: table.indexSQL(index)) }
  }
}
