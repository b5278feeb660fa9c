// Data blocks: what a person wrote about rows, statement by statement, behind an authorizer.

internal import CipherSQLite

extension MigrationRunner {
  /// Runs the statements of a data block.
  ///
  /// A row that they insert without an id gets one above all that were given out, and ids that they give
  /// themselves, or change, count as given out.
  /// - Returns: What they wrote.
  func run(data sql: String, _ model: Schema) throws -> TouchedColumns {
    var written = TouchedColumns()
    // Entities with a parent have no table of their own, and no mark.
    let names = model.roots.map(\.name)
    do {
      for statement in SQLTemplate.statements(sql) {
        // Comments alone are no statement.
        guard let beginning = SQLTemplate.beginning(statement) else { continue }
        if beginning == "explain" { throw Self.changesNothing(beginning) }
        guard !SQLTemplate.namesOfAll(statement).contains(InsertedIDs.function) else {
          throw ModelError(
            reason:
              "\(InsertedIDs.function) is the library's own; leave the column of ids out, or give it NULL, and each "
              + "row gets an id")
        }
        let insertion = NumberedInsert(statement, entities: names)
        if let insertion { try know(insertion.entity) }
        let text = try insertion.map {
          $0.sql(columns: try connection.tableInfo($0.entity).columns.map(\.name))
        }
        var (changed, unread): (Set<String>, String?) = ([], nil)
        var changesRows = false
        do {
          try connection.withAuthorizer({ action in
            written.note(action)
            changesRows = changesRows || Self.writes(action)
            switch action {
            case .insert(let table) where table.lowercased() != insertion?.entity.lowercased():
              unread = names.first { $0.lowercased() == table.lowercased() }
              if unread != nil { return .deny }
            case .update(let table, let column) where Self.isID(column): changed.insert(table.lowercased())
            default: break
            }
            // Of what was written no name leads to it: see above.
            if insertion != nil, action == .function(name: InsertedIDs.function) { return .allow }
            return Self.reads(action) || Self.writes(action) ? .allow : .deny
          }) {
            if isTrial {
              try connection.validate(sql: text ?? statement)
            } else {
              try connection.executeScript(text ?? statement)
            }
          }
          if !changesRows { throw Self.changesNothing(beginning) }
        } catch let error as SQLError {
          guard let unread else { throw Self.explained(insertion?.asWritten(error) ?? error) }
          throw ModelError(
            reason:
              "rows are inserted into \(unread) in a way that gives them no ids; write INSERT INTO $\(unread) (…) "
              + "VALUES … or SELECT …")
        }
        try ids.check()
        for name in names where changed.contains(name.lowercased()) { try know(name, isChanged: true) }
      }
    } catch {
      try ids.check()
      throw error
    }
    try ids.settle(connection)
    return written
  }

  /// What is said of a statement that the engine runs, and that nobody sees anything of.
  private static func changesNothing(_ beginning: String) -> ModelError {
    ModelError(
      reason:
        "\(beginning.uppercased()) changes no row, and nobody sees what it finds; take the statement out, or write what has to "
        + "be so as require \"…\" { SELECT … }")
  }

  /// Asks for the mark of an entity.
  private func know(_ entity: String, isChanged: Bool = false) throws {
    guard isChanged || !ids.knows(entity) else { return }
    let mark = try connection.value("SELECT \(IdentifierTable.highest(of: entity))")?.int64
    ids.raise(entity, to: mark ?? 0)
  }

  /// Whether a column, as the authorizer names it, is that of ids.
  static func isID(_ column: String) -> Bool { ["id", "rowid"].contains(column.lowercased()) }

  /// Lends SQL the function that gives ids.
  func registerIDs() throws {
    try connection.register(
      function: InsertedIDs.function, argumentCount: 2, isDeterministic: false
    ) { [ids] arguments in
      guard case .text(let entity) = arguments[0] else { return .null }
      return ids.id(of: entity, wanted: arguments[1])
    }
  }
}
