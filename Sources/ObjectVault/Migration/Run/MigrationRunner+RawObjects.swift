// Raw objects in the file. What a person wrote makes the one object that it is declared as, and whatever it does later
// reaches rows of entities only: asked of the engine while it prepares the statements, before the step is over.

internal import CipherSQLite

extension MigrationRunner {
  /// Makes all raw objects of a model, in a file that has its tables.
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
      throw set.steps.last?.failed("raw objects", error.reason) ?? error
    }
  }

  /// Makes a raw object, also in the place of one of this name that somebody has made by hand: from then on it is what the step
  /// says.
  /// - Throws: ``ModelError`` with what the engine has against it; ``RowRefusal`` for rows that a unique index refuses.
  func make(_ statement: RawStatement) throws {
    let object = statement.object
    // The model's own of this name was taken away before.
    let isThere = try connection.value(
      "SELECT count(*) FROM sqlite_master WHERE type = \(object.kind.rawValue) AND name = \(object.name) COLLATE NOCASE"
    )
    if isThere != 0 { try connection.execute(sql: statement.drop) }
    do {
      try connection.withAuthorizer({ Self.makes($0, object) ? .allow : .deny }) {
        // In a trial a name in double quotes that nothing has is no text: see requireFit.
        _ = try connection.execute(
          sql: isTrial && object.kind == .index ? SQLTemplate.namesOnly(statement.create) : statement.create)
      }
    } catch SQLError.constraint {
      throw RowRefusal(
        reason: "rows have equal values where the \(object.title) takes each once; make them differ by a "
          + "transform before")
    } catch { throw Self.misfit(object, error) }
  }

  /// Checks that the statements of a raw object can run as the tables are now.
  /// - Throws: ``ModelError`` with what the engine has against it.
  func requireFit(of statement: RawStatement) throws {
    try probe(statement.object)
    // A name in double quotes that nothing has is a text to the engine, and in other quotes an error. An index is not made
    // twice over rows: a trial makes it so at once.
    let strict = SQLTemplate.namesOnly(statement.create)
    guard strict != statement.create, statement.object.kind != .index else { return }
    struct Passed: Error {}
    do {
      try connection.savepoint {
        _ = try connection.execute(sql: statement.drop)
        do { _ = try connection.execute(sql: strict) } catch { throw Self.misfit(statement.object, error) }
        try probe(statement.object)
        // Nothing of it stays.
        throw Passed()
      }
    } catch is Passed {}
  }

  /// Lets the engine read a raw object that is there.
  private func probe(_ object: RawObject) throws {
    let probe: SQL?
    switch object.kind {
    // The engine read its expressions when it was made.
    case .index: probe = nil
    case .view: probe = "SELECT * FROM \(identifier: object.name)"
    case .trigger: probe = try firing(object)
    }
    guard let probe else { return }
    var changesIDs = false
    do {
      try connection.withAuthorizer(naming: { action, place in
        // Of the statement that wakes it, every column is changed.
        if place != nil, case .update(let table, let column) = action, Self.isOfEntities(table),
          Self.isID(column)
        {
          changesIDs = true
        }
        return Self.mayDo(action) && !changesIDs ? .allow : .deny
      }) {
        try connection.validate(sql: probe.text)
      }
    } catch {
      guard changesIDs else { throw Self.misfit(object, error) }
      throw ModelError(
        reason:
          "the \(object.title) changes ids, and saves give ids out by marks that no trigger knows: the id is what an "
          + "object is known by. Let it write to another column")
    }
  }

  /// A statement for which the engine has to read a trigger.
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
        reason: "the \(object.title) cannot be made of this SQL: \(message)"
          + (isDenied ? "" : says(code))
          + (isDenied ? "; it may be about tables of entities only, and use the engine's own functions" : "")
          + (message.hasPrefix("no such") ? "; names behind a dollar sign follow renamings" : ""))
    case .notOneStatement:
      return ModelError(reason: "the \(object.title) is one statement, and something stands behind it")
    default: return error
    }
  }

  // MARK: What it may do

  /// Whether an action is part of making this one object.
  private static func makes(_ action: AuthorizerAction, _ object: RawObject) -> Bool {
    switch (action, object.kind) {
    case (.createView(object.name, false), .view): true
    case (.createTrigger(object.name, let table, false), .trigger): isOfEntities(table)
    case (.createIndex(object.name, let table, false), .index): isOfEntities(table)
    case (.reindex(object.name), .index): true
    // The engine's list of what is in the file, which no SQL of an object can name: the names of tables are asked above.
    case (.insert("sqlite_master"), _), (.update("sqlite_master", _), _), (.read("sqlite_master", _), _),
      (.select, _):
      true
    case (.read(let table, _), .index): isOfEntities(table)
    case (.function(let name), _): isEngineFunction(name)
    default: false
    }
  }

  /// Whether an action may be one of an object's, when it is used.
  private static func mayDo(_ action: AuthorizerAction) -> Bool {
    if case .function(let name) = action { return isEngineFunction(name) }
    return reads(action) || writes(action)
  }

  /// A file is read by programs that lack ours: the app's extensions, the engine's own shell.
  private static func isEngineFunction(_ name: String) -> Bool {
    !OwnTables.own(name) && name.lowercased() != "load_extension"
  }
}
