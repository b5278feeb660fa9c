// Rows that a step copies in slices: a slice that fails, and casts whose results need no type check.

import CipherSQLite
import ObjectVault
import TestSupport
import Testing

@Suite struct CopiedSlices {
  private static let base = """
    create entity Item {
      attribute a string optional
      attribute b double
    }
    """
  // Two slices, because ids that are far apart are copied separately.
  private static let fill =
    "INSERT INTO Item(id, a, b) VALUES (1, '1', 1.5), (2, 'x', 2.5), (900000, NULL, 3.5)"

  @Test func `a slice that fails rolls back the slices before it`() async throws {
    let lab = try await MigrationLab(Self.base, fill: [Self.fill])
    let before = try lab.rows("SELECT id, a, b FROM Item ORDER BY id")
    await #expect(throws: StoreError.self) {
      try await lab.migrate("retype Item.b to int using (CASE WHEN $Item.id < 5 THEN 1 END)")
    }
    #expect(try lab.rows("SELECT id, a, b FROM Item ORDER BY id") == before)
    #expect(try lab.rows("SELECT name FROM sqlite_master WHERE name LIKE '%mig%Item%'").isEmpty)
    try await lab.migrate("retype Item.b to int using (CAST($Item.b AS INTEGER))")
    #expect(
      try lab.rows("SELECT id, b FROM Item ORDER BY id") == [
        [.integer(1), .integer(1)], [.integer(2), .integer(2)], [.integer(900000), .integer(3)],
      ])
    #expect(try lab.isSound())
  }

  @Test(arguments: [
    ("CAST(a AS INTEGER)", "INTEGER"), (" cast ( (a) + 1 as integer ) -- why", "INTEGER"),
    ("CAST(CAST(a AS TEXT) AS REAL)", "REAL"), ("CAST(`as` AS BLOB)", "BLOB"),
    ("CAST(')' AS INTEGER)", "INTEGER"), ("CAST(/* ) */ a AS INTEGER)", "INTEGER"),
  ])
  func `castType recognizes a cast of the whole expression`(_ sql: String, _ type: String) {
    #expect(SQLScanner.castType(sql) == type)
  }

  @Test(arguments: [
    "a", "", "CAST", "CAST(a AS INTEGER) + 0.5", "1 + CAST(a AS INTEGER)", "(CAST(a AS INTEGER))", "CAST(a)",
    "CAST(a AS VARCHAR(10))", "CAST(a AS LONG INTEGER)", "coalesce(CAST(a AS INTEGER), 'x')",
    "CAST(a AS \"INTEGER\")", "CAST(a AS INTEGER", "CAST(a AS INTEGER)(b)", "CAST (a) AS INTEGER",
    "CAST(a AS INTEGER) || CAST(b AS INTEGER)", "cast(a as INTEGER) COLLATE nocase",
  ])
  func `castType returns nil for every other expression`(_ sql: String) {
    #expect(SQLScanner.castType(sql) == nil)
  }

  /// Results of such casts are not checked when a step runs, so this test checks the engine.
  @Test func `CAST of any value to INTEGER or REAL yields that type or NULL`() throws {
    let connection = try Connection.inMemory()
    defer { connection.close() }
    let values = [
      "NULL", "1", "1.5", "'x'", "''", "'12abc'", "'9e999'", "9e999", "-9e999", "x'00ff'", "zeroblob(3)",
      "9223372036854775807", "'99999999999999999999'", "1e300", "-1e300", "'1e300'",
    ]
    for value in values {
      let types = try connection.rows(
        sql: "SELECT typeof(CAST(\(value) AS INTEGER)), typeof(CAST(\(value) AS REAL))")[0]
      #expect([.text("integer"), .text("null")].contains(types[0]))
      #expect([.text("real"), .text("null")].contains(types[1]))
    }
  }
}
