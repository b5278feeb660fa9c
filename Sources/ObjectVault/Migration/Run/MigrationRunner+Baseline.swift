// Creates a store at a version from existing rows: its steps are recorded and do not run.

package import CipherSQLite
private import Foundation

extension MigrationRunner {
  /// Creates the tables of the last model in an empty file, has them filled, and records the steps.
  /// - Parameter fill: Fills the tables; called inside the transaction, while foreign keys are not enforced.
  package func createBaseline(_ model: Schema, fill: () throws -> Void) throws {
    try withoutForeignKeys {
      try connection.transaction(.exclusive) {
        try OwnTables(connection).create()
        for table in model.tables { try create(table, model) }
        try fill()
        // After the rows, so that no trigger fires for them.
        try makeRawObjects(of: model)
        try recordBaseline(model)
      }
    }
  }

  /// Turns a file whose tables are those of the last model into a store.
  /// - Throws: ``StoreError/adoptionRefused(file:reason:takesRows:)``,
  ///   ``StoreError/schemaDrift(file:differences:)``.
  package func adoptInPlace(_ model: Schema) throws {
    func refuse(_ reason: String, takesRows: Bool = false) -> StoreError {
      .adoptionRefused(file: connection.path, reason: reason, takesRows: takesRows)
    }
    try withoutForeignKeys {
      try connection.transaction(.exclusive) {
        guard try !OwnTables(connection).meta.exists() else {
          throw refuse("it is already a store of ObjectVault; open it as it is")
        }
        let drift = SchemaDifference.lines(found: try layout(of: model), expected: model.layout)
        guard drift.isEmpty else {
          throw refuse(
            "its tables differ from those of the steps (\(drift.prefix(5).joined(separator: "; ")))",
            takesRows: true)
        }
        if let foreign = try ForeignObjects(layout: model.layout).findings(connection).first {
          throw refuse(foreign, takesRows: true)
        }
        for entity in model.roots {
          let id = try connection.tableInfo(entity.name).columns.first { $0.name == "id" }
          guard id?.isPrimaryKey == true else {
            throw refuse("\(entity.name).id is not an INTEGER PRIMARY KEY", takesRows: true)
          }
          let low = try connection.value("SELECT 1 FROM \(SQLName(entity.name)) WHERE \"id\" < 1 LIMIT 1")
          guard low == nil else {
            throw refuse("\(entity.name) has a row with an id below 1, but ids of objects begin at 1")
          }
        }
        if let first = try model.rowFindings(connection).first { throw refuse(first) }
        if let row = try connection.foreignKeyViolations().first {
          throw refuse("a row of \(row.first?.string ?? "a table") refers to a missing row")
        }
        try OwnTables(connection).create()
        try raiseToSequences(model)
        try recordBaseline(model)
      }
    }
  }

  /// Raises the high-water marks, so that ids which AUTOINCREMENT has issued are not issued again.
  private func raiseToSequences(_ model: Schema) throws {
    guard try connection.tableExists("sqlite_sequence") else { return }
    for entity in model.roots {
      let last = try connection.value(
        "SELECT max(seq) FROM sqlite_sequence WHERE name = \(entity.name) COLLATE NOCASE")
      try RowIDs(connection: connection).raise(entity.name, to: last?.int64 ?? 0)
    }
  }

  private func recordBaseline(_ model: Schema) throws {
    var before = Schema()
    for step in set.steps {
      let after = try step.applied(to: before)
      try record(step, kind: "baseline", since: Date(), from: before, to: after)
      before = after
    }
    try finish(model, version: set.version, minimumReader: set.minimumReader, generation: 1)
  }
}

extension Schema {
  /// Returns the values of rows from another program that the model does not allow, a sentence each.
  /// References to missing rows are not included.
  package func rowFindings(_ connection: Connection) throws -> [String] {
    try TypeCheck(model: self).findings(connection).map { "\($0)" }
      + ReferenceCheck.misled(connection, self)
  }
}
