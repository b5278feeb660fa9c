// What is read from the text of a data block, without the engine.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct DataBlocks {
  @Test(arguments: [
    "INSERT INTO City VALUES (1, 'a')",
    "INSERT INTO City (id, name) VALUES (1, 'a'), (2, 'VALUES (3, 4), (5)'); INSERT INTO City VALUES (3, 'b')",
    "insert into City values (1, (SELECT 'x')), (2, ((3))) , (4, 'it''s (5), (6)')",
    "INSERT INTO City VALUES(1,'a') /* , (2, 'b') */ , (3, 'c') -- , (4, 'd')",
    "INSERT INTO City SELECT 1, 'a' UNION ALL SELECT 2, 'b' WHERE 1 IN (1, 2)",
    "INSERT INTO City (name) VALUES ('values'), ('(')",
    "DELETE FROM City",
  ])
  func `valueRows is the number of rows that the engine inserts from lists of values`(_ sql: String) throws {
    let folder = try TemporaryFolder()
    _ = try Connection.create(folder.path("a.store"), key: testKey) {
      try $0.execute("CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT)")
    }
    let connection = try Connection.open(folder.path("a.store"), key: testKey)
    try connection.executeScript(sql)
    let count = try connection.value("SELECT count(*) FROM City")?.int64 ?? 0
    // Rows of a query have no values in the text.
    #expect(DataBlock(sql, among: []).valueRows == (sql.contains("UNION") ? 0 : Int(count)))
  }

  @Test func `the tables of a block are those that its text names, in any quotes, and no others`() {
    let names = ["City", "Country", "City_rivers", "Élan"]
    for (sql, tables) in [
      ("UPDATE City SET name = 'x'", ["City"]),
      ("update CITY set name = (SELECT max(a) FROM \"country\")", ["City", "Country"]),
      ("DELETE FROM [City_rivers] WHERE a IN (SELECT id FROM `city`)", ["City", "City_rivers"]),
      ("INSERT INTO 'City' VALUES (1)", ["City"]),
      ("DELETE FROM élan", ["Élan"]),
      ("DELETE FROM t -- City\n /* Country */", []),
      ("INSERT INTO t VALUES ('City of London', 'Countryside', 'cit')", []),
      // A text may be a name.
      ("INSERT INTO t VALUES ('city')", ["City"]),
    ] {
      #expect(DataBlock(sql, among: names).tables == Set(tables), "\(sql)")
    }
  }
}
