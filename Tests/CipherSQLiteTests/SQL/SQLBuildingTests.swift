// SQL that is built at run time: a name, a literal or a parameter cannot become anything else.

import CipherSQLite
import TestSupport
import Testing

@Suite struct SQLBuilding {
  @Test func `names are quoted, numbers and aliases are written, and values are bound`() {
    let (name, count, text) = (SQLName("a\"; DROP TABLE b;--"), 3, "it's")
    let sql: SQL = "SELECT \(alias: count).\(name), \(number: -count), \(literal: text) WHERE x = \(text)"
    #expect(sql.text == #"SELECT t3."a""; DROP TABLE b;--", -3, 'it''s' WHERE x = ?"#)
    #expect(sql.values.map { $0.sqlValue(dates: .secondsSince1970) } == ["it's"])
    #expect("\(name)" == quoted("a\"; DROP TABLE b;--") && name == SQLName("a\"; DROP TABLE b;--"))
  }

  @Test func `a quote is doubled even if a combining mark after it makes it another character`() throws {
    let database = try TemporaryDatabase()
    for mark in ["\u{301}", "\u{200D}", "\u{FE0F}", "\u{20E3}"] {
      let (name, text) = (SQLName("a\"\(mark)b"), "it'\(mark)s")
      #expect(text.count == 4)
      let table: SQL = "CREATE TABLE \(name) (x TEXT DEFAULT \(literal: text))"
      try database.connection.execute(table)
      try database.connection.execute("INSERT INTO \(name) DEFAULT VALUES")
      let found = try database.connection.value("SELECT x FROM \(name)")?.string
      #expect(found.map { Array($0.utf8) } == Array(text.utf8))
      try database.connection.execute("DROP TABLE \(name)")
    }
  }

  @Test func `parameters write as many question marks, without values`() {
    for count in 0...3 {
      let sql: SQL = "(\(parameters: count))"
      #expect(sql.text == ["()", "(?)", "(?, ?)", "(?, ?, ?)"][count] && sql.values.isEmpty)
    }
  }

  @Test func `appended and joined SQL keeps its values in the order of the text`() throws {
    var sql: SQL = "SELECT \(1)"
    sql.append(", \(2)")
    sql.append(", \(SQL.joined(["\(3)", "\(4)"], by: " + \(5) * "))")
    #expect(
      sql.text == "SELECT ?, ?, ? + ? * ?" && SQL.names([SQLName("a"), SQLName("b")]).text == "\"a\", \"b\"")
    let temporary = try TemporaryDatabase()
    #expect(try temporary.connection.rows(sql) == [[1, 2, 23]])
  }
}
