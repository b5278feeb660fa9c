// The actions that SQLite passes to the authorizer, and the effect of each answer on a statement.

import CipherSQLite
import TestSupport
import Testing

@Suite struct Authorizers {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws {
    database = try TemporaryDatabase(
      """
      CREATE TABLE person(name TEXT, age INTEGER); CREATE INDEX byName ON person(name);
      INSERT INTO person VALUES ('Ann', 41);
      """)
  }

  /// A statement, and one of the actions that it causes.
  static let statements: [(sql: String, action: AuthorizerAction)] = [
    ("SELECT name FROM person", .select), ("SELECT name FROM person", .read(table: "person", column: "name")),
    ("SELECT max(age) FROM person", .function(name: "max")),
    ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 3) SELECT x FROM n", .recursive),
    ("INSERT INTO person VALUES ('Bo', 7)", .insert(table: "person")),
    ("UPDATE person SET age = 2", .update(table: "person", column: "age")),
    ("DELETE FROM person", .delete(table: "person")),
    ("CREATE TABLE t(x)", .createTable(name: "t", isTemporary: false)),
    ("CREATE TEMP TABLE t(x)", .createTable(name: "t", isTemporary: true)),
    ("DROP TABLE person", .dropTable(name: "person", isTemporary: false)),
    ("ALTER TABLE person ADD COLUMN town TEXT", .alterTable(database: "main", table: "person")),
    ("CREATE INDEX byAge ON person(age)", .createIndex(name: "byAge", table: "person", isTemporary: false)),
    ("DROP INDEX byName", .dropIndex(name: "byName", table: "person", isTemporary: false)),
    ("CREATE VIEW v AS SELECT 1", .createView(name: "v", isTemporary: false)),
    ("CREATE TEMP VIEW v AS SELECT 1", .createView(name: "v", isTemporary: true)),
    (
      "CREATE TRIGGER g AFTER DELETE ON person BEGIN SELECT 1; END",
      .createTrigger(name: "g", table: "person", isTemporary: false)
    ),
    (
      "CREATE TEMP TRIGGER g AFTER DELETE ON person BEGIN SELECT 1; END",
      .createTrigger(name: "g", table: "person", isTemporary: true)
    ),
    ("PRAGMA user_version", .pragma(name: "user_version", argument: nil)),
    ("PRAGMA user_version = 3", .pragma(name: "user_version", argument: "3")),
    ("BEGIN", .transaction(operation: "BEGIN")), ("SAVEPOINT s", .savepoint(operation: "BEGIN", name: "s")),
    ("ATTACH 'x' AS y", .attach(file: "x")), ("ATTACH 'x' || '' AS y", .attach(file: nil)),
    ("DETACH 'temp'", .detach(database: "temp")), ("REINDEX byName", .reindex(name: "byName")),
    ("ANALYZE person", .analyze(table: "person")),
  ]

  @Test(arguments: statements.indices)
  func `the authorizer receives each action with its named arguments`(_ index: Int) throws {
    let (sql, action) = Self.statements[index]
    var seen: Set<AuthorizerAction> = []
    // The statements are only prepared, so attached files do not have to exist.
    try connection.withAuthorizer {
      seen.insert($0)
      return .allow
    } body: {
      try connection.validate(sql: sql)
    }
    #expect(seen.contains(action), "\(sql): \(seen)")
    #expect(!seen.contains { if case .other = $0 { true } else { false } }, "\(sql): \(seen)")
  }

  @Test(arguments: statements.indices)
  func `a statement with one denied action fails and changes nothing`(_ index: Int) throws {
    let (sql, action) = Self.statements[index]
    #expect(throws: SQLError.self, "\(sql)") {
      try connection.withAuthorizer {
        $0 == action ? .deny : .allow
      } body: {
        try connection.execute(sql: sql)
      }
    }
    #expect(try connection.rows("SELECT name, age FROM person") == [["Ann", 41]])
  }

  @Test func `an ignored read gives NULL, and an ignored update leaves the column unchanged`() throws {
    let found = try connection.withAuthorizer {
      $0 == .read(table: "person", column: "age") ? .ignore : .allow
    } body: {
      try connection.rows("SELECT name, age FROM person")
    }
    #expect(found == [["Ann", .null]])
    try connection.withAuthorizer {
      $0 == .update(table: "person", column: "age") ? .ignore : .allow
    } body: {
      _ = try connection.execute("UPDATE person SET name = 'Bo', age = 1")
    }
    #expect(try connection.rows("SELECT name, age FROM person") == [["Bo", 41]])
  }

  @Test func `a statement that read NULL for an ignored column reads its value afterwards`() throws {
    let read = { try connection.rows("SELECT age FROM person") }
    let ignored = try connection.withAuthorizer {
      $0 == .read(table: "person", column: "age") ? .ignore : .allow
    } body: {
      try read()
    }
    #expect(ignored == [[.null]])
    #expect(try read() == [[41]])
  }

  @Test func `an inner authorizer restores the outer one`() throws {
    try connection.withAuthorizer({ $0 == .read(table: "person", column: "age") ? .deny : .allow }) {
      () throws -> Void in
      try connection.withAuthorizer({ _ in .allow }) { () throws -> Void in
        #expect(try connection.value("SELECT age FROM person") == 41)
      }
      #expect(throws: SQLError.self) { try connection.value("SELECT age FROM person") }
      #expect(try connection.value("SELECT name FROM person") == "Ann")
    }
    #expect(try connection.value("SELECT age FROM person") == 41)
  }

  @Test func `withAuthorizer removes the authorizer even if its body throws or closes the connection`() throws
  {
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try connection.withAuthorizer({ _ in .deny }) { () throws -> Void in throw Stop() }
    }
    #expect(try connection.value("SELECT count(*) FROM person") == 1)
    let other = try database.again()
    try other.withAuthorizer({ _ in .allow }) { other.close() }
  }
}
