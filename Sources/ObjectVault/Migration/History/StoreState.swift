// The state of a store that an opening needs. A few rows show that no step is pending. That takes a
// constant time, because no step is read. Only if an earlier release made the last change of the store
// are the checksums of all steps read.

internal import CipherSQLite
internal import Foundation

/// The state of a store that is opened.
struct StoreState {
  /// The number of steps that ran.
  let version: Int
  /// The value of ``MetaTable/Entry/generation``.
  let generation: Int64
  /// The identity of the store: see ``StoreHistory/storeID``.
  let storeID: UUID?
  /// The copies that the store has recorded.
  let copies: KeptCopies
}

/// Digests of the steps that ran on a store and of its model. Every run of steps writes them.
struct StateDigest: Equatable {
  let steps: String
  let model: String

  init(steps: String, model: String) { (self.steps, self.model) = (steps, model) }

  /// Creates the digests of the present history.
  init(of history: HistoryTable, model: Schema) throws {
    self.init(steps: Self.steps(try history.checksums()), model: Self.model(model))
  }

  /// Parses the row. An earlier release changes a store without updating this row, but it does change the
  /// generation.
  /// - Returns: nil if the row was not written for this generation.
  init?(_ text: String, generation: Int64) {
    let words = text.split(separator: " ")
    guard words.count == 3, words[0] == "\(generation)" else { return nil }
    self.init(steps: String(words[1]), model: String(words[2]))
  }

  /// Returns the text of the row.
  func text(generation: Int64) -> String { "\(generation) \(steps) \(model)" }

  /// Returns the digest of steps.
  /// - Parameter checksums: The checksums of the steps, in their order.
  static func steps(_ checksums: [String]) -> String { sha256(Array(checksums.joined(separator: "\n").utf8)) }

  /// Returns the digest of a model, made from the text of the operations that would create the model.
  /// That text does not depend on the order in which the model declares its parts. Generating the text
  /// takes a tenth of the time of generating the model's JSON.
  static func model(_ schema: Schema) -> String {
    let entities = schema.canonical.entities.map {
      MigrationOperation.createEntity(schema.written($0)).description
    }
    let raw = schema.rawObjects.map { "\($0.heading) \($0.line)" }
    return sha256(Array((entities + raw).joined(separator: "\n").utf8))
  }
}

/// The state of a store that a program expects if no step is pending.
struct ExpectedState {
  /// The checksums of the program's steps, in their order; nil if any steps are accepted, as long as they
  /// made the model of the classes.
  let checksums: [String]?
  /// The schema of the program's classes.
  let schema: Schema

  /// Returns the state of a store if it is as expected; nil if the opening has to read the history for
  /// any reason.
  func storeState(of connection: Connection) throws -> StoreState? {
    do {
      // One transaction, so that all rows are read in one state.
      return try connection.transaction(.deferred) { try storeState(of: OwnTables(connection)) }
    } catch SQLError.engine(1, _, _, _) {
      // A table is missing or has other columns. Reading the history reports this.
      return nil
    }
  }

  private func storeState(of tables: OwnTables) throws -> StoreState? {
    let values = try tables.meta.values(
      of: [.format, .version, .generation, .minimumReader, .storeID, .modelHash, .storeState, .copies])
    guard values[.format] == .integer(Int64(FileFormat.version(of: schema))),
      let version = Self.number(values[.version], upTo: Int64(Int32.max)),
      checksums == nil || Int64(checksums?.count ?? 0) == version,
      let generation = Self.number(values[.generation], upTo: Int64.max >> 1),
      Self.number(values[.minimumReader] ?? .integer(0), upTo: Int64(Int32.max)) != nil,
      try tables.history.numbers() == (version == 0 ? nil : 1...version),
      try isHistory(tables.history, values: values, generation: generation),
      try tables.identifiers.damagedRow() == nil
    else { return nil }
    var storeID: UUID?
    if let value = values[.storeID] {
      guard case .text(let text) = value, let id = UUID(uuidString: text) else { return nil }
      storeID = id
    }
    return StoreState(
      version: Int(version), generation: generation, storeID: storeID, copies: KeptCopies(values[.copies]))
  }

  private static func number(_ value: SQLValue?, upTo limit: Int64) -> Int64? {
    guard case .integer(let number) = value, (0...limit).contains(number) else { return nil }
    return number
  }

  /// Whether the steps are those of the program, and the model is that of its classes.
  private func isHistory(
    _ history: HistoryTable, values: [MetaTable.Entry: SQLValue], generation: Int64
  ) throws -> Bool {
    if case .text(let text) = values[.storeState], let found = StateDigest(text, generation: generation) {
      return found.model == StateDigest.model(schema)
        && (checksums.map { found.steps == StateDigest.steps($0) } ?? true)
    }
    // The last change was made by an earlier release.
    return try values[.modelHash] == .text(schema.meaningHash)
      && (checksums.map { try history.checksums() == $0 } ?? true)
  }
}

extension StoreHistory {
  /// The state as an opening needs it.
  var storeState: StoreState {
    StoreState(version: version, generation: generation, storeID: storeID, copies: copies)
  }
}
