// Values of statements: they are bound and never spliced, and every mistake is reported.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct Parameters {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws { database = try TemporaryDatabase("CREATE TABLE person(name TEXT, age INTEGER, mood TEXT)") }

  enum Mood: String, SQLConvertible { case calm, cross }

  @Test func `interpolated values are bound, whatever they contain`() throws {
    let evil = "Robert'); DROP TABLE person;-- ? :x \u{0} 北京"
    try connection.execute("INSERT INTO person(name, age, mood) VALUES (\(evil), \(41), \(Mood.cross))")
    let nobody: String? = nil
    try connection.execute("INSERT INTO person(name) VALUES (\(nobody))")
    #expect(try connection.rows("SELECT * FROM person WHERE name = \(evil)") == [[.text(evil), 41, "cross"]])
    #expect(try connection.value("SELECT count(*) FROM person WHERE name IS \(nobody)") == 1)
    #expect(try connection.tableExists("person"))
  }

  @Test func `identifiers are quoted, lists are bound, and joined parts keep their values`() throws {
    let table = "odd \"name\""
    try connection.execute("CREATE TABLE \(identifier: table)(\(identifier: "select") INTEGER)")
    for number in 1...5 { try connection.execute("INSERT INTO \(identifier: table) VALUES (\(number))") }
    let some: SQL = "\(identifier: "select") IN (\(list: [2, 4, 9]))"
    let none: SQL = "\(identifier: "select") IN (\(list: [Int]()))"
    #expect(try connection.value("SELECT count(*) FROM \(identifier: table) WHERE \(some)") == 2)
    #expect(try connection.value("SELECT count(*) FROM \(identifier: table) WHERE \(none)") == 0)
    let both = SQL.joined([some, "\(identifier: "select") > \(3)"], by: " AND ")
    #expect(
      try connection.value("SELECT sum(\(identifier: "select")) FROM \(identifier: table) WHERE \(both)") == 4
    )
    #expect(both.text == #""select" IN (?, ?, ?) AND "select" > ?"# && both.values.count == 4)
  }

  @Test func `parameters take values by position, by number and by name`() throws {
    let c = connection
    #expect(try c.rows("SELECT ?, ?", [1, nil]) == [[1, .null]])
    #expect(try c.rows("SELECT ?2, ?1, ?2", ["a", "b"]) == [["b", "a", "b"]])
    #expect(try c.rows("SELECT :a, @b, $c, :a", ["a": 1, "@b": 2.5, "$c": "x"]) == [[1, 2.5, "x", 1]])
    let name = "run-time"
    #expect(try c.rows("SELECT ?", [name]) == [["run-time"]])
    try c.execute(sql: "INSERT INTO person(name) VALUES (:n)", ["n": name])
    #expect(try c.value("SELECT name FROM person", as: String.self) == name)
  }

  @Test func `a wrong number or name of parameters is an error that states it`() throws {
    let c = connection
    #expect(throws: SQLError.parameterCount(expected: 2, found: 1, sql: "SELECT ?, ?")) {
      try c.rows("SELECT ?, ?", [1])
    }
    #expect(throws: SQLError.parameterCount(expected: 3, found: 1, sql: "SELECT ?3")) {
      try c.rows("SELECT ?3", [1])
    }
    let error = #expect(throws: SQLError.self) { try c.rows("SELECT :a, :b", ["a": 1, "c": 2, "d": 3]) }
    #expect(error == .parameterNames(missing: [":b"], unknown: ["c", "d"], sql: "SELECT :a, :b"))
    #expect("\(try #require(error))".contains("no value was given for :b, and there is no parameter c, d"))
    #expect(throws: SQLError.mixedParameters(sql: "SELECT ?, ?")) { try c.rows("SELECT \(1), ?", [2]) }
    #expect(throws: SQLError.parameterCount(expected: 1, found: 0, sql: "SELECT ?")) {
      try c.rows("SELECT ?")
    }
  }

  @Test func `a format binds its values and splices nothing`() throws {
    let evil = "'; DROP TABLE person; --"
    try connection.execute(
      SQL(format: "INSERT INTO person VALUES (%@, %lld, %s) -- 100%%", evil, 41, nil as String?))
    #expect(try connection.rows("SELECT * FROM person") == [[.text(evil), 41, .null]])
    #expect(try connection.value(SQL(format: "SELECT %f + %d", 1.5, 2)) == 3.5)
  }

  @Test func `an invalid placeholder of a format is reported with its position`() {
    func position(_ make: () throws -> SQL) -> Int? {
      do { _ = try make() } catch SQLError.format(let position, _, _) { return position } catch {}
      return nil
    }
    #expect(position { try SQL(format: "SELECT %q", 1) } == 8)
    #expect(position { try SQL(format: "SELECT %y", 1) } == 8)
    #expect(position { try SQL(format: "SELECT %d", "1") } == 8)
    #expect(position { try SQL(format: "SELECT %d, %d", 1) } == 12)
    #expect(position { try SQL(format: "SELECT %d", 1, 2) } == 10)
    #expect(position { try SQL(format: "SELECT 1 %") } == 10)
  }

  @Test func `a call with more or less than one statement is refused`() throws {
    #expect(throws: SQLError.notOneStatement(sql: "SELECT 1; DELETE FROM person")) {
      try connection.execute("SELECT 1; DELETE FROM person")
    }
    #expect(throws: SQLError.notOneStatement(sql: "SELECT 1; nonsense")) {
      try connection.execute("SELECT 1; nonsense")
    }
    #expect(throws: SQLError.notOneStatement(sql: " -- nothing")) { try connection.execute(" -- nothing") }
    #expect(throws: SQLError.notOneStatement(sql: "")) { try connection.execute("") }
    #expect(try connection.value("SELECT 1; ; -- and a comment\n /* another */ ") == 1)
  }

  @Test func `validate checks SQL without running it`() throws {
    try connection.validate(sql: "DELETE FROM person WHERE age > ?")
    #expect(throws: SQLError.self) { try connection.validate(sql: "DELETE FROM people") }
    #expect(throws: SQLError.self) { try connection.validate(sql: "SELEC 1") }
    #expect(try connection.value("SELECT count(*) FROM person") == 0)
    #expect(try connection.prepare("SELECT 1").isReadOnly)
    #expect(try !connection.prepare("DELETE FROM person").isReadOnly)
  }

  @Test func `a script passes its rows to a closure, and an error of the closure ends it`() throws {
    var found: [String] = []
    try connection.executeScript(
      """
      INSERT INTO person(name, age) VALUES ('Ann', 41), ('Bo', 7); -- two
      SELECT name FROM person ORDER BY name; ;
      SELECT age AS Years FROM person WHERE name = 'Bo';
      """
    ) { row in
      found.append(row.columnNames[0] + " " + (row.values[0].string ?? "\(row.values[0].int64 ?? -1)"))
    }
    #expect(found == ["name Ann", "name Bo", "Years 7"])
    #expect(throws: CancellationError.self) {
      try connection.executeScript("SELECT 1; DELETE FROM person") { _ in throw CancellationError() }
    }
    #expect(try connection.value("SELECT count(*) FROM person") == 2)
    #expect(throws: SQLError.self) { try connection.executeScript("DELETE FROM person; nonsense") { _ in } }
    #expect(try connection.value("SELECT count(*) FROM person") == 0)
  }
}

