// What the store's own tables say, taken for what it is: a file that somebody may have changed by hand.

internal import CipherSQLite
private import Foundation

extension StoreHistory {
  /// - Throws: ``StoreError/notAStore(file:)`` when the file has no such tables,
  ///   ``StoreError/bookkeepingDamaged(file:place:reason:)`` when something in them cannot be.
  static func read(_ connection: Connection) throws -> StoreHistory {
    guard try connection.tableExists("vault_meta"), try connection.tableExists("vault_migrations") else {
      throw StoreError.notAStore(file: connection.path)
    }
    let meta = try Bookkeeping(connection)
    let version = try meta.integer("version", 0...Int64(Int32.max))
    let modelJSON = try meta.model()
    let steps = try meta.rows("vault_migrations", appliedSteps)
    if let step = steps.first(where: { $0.number < 1 || $0.number > version }) {
      throw meta.damage(
        "vault_migrations, row \(step.number),",
        "is of no step from 1 to \(version), the version in vault_meta")
    }
    for number in 1...max(1, Int(version)) where number <= version {
      guard number <= steps.count, steps[number - 1].number == number else {
        throw StoreError.historyConflict(.gap(number))
      }
    }
    try meta.checkIDs()
    return StoreHistory(
      steps: steps, version: Int(version), modelJSON: modelJSON,
      minimumReader: Int(try meta.integer("minReader", 0...Int64(Int32.max), default: version)),
      // With room above it for as many changes as anybody will make.
      generation: try meta.integer("generation", 0...Int64.max >> 1, default: 0),
      format: Int(try meta.integer("format", 1...Int64(Int32.max), default: 1)),
      storeID: try meta.uuid("storeID"))
  }

  private static func appliedSteps(_ connection: Connection) throws -> [AppliedStep] {
    try connection.query(
      """
      SELECT version, name, kind, checksum, applied_at, ms, app, engine, text FROM vault_migrations
      ORDER BY version
      """
    ) { row in
      AppliedStep(
        number: Int(row.int64(0)), name: row.text(1) ?? "", kind: row.text(2) ?? "",
        checksum: row.text(3) ?? "",
        appliedAt: row.text(4) ?? "", milliseconds: Int(row.int64(5)), app: row.text(6) ?? "",
        engine: row.text(7) ?? "", text: row.text(8) ?? "")
    }
  }
}

/// The rows of `vault_meta`, and what else the store keeps for itself.
private struct Bookkeeping {
  let connection: Connection
  private var values: [String: SQLValue] = [:]

  init(_ connection: Connection) throws {
    self.connection = connection
    for row in try rows("vault_meta", { try $0.rows("SELECT key, value FROM vault_meta") }) {
      if let key = row.first?.string { values[key] = row.last }
    }
  }

  func damage(_ place: String, _ reason: String) -> StoreError {
    .bookkeepingDamaged(file: connection.path, place: place, reason: reason)
  }

  /// Rows of a table of the store's own, whose columns may have been changed.
  func rows<Row>(_ table: String, _ body: (Connection) throws -> [Row]) throws -> [Row] {
    do { return try body(connection) } catch SQLError.engine(1, _, let message, _) {
      throw damage(table, "cannot be read: \(message)")
    }
  }

  /// - Parameter default: For a row that files of older versions do not have.
  func integer(_ key: String, _ range: ClosedRange<Int64>, default: Int64? = nil) throws -> Int64 {
    let place = "vault_meta, row \(key),"
    guard let value = values[key] else {
      if let `default` { return `default` }
      throw damage(place, "is missing")
    }
    guard case .integer(let number) = value, range.contains(number) else {
      throw damage(place, "holds no number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// - Returns: nil when there is no such row, as in files of older versions.
  func uuid(_ key: String) throws -> UUID? {
    guard let value = values[key] else { return nil }
    guard case .text(let text) = value, let uuid = UUID(uuidString: text) else {
      throw damage("vault_meta, row \(key),", "holds no UUID")
    }
    return uuid
  }

  /// The model's JSON, which is a model, and the one that was written.
  func model() throws -> String {
    let place = "vault_meta, row modelJSON,"
    guard let json = values["modelJSON"] else { throw damage(place, "is missing") }
    guard case .text(let json) = json, let model = try? Schema(json: json) else {
      throw damage(place, "is no model")
    }
    if let fault = model.modelFaults.first { throw damage(place, "is no model: \(fault)") }
    guard let hash = values["modelHash"] else { throw damage("vault_meta, row modelHash,", "is missing") }
    guard hash == .text(sha256(Array(json.utf8))) else {
      throw damage(place, "is not the model that modelHash is of")
    }
    return json
  }

  func checkIDs() throws {
    guard try connection.tableExists("vault_ids") else { throw damage("vault_ids", "is missing") }
    let wrong = try rows("vault_ids") {
      try $0.rows(
        "SELECT entity FROM vault_ids WHERE typeof(entity) <> 'text' OR typeof(last) <> 'integer' OR last < 0 LIMIT 1"
      )
    }
    guard let row = wrong.first else { return }
    throw damage("vault_ids, row \(row.first?.string ?? "without a name"),", "holds no highest id")
  }
}
