// Creates raw objects in the file. SQL that a person wrote must create exactly the declared object, and
// what the object does later may concern rows of entities only. The engine's authorizer verifies both
// while it prepares the statements, before the step ends.

internal import CipherSQLite

extension MigrationRunner {
  /// Creates all raw objects of a model, in a file that has the model's tables.
  func makeRawObjects(of model: Schema) throws {
    let statements = model.rawStatements
    do {
      for statement in statements where !statement.isTrigger { try make(statement) }
      for statement in statements where !statement.isTrigger { try requireFit(of: statement) }
      for statement in statements where statement.isTrigger {
        try make(statement)
        try requireFit(of: statement)
      }
    } catch let error as ModelError {
      throw set.steps.last?.failed("raw objects", because: error.reason) ?? error
    }
  }

  /// Creates a raw object, and replaces one of the same name that was created by hand: from then on the
  /// step defines it.
  /// - Throws: ``ModelError`` with the engine's objection; ``RowRefusal`` for rows that a unique
  ///   index refuses.
  func make(_ statement: RawStatement) throws {
    let object = statement.object
    // The model's own object of this name was dropped before.
    let isThere = try connection.value(
      "SELECT count(*) FROM sqlite_master WHERE type = \(object.kind.rawValue) AND name = \(object.name) COLLATE NOCASE"
    )
    if isThere != 0 { try connection.execute(sql: statement.drop) }
    do {
      try connection.withAuthorizer({ Self.makes($0, object) ? .allow : .deny }) {
        // In the trial of an index, an unknown name in double quotes is an error and not a text literal:
        // see requireFit.
        _ = try connection.execute(
          sql: isTrial && object.kind == .index ? SQLTemplate.namesOnly(statement.create) : statement.create)
      }
    } catch SQLError.constraint {
      throw RowRefusal(
        reason:
          "rows have equal values, but the \(object.title) is unique; first make all values differ with a "
          + "transform")
    } catch { throw Self.misfit(object, error) }
  }

  /// Checks that the statements of a raw object can run on the tables as they are now.
  /// - Throws: ``ModelError`` with the engine's objection.
  func requireFit(of statement: RawStatement) throws {
    try probe(statement.object)
    // The engine takes an unknown name in double quotes for a text literal, but reports an unknown name
    // in backquotes. So the object is created again with backquotes, and this is rolled back. An index
    // is not created again, because it would be built over the rows again: a trial creates it with
    // backquotes from the start.
    let strict = SQLTemplate.namesOnly(statement.create)
    guard strict != statement.create, statement.object.kind != .index else { return }
    struct Passed: Error {}
    do {
      try connection.savepoint {
        _ = try connection.execute(sql: statement.drop)
        do { _ = try connection.execute(sql: strict) } catch { throw Self.misfit(statement.object, error) }
        try probe(statement.object)
        // Rolls the savepoint back.
        throw Passed()
      }
    } catch is Passed {}
  }

  /// Has the engine prepare a raw object that exists in the file.
  private func probe(_ object: RawObject) throws {
    let probe: SQL?
    switch object.kind {
    // The engine prepared the expressions of the index when the index was created.
    case .index: probe = nil
    case .view: probe = "SELECT * FROM \(identifier: object.name)"
    case .trigger: probe = try firing(object)
    }
    guard let probe else { return }
    var changesIDs = false
    do {
      try connection.withAuthorizer(naming: { action, place in
        // The statement that fires the trigger changes every column itself; only changes by the
        // trigger count.
        if place != nil, case .update(let table, let column) = action, Self.isOfEntities(table),
          Self.isID(column)
        {
          changesIDs = true
        }
        return Self.mayPerform(action) && !changesIDs ? .allow : .deny
      }) {
        try connection.validate(sql: probe.text)
      }
    } catch {
      guard changesIDs else { throw Self.misfit(object, error) }
      throw ModelError(
        reason:
          "the \(object.title) changes ids, but only saves assign ids, and an id identifies its object "
          + "permanently. Let the trigger write to another column")
    }
  }

  /// A statement that makes the engine prepare a trigger.
  private func firing(_ trigger: RawObject) throws -> SQL? {
    let table = try connection.value(
      "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name = \(trigger.name)")
    guard let name = table?.string else { return nil }
    return try connection.statement(firing: trigger.event, on: name)
  }

  private static func misfit(_ object: RawObject, _ error: any Error) -> any Error {
    guard let error = error as? SQLError, error.isOfStatement else { return error }
    switch error {
    case .engine(let code, _, let message, _):
      // The engine's words for what the authorizer denies.
      let isDenied = message.contains("not authorized") || message.contains("prohibited")
      return ModelError(
        reason: "the \(object.title) cannot be created from this SQL: \(message)"
          + (isDenied ? "" : says(code))
          + (isDenied ? "; it may only use tables of entities and SQLite's own functions" : "")
          + (message.hasPrefix("no such") ? "; names after a dollar sign follow renamings" : ""))
    case .notOneStatement:
      return ModelError(reason: "the \(object.title) must be one statement, but there is text after it")
    default: return error
    }
  }

  // MARK: Permitted actions

  /// Whether an action is part of creating this one object.
  private static func makes(_ action: AuthorizerAction, _ object: RawObject) -> Bool {
    switch (action, object.kind) {
    case (.createView(object.name, false), .view): true
    case (.createTrigger(object.name, let table, false), .trigger): isOfEntities(table)
    case (.createIndex(object.name, let table, false), .index): isOfEntities(table)
    case (.reindex(object.name), .index): true
    // The engine's schema table, which no SQL of an object can name: table names are checked above.
    case (.insert("sqlite_master"), _), (.update("sqlite_master", _), _), (.read("sqlite_master", _), _),
      (.select, _):
      true
    case (.read(let table, _), .index): isOfEntities(table)
    case (.function(let name), _): isEngineFunction(name)
    default: false
    }
  }

  /// Whether an object may perform an action when it is used.
  private static func mayPerform(_ action: AuthorizerAction) -> Bool {
    if case .function(let name) = action { return isEngineFunction(name) }
    return reads(action) || writes(action)
  }

  /// Whether every program has a function: the app's extensions and the engine's shell also read the file,
  /// and lack the library's own functions.
  private static func isEngineFunction(_ name: String) -> Bool {
    !OwnTables.own(name) && name.lowercased() != "load_extension"
  }
}
