// Values of another type than their column's: they are found after the step that wrote them, by `verify`,
// and by the getter that reads one.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct TypeChecks {
  static let base = """
    create entity Thing {
        attribute flag bool
        attribute small int8
        attribute count int
        attribute weight double optional
        attribute ratio float optional
        attribute price decimal
        attribute name string
        attribute bytes data
        attribute born date optional
        attribute key uuid
        attribute link url
        attribute extra json
        relationship next -> Thing
    }
    """
  static let fill = """
    INSERT INTO Thing(id, flag, small, count, weight, ratio, price, name, bytes, born, key, link, extra)
    VALUES (1, 1, -128, 5, 1.5, 0.5, '-1.50', 'a', x'00', 12, '0F8FAD5B-D9CB-469F-A165-70867728950E',
      'https://x.org', '{"a":[1]}'),
    (2, 0, 127, 6, NULL, 9e999, '7', 'b', x'', NULL, '0F8FAD5B-D9CB-469F-A165-70867728950F', 'a/b', '3')
    """

  let lab: MigrationLab
  init() async throws {
    // The ids of the rows count as issued.
    lab = try await MigrationLab(
      Self.base, fill: [Self.fill, "INSERT OR REPLACE INTO vault_ids VALUES ('Thing', 2)"])
  }

  @Test(arguments: [
    ("flag", "2"), ("small", "128"), ("small", "'x'"), ("count", "'text'"), ("count", "1.5"),
    ("weight", "'heavy'"), ("ratio", "1e300"), ("price", "'12 Euro'"), ("price", "'1,5'"), ("name", "x'41'"),
    ("name", "CAST(x'41ff' AS TEXT)"),
    ("bytes", "'text'"), ("born", "'2001-01-01'"), ("key", "'some prose'"),
    ("key", "'0f8fad5b-d9cb-469f-a165-70867728950e'"), ("link", "''"), ("link", "'a b'"), ("extra", "'{'"),
    ("extra", "'{\"a\": 1}'"), ("extra", "'[1,]'"), ("extra", "'{\"a\":1,}'"),
    ("extra", "'1' || char(0) || '2'"),
    ("key", "'0F8FAD5B-D9CB-469F-A165-70867728950E' || char(0) || 'junk'"), ("price", "'1.5' || char(0)"),
    ("link", "'https://x.org' || char(0) || 'y'"), ("next_id", "'abc'"), ("id", "-5"),
  ])
  func `a data block that leaves values of another type fails with counts and rows`(
    _ column: String, _ value: String
  ) async throws {
    await #expect {
      try await lab.migrate("transform sql { UPDATE $Thing SET \(column) = \(value) WHERE $Thing.id = 2 }")
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, "transform sql", let reason) = error else { return false }
      return reason.contains("1 of 2 values of Thing.\(column.replacing("_id", with: ""))")
        && reason.contains(column == "id" ? "row -5" : "row 2")
    }
    #expect(try lab.isSound())
  }

  @Test(arguments: [
    "retype Thing.name to int using ($Thing.name)", "retype Thing.name to uuid using ('x' || $Thing.name)",
    "retype Thing.count to int8 using ($Thing.count * 100)",
    "seed { INSERT INTO $Thing VALUES (3, 1, 0, 0, 'no', 0, 0, '1', 'c', x'', 0, 'k', 'l', 'e', NULL) }",
  ])
  func `the values of expressions and seeds are checked like those of transforms`(_ step: String) async throws
  {
    await #expect {
      try await lab.migrate(step)
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, _, let reason) = error else { return false }
      return reason.contains(" values of Thing.") && reason.contains(#/ (is|are) invalid \(expected: /#)
    }
  }

  @Test(arguments: [1, 65_536, 65_537, 70_000])
  func `a wrong value is found in every slice of a copy`(_ row: Int) async throws {
    let many =
      "INSERT INTO Thing(id, flag, small, count, price, name, bytes, key, link, extra) WITH RECURSIVE n(i) AS (SELECT 1 "
      + "UNION ALL SELECT i + 1 FROM n LIMIT 70000) SELECT i, 1, 1, i, '1', 'a', x'', '0F8FAD5B-D9CB-469F-A165-70867728950E', "
      + "'a', '1' FROM n"
    let lab = try await MigrationLab(Self.base, fill: [many])
    await #expect {
      try await lab.migrate(
        "retype Thing.count to int16 using (CASE $Thing.id WHEN \(row) THEN 40000 ELSE 1 END)")
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, _, let reason) = error else { return false }
      return reason.contains("1 of 70000 values of Thing.count is invalid (expected: int16): row \(row)")
    }
    #expect(try lab.isSound())
  }

  @Test(
    .enabled(if: Engine.current.hasWindowFunctions, "older engines have no window functions"),
    arguments: ["row_number() OVER (ORDER BY $Thing.id)", "(1 + count(*) OVER ()) - 1"])
  func `an expression with a window function sees all rows`(_ expression: String) async throws {
    let many =
      "INSERT INTO Thing(id, flag, small, count, price, name, bytes, key, link, extra) WITH RECURSIVE n(i) AS (SELECT 1 "
      + "UNION ALL SELECT i + 1 FROM n LIMIT 70000) SELECT i, 1, 1, i, '1', 'a', x'', '0F8FAD5B-D9CB-469F-A165-70867728950E', "
      + "'a', '1' FROM n"
    let lab = try await MigrationLab(Self.base, fill: [many])
    try await lab.migrate("retype Thing.count to int using (\(expression))")
    #expect(try lab.rows("SELECT max(count) FROM Thing") == [[70000]])
  }

  @Test(arguments: [
    ("(SELECT count(*) OVER () FROM $Dog LIMIT 1)", false),
    ("coalesce( ( /* of Dog */ SELECT count(*) OVER () FROM $Dog LIMIT 1), 0)", false),
    ("coalesce((WITH d AS (SELECT row_number() OVER () AS n FROM $Dog) SELECT max(n) FROM d), 0)", false),
    ("((VALUES (1)) + length('over') /* OVER */)", false), ("(SELECT 1) + count(*) OVER ()", true),
    ("coalesce((SELECT (1)), (row_number() OVER (ORDER BY $Dog.k)))", true),
  ])
  func `in a hierarchy a window over its rows is refused, and one in a subquery is accepted`(
    _ expression: String, _ isRefused: Bool
  ) throws {
    let base =
      "create entity Animal {\n attribute n int\n}\ncreate entity Dog : Animal {\n attribute k int\n}"
    let steps = try [base, "retype Dog.k to int using (\(expression))"].enumerated().map {
      try MigrationStep(number: $0 + 1, name: "s", text: "format: 1\n[up]\n\($1)\n")
    }
    let newer = try #require(Engine(sqliteVersion: "3.45.0"))
    do {
      _ = try MigrationSet(steps).sql(ofStep: 2, on: newer)
      #expect(!isRefused)
    } catch StoreError.migrationFailed(_, _, _, let reason) {
      #expect(isRefused && reason.hasPrefix("OVER would read the rows"))
    }
  }

  @Test func `an expression with another value each time is reported as that, and not with a count`()
    async throws
  {
    let lab = try await MigrationLab(
      "create entity T {\n attribute n int\n}\ncreate entity Log {\n attribute n int optional\n}",
      fill: ["INSERT INTO T(n) VALUES (1)"])
    // A failed statement changes nothing, so `changes()` is another number afterwards.
    let step = """
      transform sql { INSERT INTO $Log ($Log.n) VALUES (1), (2) }
      retype T.n to int using (CASE WHEN changes() > 0 THEN NULL ELSE 1 END)
      """
    await #expect {
      try await lab.migrate(step)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.hasPrefix("an expression returned NULL for T.n")
        && reason.contains("the same value for a row each time")
    }
    #expect(try lab.isSound())
  }

  @Test func `an aggregate over all rows is refused, however many rows there are`() async throws {
    for rows in [[], ["INSERT INTO T(n) VALUES (1)"], ["INSERT INTO T(n) VALUES (1), (2)"]] {
      let lab = try await MigrationLab("create entity T {\n attribute n int\n}", fill: rows)
      await #expect {
        try await lab.migrate("retype T.n to int using (max($T.n))")
      } throws: { error in
        guard case StoreError.migrationFailed(2, _, "retype T.n to int using (max($T.n))", let reason) = error
        else { return false }
        return reason.contains("over all rows") && reason.contains("(SELECT max(")
      }
      try await lab.migrate("retype T.n to int using ((SELECT max($T.n) FROM $T))")
    }
  }

  @Test func `NULL for a required attribute is refused by a rehearsal and by the step`() async throws {
    let step = "retype Thing.count to int using (nullif($Thing.count, 6))"
    await #expect { try await lab.refuse(step) } throws: { error in
      guard case StoreError.rowsRefused(2, _, step, let reason) = error else { return false }
      return reason.contains("1 object would have NULL in Thing.count, which is required")
        && reason.contains("(row 2)")
    }
  }

  @Test(
    .enabled(if: Engine.current.hasWindowFunctions, "older engines have no window functions"))
  func `NULL of a window function is refused, and so is a window in a hierarchy`() async throws {
    await #expect {
      try await lab.migrate("retype Thing.count to int using (lag($Thing.count) OVER (ORDER BY $Thing.id))")
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.contains("1 object would have NULL in Thing.count") && reason.contains("(row 1)")
    }
    let hierarchy = try await MigrationLab(
      "create entity Animal {\n attribute n int\n}\ncreate entity Dog : Animal {\n attribute k int\n}")
    await #expect {
      try await hierarchy.migrate("retype Dog.k to int using (row_number() OVER ())")
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, _, let reason) = error else { return false }
      return reason.hasPrefix("OVER would read the rows of all entities")
    }
  }

  @Test(arguments: ["9223372036854775807", "1 << 62", "0", "-5"])
  func `an invalid row version is reported, and a write of the row does not crash`(_ version: String)
    async throws
  {
    await #expect {
      try await lab.migrate("transform sql { UPDATE $Thing SET _version = \(version) WHERE $Thing.id = 2 }")
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, "transform sql", let reason) = error else { return false }
      return reason.contains("1 of 2 values of Thing._version is invalid (expected: version): row 2")
    }
    try lab.open().executeScript("UPDATE Thing SET _version = \(version) WHERE id = 2")
    let store = try await Store.open(at: lab.url, key: testKey)
    #expect(
      try await store.verify() == ["1 of 2 values of Thing._version is invalid (expected: version): row 2"])
    // A conflict, or a row with another version, but never a crash.
    try? await store.write { try $0.fetch(entity: "Thing").where("id == 2").first()?["name"] = "new" }
    store.close()
  }

  @Test func `values of the right type are accepted in whichever form they are written`() async throws {
    try await lab.migrate(
      """
      transform sql { UPDATE $Thing SET $Thing.weight = 3, $Thing.born = 5, $Thing.count = '17', $Thing.price = 12 }
      transform sql { UPDATE $Thing SET $Thing.name = 'Müller ' || char(128512) || char(0) }
      retype Thing.small to string
      retype Thing.count to decimal
      """)
    #expect(try lab.rows("SELECT small, count FROM Thing ORDER BY id") == [["-128", "17"], ["127", "17"]])
    #expect(try lab.isSound())
  }

  @Test(arguments: ["", "-", ".5", "1.", "1.2.3", "+1", "1e3", " 1", "--1", "٣", "0x1", "nan"])
  func `a decimal has digits, with a point between them and a minus sign before them`(_ text: String)
    async throws
  {
    try await lab.migrate("transform sql { UPDATE $Thing SET $Thing.price = '-007.50' }")
    #expect(try lab.rows("SELECT DISTINCT price FROM Thing") == [["-007.50"]])
    try lab.open().execute("UPDATE Thing SET price = ? WHERE id = 1", [.text(text)])
    let connection = try lab.open()
    #expect(
      try StoreInfo(connection).valueFindings(connection) == [
        "1 of 2 values of Thing.price is invalid (expected: decimal): row 1"
      ])
  }

  @Test func `a backfill value must be of the attribute's type`() async throws {
    try await lab.migrate("make Thing.count optional")
    for (step, word) in [
      ("make Thing.weight required filling \"abc\"", "is not a valid double"),
      ("make Thing.small required filling 300", "is not a valid int8"),
      ("make Thing.key required filling \"abc\"", "is not a valid uuid"),
    ] {
      #expect {
        _ = try lab.set([Self.base, "make Thing.count optional", step]).model(at: 3)
      } throws: { "\($0)".contains(word) }
    }
    _ = try lab.set([Self.base, "make Thing.weight required filling 3"]).model(at: 2)
  }

  @Test func `verify finds values that were written from outside, also unknown enum cases`() async throws {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      for _ in 0..<3 {
        context.insert(Sample.self) {
          $0.mood = .cross
          $0.data = Data()
          (
            $0.flag, $0.int, $0.int8, $0.int16, $0.int32, $0.int64, $0.uint8, $0.uint16, $0.uint32, $0.float,
            $0.double, $0.decimal
          ) = (true, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
          ($0.string, $0.date, $0.uuid) = ("s", .now, UUID())
          $0.url = URL(fileURLWithPath: "/tmp")
        }
      }
    }
    #expect(try await temporary.store.verify() == [])
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    try StoreInfo.prepare(connection)
    try connection.execute("UPDATE Sample SET mood = 'gloomy', int = 'seven' WHERE id = 2")
    #expect(
      Set(try await temporary.store.verify()) == [
        "1 of 3 values of Sample.int is invalid (expected: int): row 2",
        "1 of 3 values of Sample.mood is invalid (expected: string): row 2",
      ])
    // Without classes the cases are unknown.
    #expect(
      try StoreInfo(connection).valueFindings(connection) == [
        "1 of 3 values of Sample.int is invalid (expected: int): row 2"
      ]
    )
  }

  @Test func `an unreadable value does not fail a whole read, and is reported`() async throws {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      for title in ["a", "b", "c"] { context.insert(Book.self) { $0.title = title } }
    }
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    try StoreInfo.prepare(connection)
    try connection.execute("UPDATE Book SET year = 'x' WHERE id = 2")
    let (years, told) = try await temporary.store.read { context in
      let books = try context.fetch(Book.self).sorted(by: \.title).all()
      return ((books + books).map(\.year), context.unreadableValues)
    }
    #expect(years == [2000, 0, 2000, 2000, 0, 2000])
    #expect(told == [.unreadableValue(entity: "Book", property: "year", rowID: 2, expected: "int")])
    try await temporary.store.write { context in
      for book in try context.fetch(Book.self).all() { book.title += "\(book.year)" }
    }
  }
}
