// What an opening has to know of a store, and how it sees in a few rows that there is nothing to do: the time for that does
// not grow with the number of steps, none of which is read.

internal import CipherSQLite
internal import Foundation

/// What a store that is opened goes by.
struct StoreStanding {
  /// The number of steps behind it.
  let version: Int
  /// ``MetaTable/Entry/generation``.
  let generation: Int64
  /// What it is known by; nil as in ``StoreHistory/storeID``.
  let storeID: UUID?
  /// The copies that it remembers.
  let copies: KeptCopies
}

/// Digests of the steps behind a store and of the model that they made, as a run of steps writes them down.
struct StandingDigest: Equatable {
  let steps: String
  let model: String

  init(steps: String, model: String) { (self.steps, self.model) = (steps, model) }

  /// What a history says now.
  init(of history: HistoryTable, model: Schema) throws {
    self.init(steps: Self.steps(try history.checksums()), model: Self.model(model))
  }

  /// Reads the row. An earlier release changes a store without writing it anew, but never without a new generation.
  /// - Returns: nil when it was not written for this generation.
  init?(_ text: String, generation: Int64) {
    let words = text.split(separator: " ")
    guard words.count == 3, words[0] == "\(generation)" else { return nil }
    self.init(steps: String(words[1]), model: String(words[2]))
  }

  /// The row.
  func text(generation: Int64) -> String { "\(generation) \(steps) \(model)" }

  /// - Parameter checksums: Those of the steps, in their order.
  static func steps(_ checksums: [String]) -> String { sha256(Array(checksums.joined(separator: "\n").utf8)) }

  /// The model as steps would create it, in one spelling for each meaning: a tenth of the time that its JSON takes.
  static func model(_ schema: Schema) -> String {
    let entities = schema.canonical.entities.map {
      MigrationOperation.createEntity(schema.written($0)).description
    }
    let raw = schema.rawObjects.map { "\($0.heading) \($0.line)" }
    return sha256(Array((entities + raw).joined(separator: "\n").utf8))
  }
}

/// What a program expects of a store that lacks none of its steps.
struct ExpectedStanding {
  /// The checksums of its steps, in their order; nil where any will do that made the model.
  let checksums: [String]?
  /// Its classes.
  let schema: Schema

  /// What a store goes by that is as expected; nil where an opening has to look closer, whatever the reason is.
  func standing(of connection: Connection) throws -> StoreStanding? {
    do {
      // Of one moment, as the history itself.
      return try connection.transaction(.deferred) { try standing(of: OwnTables(connection)) }
    } catch SQLError.engine(1, _, _, _) {
      // A table is not there, or is another. Who looks closer says which.
      return nil
    }
  }

  private func standing(of tables: OwnTables) throws -> StoreStanding? {
    let values = try tables.meta.values(
      of: [.format, .version, .generation, .minimumReader, .storeID, .modelHash, .standing, .copies])
    guard values[.format] == .integer(Int64(FileFormat.current)),
      let version = Self.number(values[.version], upTo: Int64(Int32.max)),
      checksums == nil || Int64(checksums?.count ?? 0) == version,
      let generation = Self.number(values[.generation], upTo: Int64.max >> 1),
      Self.number(values[.minimumReader] ?? .integer(0), upTo: Int64(Int32.max)) != nil,
      try tables.history.numbers() == (version == 0 ? nil : 1...version),
      try isHistory(tables.history, values, generation), try tables.identifiers.damagedRow() == nil
    else { return nil }
    var storeID: UUID?
    if let value = values[.storeID] {
      guard case .text(let text) = value, let id = UUID(uuidString: text) else { return nil }
      storeID = id
    }
    return StoreStanding(
      version: Int(version), generation: generation, storeID: storeID, copies: KeptCopies(values[.copies]))
  }

  private static func number(_ value: SQLValue?, upTo limit: Int64) -> Int64? {
    guard case .integer(let number) = value, (0...limit).contains(number) else { return nil }
    return number
  }

  /// Whether the steps are those of the program, and made the model of its classes.
  private func isHistory(
    _ history: HistoryTable, _ values: [MetaTable.Entry: SQLValue], _ generation: Int64
  ) throws -> Bool {
    if case .text(let text) = values[.standing], let found = StandingDigest(text, generation: generation) {
      return found.model == StandingDigest.model(schema)
        && (checksums.map { found.steps == StandingDigest.steps($0) } ?? true)
    }
    // An earlier release was the last to change the store.
    return try values[.modelHash] == .text(schema.meaningHash)
      && (checksums.map { try history.checksums() == $0 } ?? true)
  }
}

extension StoreHistory {
  /// What an opening goes by.
  var standing: StoreStanding {
    StoreStanding(version: version, generation: generation, storeID: storeID, copies: copies)
  }
}
