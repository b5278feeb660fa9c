// Whether a table has triggers. The answer is that of the open transaction, whatever was cached before.

import CipherSQLite
import TestSupport
import Testing

@Suite struct TriggeredTables {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }
  private struct Undone: Error {}

  init() throws { database = try TemporaryDatabase("CREATE TABLE t(a); CREATE TABLE u(a)") }

  private func create(_ name: String, on table: String = "t", kind: String = "") -> String {
    "CREATE \(kind) TRIGGER \(name) AFTER INSERT ON \(table) BEGIN SELECT 1; END"
  }

  @Test func `a created or dropped trigger is noticed at once`() throws {
    #expect(try !connection.firesTriggers(table: "t"))
    try connection.transaction {
      #expect(try !connection.firesTriggers(table: "t"))
      try connection.execute(sql: create("one"))
      #expect(try connection.firesTriggers(table: "t") && !connection.firesTriggers(table: "u"))
      try connection.execute(sql: "DROP TRIGGER one")
      #expect(try !connection.firesTriggers(table: "t"))
    }
    try connection.execute(sql: create("one", on: "T"))
    #expect(try connection.firesTriggers(table: "t") && connection.firesTriggers(table: "T"))
  }

  @Test func `a trigger whose creation is rolled back is not reported, however it is rolled back`() throws {
    let undo: [(name: String, run: ((() throws -> Void)) throws -> Void)] = [
      (
        "transaction",
        { body in
          try connection.transaction {
            try body()
            throw Undone()
          }
        }
      ),
      (
        "savepoint",
        { body in
          try connection.transaction {
            do {
              try connection.savepoint {
                try body()
                throw Undone()
              }
            } catch is Undone {}
            // The schema has its former number again, and the next change gives it the number that was
            // rolled back.
            try connection.execute(sql: create("other", on: "u"))
            #expect(try !connection.firesTriggers(table: "t") && connection.firesTriggers(table: "u"))
            throw Undone()
          }
        }
      ),
      (
        "by hand",
        { body in
          try connection.begin()
          try body()
          connection.rollback()
          throw Undone()
        }
      ),
      (
        "savepoint by hand",
        { body in
          try connection.beginSavepoint("s")
          try body()
          try connection.rollBack(toSavepoint: "s")
          try connection.execute(sql: create("other", on: "u"))
          #expect(try !connection.firesTriggers(table: "t") && connection.firesTriggers(table: "u"))
          connection.rollback()
          throw Undone()
        }
      ),
    ]
    for way in undo {
      #expect(throws: Undone.self, "\(way.name)") {
        try way.run {
          try connection.execute(sql: create("one"))
          #expect(try connection.firesTriggers(table: "t"), "\(way.name)")
        }
      }
      try connection.execute(sql: create("two", on: "u"))
      #expect(
        try !connection.firesTriggers(table: "t") && connection.firesTriggers(table: "u"), "\(way.name)")
      try connection.execute(sql: "DROP TRIGGER two")
    }
  }

  @Test func `a trigger of a transaction that the engine rolls back is not reported any more`() throws {
    try connection.execute(
      sql: "CREATE TRIGGER lose BEFORE DELETE ON u BEGIN SELECT RAISE(ROLLBACK, 'lost'); END")
    try connection.execute(sql: "INSERT INTO u VALUES (1)")
    #expect(throws: SQLError.self) {
      try connection.transaction {
        try connection.execute(sql: create("one"))
        #expect(try connection.firesTriggers(table: "t"))
        try connection.execute(sql: "DELETE FROM u")
      }
    }
    try connection.execute(sql: create("two", on: "u"))
    #expect(try !connection.firesTriggers(table: "t"))
  }

  @Test func `temporary triggers and triggers of another connection are reported`() throws {
    #expect(try !connection.firesTriggers(table: "t"))
    try connection.execute(sql: create("mine", kind: "TEMP"))
    #expect(try connection.firesTriggers(table: "t"))
    try connection.execute(sql: "DROP TRIGGER mine")
    #expect(try !connection.firesTriggers(table: "t"))
    let other = try database.again()
    try other.execute(sql: create("theirs"))
    #expect(try connection.firesTriggers(table: "t"))
  }

  @Test func `the schema is read once as long as it does not change`() throws {
    var read: [String] = []
    for _ in 0..<3 {
      try connection.transaction {
        connection.onStatement { read.append($0.sql) }
        _ = try connection.firesTriggers(table: "t")
        _ = try connection.firesTriggers(table: "u")
        connection.onStatement(nil)
      }
    }
    #expect(read.count { $0.contains("sqlite_master") } == 1, "\(read)")
  }
}
