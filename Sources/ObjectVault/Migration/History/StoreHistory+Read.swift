// Reads the store's own tables, and checks their content, because a file may have been changed by hand.

internal import CipherSQLite
private import Foundation

extension StoreHistory {
  /// Reads the history of a store.
  /// - Throws: ``StoreError/notAStore(file:)`` if the file has no table `vault_meta`,
  ///   ``StoreError/bookkeepingDamaged(file:place:reason:)`` if another of the store's own tables is
  ///   missing or the content of one is invalid.
  static func read(_ connection: Connection) throws -> StoreHistory {
    // One transaction, because a migration in another process changes several of these tables together.
    try connection.transaction(.deferred) { try tables(connection) }
  }

  private static func tables(_ connection: Connection) throws -> StoreHistory {
    let tables = OwnTables(connection)
    guard try tables.meta.exists() else { throw StoreError.notAStore(file: connection.path) }
    guard try tables.history.exists() else {
      throw StoreError.bookkeepingDamaged(
        file: connection.path, place: HistoryTable.name, reason: "is missing")
    }
    let read = try Reading(tables, file: connection.path)
    let version = try read.integer(.version, 0...Int64(Int32.max))
    let modelJSON = try read.model()
    let steps = try read.table(HistoryTable.name) { try tables.history.steps() }
    if let step = steps.first(where: { $0.number < 1 || $0.number > version }) {
      throw read.damage(
        "\(HistoryTable.name), row \(step.number),",
        reason: "belongs to no step: the version in \(MetaTable.name) is \(version)")
    }
    for number in 1...max(1, Int(version)) where number <= version {
      guard number <= steps.count, steps[number - 1].number == number else {
        throw read.damage("\(HistoryTable.name), row \(number),", reason: "is missing")
      }
    }
    try read.checkIDs()
    if let (table, reason) = try tables.malformedTable() { throw read.damage(table, reason: reason) }
    return StoreHistory(
      steps: steps, version: Int(version), modelJSON: modelJSON,
      minimumReader: Int(try read.integer(.minimumReader, 0...Int64(Int32.max), default: version)),
      // The limit leaves room for more changes than a store will ever have.
      generation: try read.integer(.generation, 0...Int64.max >> 1, default: 0),
      format: Int(try read.integer(.format, 1...Int64(Int32.max))),
      storeID: try read.uuid(.storeID), copies: read.copies)
  }
}

/// The content of the store's own tables, and the errors for invalid content.
private struct Reading {
  private let tables: OwnTables
  private let file: String
  private var values: [MetaTable.Entry: SQLValue] = [:]

  init(_ tables: OwnTables, file: String) throws {
    (self.tables, self.file) = (tables, file)
    values = try table(MetaTable.name) { try tables.meta.values() }
  }

  var copies: KeptCopies { KeptCopies(values[.copies]) }

  func damage(_ place: String, reason: String) -> StoreError {
    .bookkeepingDamaged(file: file, place: place, reason: reason)
  }

  /// Reads one of the store's own tables. An error of the engine means that its columns were changed.
  func table<Content>(_ name: String, _ body: () throws -> Content) throws -> Content {
    do { return try body() } catch SQLError.engine(1, _, let message, _) {
      throw damage(name, reason: "cannot be read: \(message)")
    }
  }

  /// Returns a number, which must be in a range.
  /// - Parameter default: The number if the row is missing, as in files of older versions.
  func integer(
    _ entry: MetaTable.Entry, _ range: ClosedRange<Int64>, default: Int64? = nil
  ) throws(StoreError) -> Int64 {
    guard let value = values[entry] else {
      if let `default` { return `default` }
      throw damage(entry.place, reason: "is missing")
    }
    guard case .integer(let number) = value, range.contains(number) else {
      throw damage(entry.place, reason: "is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// - Returns: The UUID; nil if the row is missing, as in files of older versions.
  func uuid(_ entry: MetaTable.Entry) throws(StoreError) -> UUID? {
    guard let value = values[entry] else { return nil }
    guard case .text(let text) = value, let uuid = UUID(uuidString: text) else {
      throw damage(entry.place, reason: "is not a UUID")
    }
    return uuid
  }

  /// Returns the model's JSON, after checking that it is a valid model and has the recorded hash.
  func model() throws(StoreError) -> String {
    let place = MetaTable.Entry.modelJSON.place
    guard let json = values[.modelJSON] else { throw damage(place, reason: "is missing") }
    guard case .text(let json) = json, let model = try? Schema(json: json) else {
      throw damage(place, reason: "is not a valid model")
    }
    if let fault = model.modelFaults.first { throw damage(place, reason: "is not a valid model: \(fault)") }
    guard let hash = values[.modelHash] else {
      throw damage(MetaTable.Entry.modelHash.place, reason: "is missing")
    }
    guard hash == .text(sha256(Array(json.utf8))) else {
      throw damage(place, reason: "does not match modelHash")
    }
    return json
  }

  /// Checks the high-water marks.
  func checkIDs() throws {
    let name = IdentifierTable.name
    guard try tables.identifiers.exists() else { throw damage(name, reason: "is missing") }
    guard let row = try table(name, { try tables.identifiers.damagedRow() }) else { return }
    throw damage("\(name), row \(row),", reason: "is not a valid highest id")
  }
}