@Suite struct StatementTexts {
  @Test(arguments: ["DELETE FROM t\0 WHERE a = 1", "\0DELETE FROM t", "DELETE FROM t;\0", "SELECT '\0'"])
  func `SQL with a NUL character, at which the engine would stop reading, is refused`(_ sql: String) throws {
    let database = try TemporaryDatabase("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
    let connection = database.connection
    let calls: [() throws -> Void] = [
      { try connection.validate(sql: sql) }, { _ = try connection.prepare(sql: sql) },
      { try connection.execute(sql: sql) }, { _ = try connection.rows(sql: sql) },
      { try connection.executeScript(sql) }, { try connection.executeScript(sql) { _ in } },
    ]
    for (index, call) in calls.enumerated() {
      #expect("call \(index)") { try call() } throws: {
        "\($0)".contains("has a NUL character") && !"\($0)".contains("\0")
      }
    }
    #expect(try connection.value("SELECT count(*) FROM t") == 2)
  }
}

@Suite struct Cache {
  @Test func `the cache keeps statements in use, and counts hits, misses and evictions`() throws {
    var configuration = Connection.Configuration()
    configuration.statementCacheSize = 8
    let database = try TemporaryDatabase(configuration: configuration)
    let connection = database.connection
    connection.clearStatementCache()
    let before = connection.statementCacheStatistics
    for number in 0..<50 {
      _ = try connection.value(sql: "SELECT \(number)")
      // Used in every round, so it is never evicted.
      _ = try connection.value("SELECT 'hot'")
    }
    let after = connection.statementCacheStatistics
    #expect(after.capacity == 8 && after.count <= 8)
    #expect(after.hits - before.hits == 49)
    #expect(after.misses - before.misses == 51)
    #expect(after.evictions - before.evictions == 51 - after.count)
  }

