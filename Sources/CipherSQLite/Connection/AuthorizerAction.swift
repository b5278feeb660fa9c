// What a statement wants to do, as SQLite says it while it prepares the statement: sqlite3_set_authorizer's codes, with
// names for what their two arguments mean.

private import CSQLCipher

/// One action that SQLite asks leave for while it prepares a statement.
public enum AuthorizerAction: Sendable, Hashable {
  /// `SELECT`, of whatever; each column that it reads is a ``read(table:column:)`` of its own.
  case select
  /// A column's value is read. Where only rows count, as for `count(*)`, the column is empty, and older engines do not
  /// ask.
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
  /// A table is made.
  case createTable(name: String, isTemporary: Bool)
  /// A table goes.
  case dropTable(name: String, isTemporary: Bool)
  /// A table is renamed, or gets a column.
  case alterTable(database: String, table: String)
  /// A table of a module is made.
  case createVirtualTable(name: String, module: String)
  /// A table of a module goes.
  case dropVirtualTable(name: String, module: String)
  /// An index is made.
  case createIndex(name: String, table: String, isTemporary: Bool)
  /// An index goes.
  case dropIndex(name: String, table: String, isTemporary: Bool)
  /// A view is made.
  case createView(name: String, isTemporary: Bool)
  /// A view goes.
  case dropView(name: String, isTemporary: Bool)
  /// A trigger is made.
  case createTrigger(name: String, table: String, isTemporary: Bool)
  /// A trigger goes.
  case dropTrigger(name: String, table: String, isTemporary: Bool)
  /// A pragma is asked, or set when there is an argument.
  case pragma(name: String, argument: String?)
  /// `BEGIN`, `COMMIT` or `ROLLBACK`.
  case transaction(operation: String)
  /// `BEGIN`, `RELEASE` or `ROLLBACK` of a savepoint.
  case savepoint(operation: String, name: String)
  /// A file is attached; nil where its name is made by the statement.
  case attach(file: String?)
  /// A file is let go; nil where its name is made by the statement.
  case detach(database: String?)
  /// An index is built anew.
  case reindex(name: String)
  /// Statistics of a table are made.
  case analyze(table: String)
  /// What only a newer engine asks, by its number, or an action without the names that SQLite documents for it.
  case other(code: Int)
}

/// What SQLite is told about an action.
public enum AuthorizerAnswer: Sendable, Hashable {
  /// The action is part of the statement.
  case allow
  /// The statement fails with "not authorized".
  case deny
  /// The statement goes on without it: a column that is read is NULL; what would be changed stays.
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
  /// - Parameters:
  ///   - code: SQLite's action code.
  ///   - first: The third argument of its callback.
  ///   - second: The fourth.
  init(code: Int32, first: String?, second: String?) {
    self = Self.known(code, first, second) ?? .other(code: Int(code))
  }

  // The table of "Authorizer Action Codes" (sqlite.org/c3ref/c_alter_table.html), in the order of what can be named.
  private static func known(_ code: Int32, _ first: String?, _ second: String?) -> AuthorizerAction? {
    switch (code, first, second) {
    case (SQLITE_SELECT, _, _): .select
    case (SQLITE_RECURSIVE, _, _): .recursive
    case (SQLITE_FUNCTION, _, let name?): .function(name: name)
    case (SQLITE_ATTACH, _, _): .attach(file: first)
    case (SQLITE_DETACH, _, _): .detach(database: first)
    case (_, let first?, let second?): pair(code, first, second) ?? single(code, first, second)
    case (_, let first?, nil): single(code, first, nil)
    default: nil
    }
  }

  private static func pair(_ code: Int32, _ first: String, _ second: String) -> AuthorizerAction? {
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

  private static func single(_ code: Int32, _ name: String, _ second: String?) -> AuthorizerAction? {
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
