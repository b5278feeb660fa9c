// Tries the SQL that authors wrote into steps, without a store: in an in-memory database without rows.
// Before each part of a step is tried, the database gets the tables of the model that the part starts
// from. Operations on tables run there. SQL on rows is only prepared by the engine, under the authorizer,
// and does not run.

internal import CipherSQLite

/// Tries the SQL in steps, one step after another. Steps without SQL cost nothing, unless the model has
/// raw objects.
final class SQLTrial {
  private let set: MigrationSet
  /// Whether a raw object could not be created. Then no more SQL is tried: later steps may depend on the
  /// object and would repeat the error.
  private var isLost = false
  private var runner: MigrationRunner?
  /// The model of the database, and its tables, which take longer to derive from the model than to
  /// compare.
  private var storeState = Schema()
  private var tables: [TableInfo]?

  init(_ set: MigrationSet) { self.set = set }

  /// Tries the SQL that persons wrote into a step.
  /// - Returns: The tables that each data block writes to, as the engine reports them, in lower case; by
  ///   the index of the part.
  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` for the first block that
  ///   cannot run.
  @discardableResult
  func run(_ compiled: CompiledStep) throws -> [Int: Set<String>] {
    try touched(by: compiled).mapValues(\.writtenTables)
  }

  /// Tries the SQL of a step, and returns the columns that each data block writes to, by the index of
  /// the part.
  func touched(by compiled: CompiledStep) throws -> [Int: TouchedColumns] {
    var (written, speaksOfRawObjects): ([Int: TouchedColumns], Bool) = ([:], false)
    do {
      for (index, part) in compiled.parts.enumerated() where part.hasForeignSQL && !isLost {
        let runner = try self.runner ?? Self.runner(set)
        self.runner = runner
        speaksOfRawObjects = true
        try change(to: part.before, runner, compiled.step)
        speaksOfRawObjects = part.makesRawObjects
        var touched = TouchedColumns()
        try runner.run(part, of: compiled.step, &touched)
        stand(part.model)
        if part.isData { written[index] = touched }
      }
      return written
    } catch {
      // The database may be in any state now: start again from an empty one.
      (runner, storeState, tables) = (nil, Schema(), nil)
      isLost = speaksOfRawObjects
      throw error
    }
  }

  private static func runner(_ set: MigrationSet) throws -> MigrationRunner {
    let connection = try Connection.inMemory()
    try StoreFunctions.register(on: connection)
    let runner = MigrationRunner(connection: connection, set: set, progress: nil, isTrial: true)
    try runner.registerConversions()
    try OwnTables(connection).create()
    return runner
  }

  /// Gives the database the tables and raw objects of a model.
  private func change(to model: Schema, _ runner: MigrationRunner, _ step: MigrationStep) throws {
    let isSame = storeState.entities == model.entities
    guard !isSame || storeState.rawObjects != model.rawObjects else { return }
    let former = tables ?? storeState.tables
    let tables = isSame ? former : model.tables
    defer { (storeState, self.tables) = (model, tables) }
    guard former != tables || storeState.rawObjects != model.rawObjects else { return }
    for raw in storeState.rawStatements.reversed() { try runner.connection.execute(sql: raw.drop) }
    let (kept, wanted) = (Self.byName(former), Self.byName(tables))
    for table in former where wanted[table.name] != table {
      try runner.connection.execute("DROP TABLE \(identifier: table.name)")
    }
    for table in tables where kept[table.name] != table { try runner.create(table, model) }
    try runner.makeRawObjects(of: model)
  }

  /// Records that the database has the model which a part produced.
  private func stand(_ model: Schema) {
    if storeState.entities != model.entities { tables = nil }
    storeState = model
  }

  private static func byName(_ tables: [TableInfo]) -> [String: TableInfo] {
    Dictionary(tables.map { ($0.name, $0) }) { first, _ in first }
  }
}

extension CompiledStep.Part {
  /// Whether it creates raw objects, or changes tables that raw objects use.
  fileprivate var makesRawObjects: Bool {
    statements.contains { statement in
      switch statement {
      case .raw, .rawMustFit: true
      default: false
      }
    }
  }

  /// Whether it contains SQL that a person wrote, or follows a model with raw objects, whose SQL may use
  /// any table.
  fileprivate var hasForeignSQL: Bool {
    !before.rawObjects.isEmpty || operations.contains(where: \.rules.traits.hasForeignSQL)
  }
}
