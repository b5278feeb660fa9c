// Rows: by index, by name, typed, decoded, one at a time; dates and blobs.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct Rows {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws {
    database = try TemporaryDatabase(
      """
      CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, age INTEGER, height REAL, photo BLOB);
      INSERT INTO person VALUES (1, 'Ann', 41, 1.75, x'00ff'), (2, 'Bo', NULL, 2, NULL);
      """)
  }

  @Test func `columns are read by index and by name, ignoring case`() throws {
    let rows = try connection.allRows("SELECT name, age AS Years, height, photo FROM person ORDER BY id")
    let name: String = try rows[0]["NAME"]
    let years: Int = try rows[0]["years"]
    let height: Double = try rows[1][2]
    let photo: Data = try rows[0]["photo"]
    let none: Int? = try rows[1]["Years"]
    #expect(name == "Ann" && years == 41 && height == 2 && photo == Data([0, 255]) && none == nil)
    #expect(rows[1].dictionary == ["name": "Bo", "Years": .null, "height": 2.0, "photo": .null])
    #expect(rows[0].description == "[name: text, Years: integer, height: real, photo: blob]")
  }

  @Test func `a column that is missing, NULL or of another type is an error that names it`() throws {
    let row = try #require(try connection.firstRow("SELECT name, age FROM person WHERE id = \(2)"))
    #expect(throws: SQLError.noSuchColumn(name: "nam", available: ["name", "age"])) {
      let _: String = try row["nam"]
    }
    #expect(throws: SQLError.noSuchColumn(name: "2", available: ["name", "age"])) {
      let _: String = try row[2]
    }
    #expect(throws: SQLError.columnType(column: "age", expected: "Int", found: "null")) {
      let _: Int = try row["age"]
    }
    #expect(throws: SQLError.columnType(column: "name", expected: "Int", found: "text")) {
      let _: Int = try row[0]
    }
    #expect(throws: SQLError.columnType(column: "300", expected: "UInt8", found: "integer")) {
      try connection.value("SELECT 300", as: UInt8.self)
    }
  }

  @Test func `one value, one column and the first row are read, and nil if there is none`() throws {
    #expect(try connection.value("SELECT max(age) FROM person", as: Int.self) == 41)
    #expect(try connection.value("SELECT age FROM person WHERE id = 2", as: Int?.self) == .some(nil))
    #expect(try connection.value("SELECT age FROM person WHERE id = 3", as: Int?.self) == nil)
    #expect(try connection.column("SELECT age FROM person ORDER BY id", as: Int?.self) == [41, nil])
    #expect(try connection.firstRow("SELECT * FROM person WHERE id = \(9)") == nil)
    #expect(
      try connection.column("SELECT name FROM person WHERE id > :low", ["low": 1], as: String.self) == ["Bo"])
  }

  @Test(arguments: [Int64.min, -1, 0, 1, Int64.max])
  func `every integer is read back unchanged`(_ number: Int64) throws {
    #expect(try connection.value("SELECT \(number)", as: Int64.self) == number)
  }

  @Test func `a value of every type is read back unchanged`() throws {
    func same<Value: SQLConvertible & Equatable>(_ value: Value) throws -> Bool {
      try connection.value("SELECT \(value)", as: Value.self) == value
    }
    #expect(try same(UInt8.max) && same(Int16.min) && same(UInt32.max) && same(true) && same(false))
    #expect(try same(Float.pi) && same(-0.1) && same(Double.infinity) && same("") && same("a\u{0}b"))
    #expect(try same(Data()) && same(UUID()) && same(String?.none) && same(Substring("x")))
    #expect(try same(try #require(URL(string: "https://example.org/a?b=c"))))
    let uuid = UUID()
    let bytes = withUnsafeBytes(of: uuid.uuid) { Data($0) }
    #expect(try connection.value("SELECT \(bytes)", as: UUID.self) == uuid)
  }

  @Test func `tables and columns are looked up without regard to case`() throws {
    #expect(try connection.tableExists("PERSON") && !connection.tableExists("people"))
    #expect(
      try connection.columnExists("Height", in: "person") && !connection.columnExists("weight", in: "person"))
    #expect(try !connection.columnExists("height", in: "people"))
  }

  // MARK: Codable

  struct Address: Codable, Equatable { var street: String }
  enum Mood: String, Codable { case calm, cross }
  struct Person: Codable, Equatable {
    var name: String
    var age: Int?
    var mood: Mood = .calm
    var born = Date(timeIntervalSince1970: 12.5)
    var address: Address?
    var tags: [String] = []
    var photo: Data?
  }

  @Test func `a Codable value is inserted as a row and read back`() throws {
    try connection.execute("CREATE TABLE people(name, age, mood, born, address, tags, photo)")
    let people = [
      Person(
        name: "Ann", age: 41, mood: .cross, address: Address(street: "A 1"), tags: ["x", "y"],
        photo: Data([1])),
      Person(name: "Bo"),
    ]
    for (index, person) in people.enumerated() {
      #expect(try connection.insert(person, into: "people") == Int64(index + 1))
    }
    #expect(try connection.rows("SELECT * FROM people ORDER BY rowid", as: Person.self) == people)
    #expect(
      try connection.rows("SELECT * FROM people ORDER BY rowid")[0] == [
        "Ann", 41, "cross", 12.5, .text(#"{"street":"A 1"}"#), .text(#"["x","y"]"#), .blob(Data([1])),
      ])
    // The same properties as named parameters, and a scalar from a whole row.
    try connection.execute(
      "UPDATE people SET age = :age, mood = :mood, born = :born, address = :address, tags = :tags, photo = :photo WHERE name = :name",
      SQLArguments(encoding: Person(name: "Bo", age: 8)))
    #expect(try connection.firstRow("SELECT * FROM people WHERE name = 'Bo'", as: Person.self)?.age == 8)
    #expect(try connection.rows("SELECT age FROM people ORDER BY rowid", as: Int.self) == [41, 8])
  }

  @Test func `a decoding error names the column`() throws {
    func path(_ sql: SQL) -> String? {
      do { _ = try connection.rows(sql, as: Person.self) } catch DecodingError.typeMismatch(_, let context) {
        return context.codingPath.map(\.stringValue).joined()
      } catch DecodingError.valueNotFound(_, let context) {
        return context.codingPath.map(\.stringValue).joined()
      } catch DecodingError.dataCorrupted(let context) {
        return context.codingPath.map(\.stringValue).joined()
      } catch DecodingError.keyNotFound(let key, _) { return key.stringValue } catch { return nil }
      return nil
    }
    #expect(path("SELECT 1 AS age") == "name")
    #expect(path("SELECT NULL AS name") == "name")
    #expect(path("SELECT 'a' AS name, 'old' AS age") == "age")
    #expect(path("SELECT 'a' AS name, 'happy' AS mood") == "mood")
    #expect(path("SELECT 'a' AS name, 'calm' AS mood, 1 AS born, '[' AS address, '[]' AS tags") == "address")
    #expect(throws: EncodingError.self) { try connection.insert([1, 2], into: "person") }
    #expect(throws: EncodingError.self) { try connection.insert(7, into: "person") }
  }

  // MARK: Cursors

  @Test func `a cursor reads one row at a time and can be closed early`() throws {
    let numbers: SQL = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    // The rows have no end, so only a cursor can read them.
    let cursor = try connection.cursor(numbers) { $0.int64(0) }
    #expect(try [cursor.next(), cursor.next(), cursor.next()] == [1, 2, 3])
    cursor.close()
    #expect(try cursor.next() == nil)
    var names: [String] = []
    try connection.cursor("SELECT name FROM person ORDER BY id").forEach { names.append(try $0["name"]) }
    #expect(names == ["Ann", "Bo"])
    let failing = try connection.cursor("SELECT abs(-9223372036854775808)") { $0.int64(0) }
    #expect(throws: SQLError.self) { try failing.next() }
    #expect(try failing.next() == nil)
  }

  @Test func `a cursor of a closed connection throws and does not crash`() throws {
    let cursor = try connection.cursor("SELECT id FROM person") { $0.int64(0) }
    _ = try cursor.next()
    connection.close()
    #expect(throws: SQLError.closed(file: database.path)) { try cursor.next() }
  }

  // MARK: Dates

  @Test(arguments: [0.0, 12.5, -1e9, 1_700_000_000.123])
  func `a date is read back under every strategy`(_ seconds: Double) throws {
    let date = Date(timeIntervalSince1970: seconds)
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "yyyyMMdd HHmmss.SSS"
    let strategies: [(DateStrategy, String)] = [
      (.secondsSince1970, "real"), (.millisecondsSince1970, "integer"), (.secondsSinceReferenceDate, "real"),
      (.iso8601, "text"), (.formatted(formatter), "text"),
    ]
    for (strategy, storage) in strategies {
      var configuration = Connection.Configuration()
      configuration.dates = strategy
      let connection = try database.again(configuration)
      let back = try #require(try connection.value("SELECT \(date)", as: Date.self))
      #expect(abs(back.timeIntervalSince(date)) < 0.001)
      #expect(try connection.value("SELECT typeof(\(date))", as: String.self) == storage)
    }
  }

  @Test func `SQLite's own date functions agree with the stored dates`() throws {
    let date = Date(timeIntervalSince1970: 1_700_000_000.5)
    #expect(
      try connection.value("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', \(date), 'unixepoch')", as: String.self)
        == "2023-11-14T22:13:20.500Z")
    var configuration = Connection.Configuration()
    configuration.dates = .iso8601
    #expect(
      try database.again(configuration).value("SELECT CAST(strftime('%s', \(date)) AS INTEGER)", as: Int.self)
        == 1_700_000_000)
  }

  // MARK: Blobs

  @Test func `a blob is written and read in parts`() throws {
    let size = 300_000
    try connection.execute("INSERT INTO person(id, photo) VALUES (3, zeroblob(\(size)))")
    let expected = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let writing = try connection.blob(table: "person", column: "photo", row: 3, isWriting: true)
    for start in stride(from: 0, to: size, by: 65_536) {
      try writing.write(expected[start..<min(size, start + 65_536)])
    }
    #expect(throws: SQLError.blobRange(place: "person.photo", offset: size, count: 1, available: size)) {
      try writing.write(Data([1]))
    }
    try writing.close()
    let reading = try connection.blob(table: "person", column: "photo", row: 3)
    var found = Data()
    while case let piece = try reading.read(10_000), !piece.isEmpty { found += piece }
    #expect(found == expected)
    try reading.seek(to: 5)
    #expect(try reading.read(2) == expected[5..<7])
    #expect(try connection.value("SELECT photo FROM person WHERE id = 3") == .blob(expected))
    try reading.move(toRow: 1)
    #expect(try reading.count == 2 && reading.read(9) == Data([0, 255]))
    #expect(throws: SQLError.self) { try reading.write(Data([1])) }
    #expect(throws: SQLError.self) { try connection.blob(table: "person", column: "photo", row: 99) }
    #expect(throws: SQLError.self) { try connection.blob(table: "person", column: "age", row: 1) }
  }
}