  @Test func `statements work without a cache`() throws {
    var configuration = Connection.Configuration()
    configuration.statementCacheSize = 0
    let database = try TemporaryDatabase(configuration: configuration)
    let connection = database.connection
    for _ in 0..<3 { #expect(try connection.value("SELECT 1 + 1") == 2) }
    #expect(connection.statementCacheStatistics.count == 0)
  }

  @Test func `a statement that is evicted while it runs stays valid until it has run`() throws {
    let database = try TemporaryDatabase("CREATE TABLE t(a)")
    let connection = database.connection
    for isClosed in [false, true] {
      // The second look-up finds the statement in the cache.
      for isFound in [false, true] {
        var names = 0
        try connection.withStatement(sql: "SELECT a FROM t") { statement in
          // This empties the cache and fills it with other statements.
          try? connection.withAuthorizer { _ in
            .allow
          } body: {
            for number in 0..<20 { _ = try connection.value(sql: "SELECT \(number)") }
          }
          if isClosed, isFound { connection.close() }
          #expect(statement.sql == "SELECT a FROM t" && statement.columnName(0) == "")
          names += 1
        }
        #expect(names == 1)
      }
    }
  }

  @Test(arguments: [0, 2, 256])
  func `a statement that its user keeps works after the cache evicted it`(_ size: Int) throws {
    var configuration = Connection.Configuration()
    configuration.statementCacheSize = size
    let database = try TemporaryDatabase("CREATE TABLE t(a)", configuration: configuration)
    let connection = database.connection
    var kept: Statement?
    for number in 0..<20 {
      let sum = try connection.withStatement(sql: "SELECT ? + 1", keeping: &kept) { statement in
        try statement.bind(Int64(number), at: 1)
        // Meanwhile another statement has the same text, however it is requested.
        #expect(try connection.value(sql: "SELECT ? + 1", [.integer(100)]) == 101)
        return try statement.step() ? statement.int64(0) : nil
      }
      #expect(sum == Int64(number + 1))
      for other in 0..<5 { #expect(try connection.value(sql: "SELECT \(number * 5 + other)") != nil) }
      if number == 9 { connection.clearStatementCache() }
    }
    connection.close()
    #expect(throws: SQLError.self) {
      try connection.withStatement(sql: "SELECT ? + 1", keeping: &kept) { _ = try $0.step() }
    }
  }

  @Test func `a statement may be used within itself`() throws {
    let database = try TemporaryDatabase()
    let connection = database.connection
    let pairs = try connection.query("SELECT 1 UNION SELECT 2") { outer in
      let first = outer.int64(0)
      return try connection.query("SELECT 1 UNION SELECT 2") { [first, $0.int64(0)] }
    }
    #expect(pairs.joined().map { $0 } == [[1, 1], [1, 2], [2, 1], [2, 2]])
  }

  @Test func `a cached statement sees the new columns after a change of the schema`() throws {
    let database = try TemporaryDatabase("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    let connection = database.connection
    #expect(try connection.allRows("SELECT * FROM t")[0].columnNames == ["a"])
    try connection.execute("ALTER TABLE t ADD COLUMN b DEFAULT 2")
    let row = try #require(try connection.firstRow("SELECT * FROM t"))
    #expect(row.columnNames == ["a", "b"])
    #expect(row.values == [1, 2])
  }
}
