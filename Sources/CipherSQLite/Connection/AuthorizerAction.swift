// The actions that SQLite's authorizer reports while a statement is prepared: the codes of
// sqlite3_set_authorizer, with names for the two arguments.

private import CSQLCipher

/// An action of a statement, which SQLite submits to the authorizer while it prepares the statement.
public enum AuthorizerAction: Sendable, Hashable {
  /// A `SELECT`. Each column that it reads is a separate ``read(table:column:)``.
  case select
  /// A column's value is read. If only rows are counted, as by `count(*)`, `column` is empty; older engines
  /// do not report such reads.
  case read(table: String, column: String)
  /// Rows are inserted.
  case insert(table: String)
  /// A column of rows is changed.
  case update(table: String, column: String)
  /// Rows are deleted.
  case delete(table: String)
  /// A function is called.
  case function(name: String)
  /// A common table expression refers to itself.
  case recursive
  /// A table is created.
  case createTable(name: String, isTemporary: Bool)
  /// A table is dropped.
  case dropTable(name: String, isTemporary: Bool)
  /// A table is altered: renamed, or a column added, renamed or dropped.
  case alterTable(database: String, table: String)
  /// A virtual table is created.
  case createVirtualTable(name: String, module: String)
  /// A virtual table is dropped.
  case dropVirtualTable(name: String, module: String)
  /// An index is created.
  case createIndex(name: String, table: String, isTemporary: Bool)
  /// An index is dropped.
  case dropIndex(name: String, table: String, isTemporary: Bool)
  /// A view is created.
  case createView(name: String, isTemporary: Bool)
  /// A view is dropped.
  case dropView(name: String, isTemporary: Bool)
  /// A trigger is created.
  case createTrigger(name: String, table: String, isTemporary: Bool)
  /// A trigger is dropped.
  case dropTrigger(name: String, table: String, isTemporary: Bool)
  /// A pragma is read, or set if there is an argument.
  case pragma(name: String, argument: String?)
  /// `BEGIN`, `COMMIT` or `ROLLBACK`.
  case transaction(operation: String)
  /// `BEGIN`, `RELEASE` or `ROLLBACK` of a savepoint.
  case savepoint(operation: String, name: String)
  /// A file is attached. `file` is nil if the statement computes its name.
  case attach(file: String?)
  /// A database is detached. `database` is nil if the statement computes its name.
  case detach(database: String?)
  /// An index is rebuilt.
  case reindex(name: String)
  /// The statistics of a table are computed.
  case analyze(table: String)
  /// Any other action, by SQLite's code: one that only newer engines have, or one without the names that
  /// SQLite documents for it.
  case other(code: Int)
}

/// The authorizer's decision on an action.
public enum AuthorizerAnswer: Sendable, Hashable {
  /// The action is permitted.
  case allow
  /// The statement fails with "not authorized".
  case deny
  /// The statement runs without the action: a column that is read is NULL; an insertion or update is not
  /// made. Exception: SQLite deletes the rows of a `delete` nevertheless.
  case ignore

  var code: Int32 {
    switch self {
    case .allow: SQLITE_OK
    case .deny: SQLITE_DENY
    case .ignore: SQLITE_IGNORE
    }
  }
}

extension AuthorizerAction {
  /// Creates the action for SQLite's code and names.
  /// - Parameters:
  ///   - code: SQLite's action code.
  ///   - first: The third argument of SQLite's callback.
  ///   - second: The fourth argument of SQLite's callback.
  init(code: Int32, first: String?, second: String?) {
    self = Self.known(code, first: first, second: second) ?? .other(code: Int(code))
  }

  // Source: the table "Authorizer Action Codes" (sqlite.org/c3ref/c_alter_table.html).
  private static func known(_ code: Int32, first: String?, second: String?) -> AuthorizerAction? {
    switch (code, first, second) {
    case (SQLITE_SELECT, _, _): .select
    case (SQLITE_RECURSIVE, _, _): .recursive
    case (SQLITE_FUNCTION, _, let name?): .function(name: name)
    case (SQLITE_ATTACH, _, _): .attach(file: first)
    case (SQLITE_DETACH, _, _): .detach(database: first)
    case (_, let first?, let second?):
      pair(code, first: first, second: second) ?? single(code, name: first, second: second)
    case (_, let first?, nil): single(code, name: first, second: nil)
    default: nil
    }
  }

  private static func pair(_ code: Int32, first: String, second: String) -> AuthorizerAction? {
    switch code {
    case SQLITE_READ: .read(table: first, column: second)
    case SQLITE_UPDATE: .update(table: first, column: second)
    case SQLITE_ALTER_TABLE: .alterTable(database: first, table: second)
    case SQLITE_CREATE_VTABLE: .createVirtualTable(name: first, module: second)
    case SQLITE_DROP_VTABLE: .dropVirtualTable(name: first, module: second)
    case SQLITE_CREATE_INDEX: .createIndex(name: first, table: second, isTemporary: false)
    case SQLITE_CREATE_TEMP_INDEX: .createIndex(name: first, table: second, isTemporary: true)
    case SQLITE_DROP_INDEX: .dropIndex(name: first, table: second, isTemporary: false)
    case SQLITE_DROP_TEMP_INDEX: .dropIndex(name: first, table: second, isTemporary: true)
    case SQLITE_CREATE_TRIGGER: .createTrigger(name: first, table: second, isTemporary: false)
    case SQLITE_CREATE_TEMP_TRIGGER: .createTrigger(name: first, table: second, isTemporary: true)
    case SQLITE_DROP_TRIGGER: .dropTrigger(name: first, table: second, isTemporary: false)
    case SQLITE_DROP_TEMP_TRIGGER: .dropTrigger(name: first, table: second, isTemporary: true)
    case SQLITE_SAVEPOINT: .savepoint(operation: first, name: second)
    default: nil
    }
  }

  private static func single(_ code: Int32, name: String, second: String?) -> AuthorizerAction? {
    switch code {
    case SQLITE_INSERT: .insert(table: name)
    case SQLITE_DELETE: .delete(table: name)
    case SQLITE_CREATE_TABLE: .createTable(name: name, isTemporary: false)
    case SQLITE_CREATE_TEMP_TABLE: .createTable(name: name, isTemporary: true)
    case SQLITE_DROP_TABLE: .dropTable(name: name, isTemporary: false)
    case SQLITE_DROP_TEMP_TABLE: .dropTable(name: name, isTemporary: true)
    case SQLITE_CREATE_VIEW: .createView(name: name, isTemporary: false)
    case SQLITE_CREATE_TEMP_VIEW: .createView(name: name, isTemporary: true)
    case SQLITE_DROP_VIEW: .dropView(name: name, isTemporary: false)
    case SQLITE_DROP_TEMP_VIEW: .dropView(name: name, isTemporary: true)
    case SQLITE_PRAGMA: .pragma(name: name, argument: second)
    case SQLITE_TRANSACTION: .transaction(operation: name)
    case SQLITE_REINDEX: .reindex(name: name)
    case SQLITE_ANALYZE: .analyze(table: name)
    default: nil
    }
  }
}
