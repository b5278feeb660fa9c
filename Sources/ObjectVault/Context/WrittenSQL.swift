// What SQL that a program wrote may do in a context. The engine reports each action of a statement while it
// prepares the statement.

internal import CipherSQLite

/// The rules for one statement, and what the engine has reported about it.
final class WrittenSQL {
  private let sql: String
  private let writes: Bool
  private let mapping: SchemaMapping
  /// The first reason for which the statement is refused.
  private var reason: String?
  /// The tables that the statement writes to, with those that its triggers write to.
  private(set) var tables: Set<String> = []
  /// The tables whose columns the statement itself updates.
  private(set) var updated: Set<String> = []
  /// Whether the engine may delete rows without reporting them: those that REPLACE replaces, in the statement
  /// or in a trigger.
  private(set) var mayReplace: Bool
  /// Whether the statement only explains another one.
  private let isExplained: Bool
  /// Whether the statement ends the transaction when it fails.
  private let endsTransaction: Bool
  /// Whether the rules no longer apply, because the store itself has added to the statement.
  var isChecked = false

  /// - Parameter writes: Whether the statement is expected to write.
  init(_ sql: String, writes: Bool, _ mapping: SchemaMapping) {
    (self.sql, self.writes, self.mapping) = (sql, writes, mapping)
    let words = SQLScanner.words(sql)
    (mayReplace, isExplained) = (writes && words.contains("replace"), words.first == "explain")
    // Not any OR before ROLLBACK, which may be the name of a column.
    endsTransaction = words.indices.dropLast(2).contains {
      ["insert", "update"].contains(words[$0]) && words[$0 + 1] == "or" && words[$0 + 2] == "rollback"
    }
  }

  /// Checks a query, without running it.
  /// - Throws: ``StoreError/sqlRefused(sql:reason:)`` if it is not one query; ``SQLError``.
  func checkQuery(on connection: Connection) throws {
    try connection.withAuthorizer(naming: answer) { try prepare(on: connection) }
  }

  /// Prepares the statement as it was written, under the authorizer.
  func prepare(on connection: Connection) throws {
    do {
      let statement = try connection.prepare(sql: sql)
      if endsTransaction {
        throw refused("would end the transaction with OR ROLLBACK; without it, an error undoes the statement")
      }
      if writes, isExplained { throw refused("only explains a change, and makes none; remove EXPLAIN") }
      if writes, tables.isEmpty { throw refused("only reads, or changes nothing; use rows(_:)") }
      if !writes, !statement.isReadOnly { throw refused("is no query; use execute(_:) for a change") }
    } catch let error as SQLError {
      if let reason { throw refused(reason) }
      if case .notOneStatement = error { throw refused("is not one statement; run each with its own call") }
      throw error
    }
  }

  private func refused(_ reason: String) -> StoreError { .sqlRefused(sql: sql, reason: reason) }

  /// Decides about an action.
  func answer(_ action: AuthorizerAction, _ cause: String?) -> AuthorizerAnswer {
    if isChecked { return .allow }
    switch action {
    case .select, .read, .recursive: return .allow
    case .function(let name):
      return ["sqlcipher_export", "load_extension"].contains(name.lowercased())
        ? deny("calls \(name), which a context does not run") : .allow
    case .insert(let table):
      if cause != nil { mayReplace = true }
      return write(table) ?? .allow
    case .update(let table, let column): return update(table, column: column, cause)
    // The answer `ignore` to a deletion makes the engine delete, and report, each row: otherwise it may
    // empty the table without reports.
    case .delete(let table): return write(table) ?? .ignore
    case .pragma: return deny("is a PRAGMA; settings of a store are in Store.Configuration")
    case .attach, .detach: return deny("attaches or detaches a file; open the other file as a store")
    case .transaction, .savepoint:
      return deny("begins or ends a transaction; the context has its own: use Store.write(_:)")
    case .createTable, .dropTable, .alterTable, .createVirtualTable, .dropVirtualTable, .createIndex,
      .dropIndex, .createView, .dropView, .createTrigger, .dropTrigger, .reindex, .analyze, .other:
      return deny("changes the tables of the file; write a migration step")
    }
  }

  private func deny(_ reason: String) -> AuthorizerAnswer {
    if self.reason == nil { self.reason = reason }
    return .deny
  }

  /// Records a table that is written to; nil if that is allowed.
  private func write(_ table: String) -> AuthorizerAnswer? {
    guard !table.lowercased().hasPrefix("sqlite_") else {
      return deny("changes the tables of the file; write a migration step")
    }
    guard writes else {
      return deny(
        isExplained
          ? "explains a change; only queries can be explained here" : "writes to \(table); use execute(_:)")
    }
    guard !OwnTables.own(table) else { return deny("writes to \(table), which belongs to the store itself") }
    tables.insert(table)
    return nil
  }

  private func update(_ table: String, column: String, _ cause: String?) -> AuthorizerAnswer {
    if let answer = write(table) { return answer }
    if cause != nil {
      mayReplace = true
      return .allow
    }
    updated.insert(table)
    // The engine calls the id ROWID if the statement names it by another of its names.
    guard let entity = mapping.entity(named: table),
      ["id", "rowid", RowVersions.column, EntityColumn.name].contains(column.lowercased()),
      entity.slot(named: column) == nil
    else { return .allow }
    return deny("changes \(table).\(column), which belongs to the store; the id of an object never changes")
  }
}
