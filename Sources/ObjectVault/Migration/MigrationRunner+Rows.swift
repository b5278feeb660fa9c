// What a migration asks before its first step, and how it copies the rows of a table.

internal import CipherSQLite
private import Foundation

extension MigrationRunner {
  /// What a step loses is decided by its author, in its file, and not by whoever opens the store.
  func checkLosses(from history: StoreHistory) throws {
    for compiled in try set.compiled(after: history.version) {
      let losses = compiled.unallowedLosses.filter { !allowedLosses.contains($0) }
      guard losses.isEmpty else {
        throw StoreError.lossNotAllowed(step: compiled.step.number, name: compiled.step.name, losses: losses)
      }
    }
  }

  /// Copies in slices, so that a cancellation is heard and memory stays small.
  func copy(
    _ from: String, _ to: String, _ columns: [String], _ expressions: [String], _ keyed: Bool
  ) throws {
    let insert =
      "INSERT INTO \(quoted(to)) (\(columns.map { quoted($0) }.joined(separator: ", "))) "
      + "SELECT \(expressions.joined(separator: ", ")) FROM \(quoted(from))"
    var copied = 0
    if keyed {
      let bounds =
        try connection.rows(sql: "SELECT min(\"id\"), max(\"id\") FROM \(quoted(from))").first ?? []
      var low = bounds.first?.int64 ?? 1
      let high = bounds.last?.int64 ?? 0
      let slice: Int64 = 65_536
      while low <= high {
        try checkCancelled()
        let (next, overflow) = low.addingReportingOverflow(slice)
        let end = overflow ? Int64.max : next - 1
        copied += try connection.execute(
          sql: insert + " WHERE \"id\" BETWEEN ? AND ?", [.integer(low), .integer(min(end, high))])
        if overflow || end >= high { break }
        // Ids far apart are not walked through slice by slice.
        low =
          try connection.value(
            sql: "SELECT min(\"id\") FROM \(quoted(from)) WHERE \"id\" > ?", [.integer(end)])?
          .int64
          ?? Int64.max
      }
    } else {
      copied = try connection.execute(sql: insert)
    }
    let expected = try connection.value(sql: "SELECT count(*) FROM \(quoted(from))")?.int64 ?? 0
    guard Int64(copied) == expected else {
      throw ModelError(reason: "\(copied) of \(expected) rows of \(from) were copied")
    }
  }

  /// A rebuild needs room for the table twice: for its copy, and in the journal. A backup needs it once.
  func checkSpace(from history: StoreHistory) throws {
    let system = try? FileManager.default.attributesOfFileSystem(forPath: connection.file.folder)
    guard let bytes = connection.file.byteCount, let free = (system?[.systemFreeSize] as? NSNumber)?.intValue
    else {
      return
    }
    let pending = try set.compiled(after: history.version)
    let rebuilds = pending.contains { step in
      step.parts.contains { $0.statements.contains { if case .copy = $0 { true } else { false } } }
    }
    let copies = makesBackups && pending.contains(where: \.wantsBackup) ? 1 : 0
    let needed = bytes * (copies + (rebuilds ? 2 : 0))
    guard free < needed else { return }
    throw StoreError.notEnoughSpace(file: connection.path, neededBytes: needed, freeBytes: free)
  }

  /// Brings a store of an older format to the present one, inside the transaction of the steps.
  func changeFormat(of history: StoreHistory) throws -> StoreHistory {
    guard history.format < StoreHistory.currentFormat else { return history }
    let model = try history.model()
    let former = model.tables(format: history.format)
    let drift = SchemaDifference.lines(
      found: try former.map { try connection.tableInfo($0.name) }, expected: former)
    guard drift.isEmpty else { throw StoreError.schemaDrift(file: connection.path, differences: drift) }
    let compiler = MigrationCompiler(
      engine: .current, before: model, after: model, mapping: SegmentMapping(model))
    var touched = TouchedColumns()
    for statement in compiler.linkStatements() { try run(statement, &touched) }
    let found = try tables(of: model)
    let differences = SchemaDifference.lines(found: found, expected: model.tables)
    guard differences.isEmpty else {
      throw StoreError.schemaDrift(file: connection.path, differences: differences)
    }
    // Programs that have the store open look for columns that are gone.
    let meta: [(String, SQLValue)] = [
      ("format", .integer(Int64(StoreHistory.currentFormat))),
      ("physicalHash", .text(SchemaDifference.physicalHash(found))),
      ("generation", .integer(history.generation + 1)),
    ]
    for (key, value) in meta {
      try connection.execute(
        "INSERT OR REPLACE INTO vault_meta (key, value) VALUES (?, ?)", [.text(key), value])
    }
    return try StoreHistory.read(connection)
  }
}
