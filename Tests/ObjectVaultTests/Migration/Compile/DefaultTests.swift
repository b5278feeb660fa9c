// A default must be a value of its type, by one rule for classes, files and backfill values.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Gauge: ManagedObject {
  @Attribute var ratio: Float = 0.1
  @Attribute var limit: Float = 0.3
  @Attribute var exact: Double = 0.1
}
private final class Unlimited: ManagedObject {
  @Attribute var limit: Double = .infinity
  @Attribute var low: Float = -.infinity
  @Attribute var text: String = "a\0b"
  @Attribute var fine: String = "a\r\nb\rc"
}

@Suite struct Defaults {
  let lab: MigrationLab
  init() async throws {
    lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
  }

  static let wrong: [(AttributeType, DefaultValue, String)] = [
    (.decimal, .text("abc"), "\"abc\""), (.decimal, .text("1e5"), "\"1e5\""), (.decimal, .real(0.5), "0.5"),
    (.int8, .integer(1000), "1000"), (.uint8, .integer(-1), "-1"), (.bool, .integer(7), "7"),
    (.int, .real(1.5), "1.5"),
    (.int, .text("1"), "\"1\""), (.uuid, .text("nope"), "\"nope\""),
    (.uuid, .text("0f8fad5b-d9cb-469f-a165-70867728950e"), "\"0f8fad5b-d9cb-469f-a165-70867728950e\""),
    (.json, .text("{"), "\"{\""), (.url, .text(""), "\"\""), (.float, .real(1e300), "1e+300"),
    (.string, .integer(5), "5"), (.data, .text("x"), "\"x\""), (.date, .text("2001"), "\"2001\""),
  ]

  @Test(arguments: wrong.indices)
  func `a default of another type is refused wherever it is given`(_ index: Int) throws {
    let (type, value, text) = Self.wrong[index]
    let reason = "is not a valid \(type.rawValue)"
    for step in [
      "add attribute User.a \(type.rawValue) default \(text)",
      "create entity E {\n attribute a \(type.rawValue) default \(text)\n}",
    ] {
      #expect {
        _ = try lab.set([step])
      } throws: { error in
        guard case StoreError.migrationSyntax(let fault) = error else { return false }
        return "\(fault)".contains(reason)
      }
    }
    for step in ["set default of User.a to \(text)", "make User.a required filling \(text)"] {
      let set = try lab.set([
        MigrationOperations.base, "add attribute User.a \(type.rawValue) optional", step,
      ])
      #expect {
        _ = try set.model(at: 3)
      } throws: { error in
        guard case StoreError.migrationFailed(3, _, let operation, let text) = error else { return false }
        return operation == step && text.contains(reason)
      }
    }
    let entity = EntityDescription(
      name: "E", attributes: [AttributeDescription(name: "a", type: type, defaultValue: value)])
    #expect {
      try Schema(entities: [entity]).validate()
    } throws: { error in
      guard case StoreError.invalidSchema(let faults) = error,
        case .badDefault("E", "a", let text)? = faults.first
      else { return false }
      return text.contains(reason)
    }
  }

  @Test func `a default of the right type is accepted`() async throws {
    try await lab.migrate(
      """
      add attribute User.price decimal default 5
      add attribute User.level int8 default -128
      add attribute User.flag bool default true
      add attribute User.key uuid default "0F8FAD5B-D9CB-469F-A165-70867728950E"
      add attribute User.extra json default "{\\"a\\":[1]}"
      add attribute User.ratio float default 1
      add attribute User.born date default 0
      set default of User.price to 7
      """)
    #expect(try lab.isSound())
    #expect(
      try StoreInfo(lab.open()).valueFindings(lab.open()) == []
        && lab.rows("SELECT price, ratio FROM User WHERE id = 1") == [["5", 1.0]])
  }

  @Test func `an integer is the same default of a decimal or double, whichever operation gives it`() throws {
    func model(_ steps: String) throws -> Schema {
      try lab.set(["create entity E {\n}\n\(steps)"]).model(at: 1)
    }
    for (type, value) in [("decimal", DefaultValue.text("5")), ("double", .real(5))] {
      let added = try model("add attribute E.p \(type) default 5")
      #expect(added.entity(named: "E")?.attribute(named: "p")?.defaultValue == value)
      #expect(try model("add attribute E.p \(type)\nset default of E.p to 5") == added)
      #expect(try model("add attribute E.p int default 5\nretype E.p to \(type) using ($E.p)") == added)
      let described = AttributeDescription(
        name: "p", type: AttributeType(rawValue: type) ?? .int, defaultValue: .integer(5))
      #expect(Schema(entities: [EntityDescription(name: "E", attributes: [described])]) == added)
    }
    let small = try model("add attribute E.p int default 500\nretype E.p to int8 using ($E.p % 100)")
    #expect(small.entity(named: "E")?.attribute(named: "p")?.defaultValue == nil)
  }

  @Test func `a default and a backfill value of a float are the nearest float`() async throws {
    let schema = Schema { Entity(Gauge.self) }
    let steps = [
      "create entity Gauge {\n attribute ratio float default 0.1\n}",
      """
      add attribute Gauge.limit float optional
      make Gauge.limit required filling 0.3
      set default of Gauge.limit to 0.3
      add attribute Gauge.exact double default 0.1
      """,
    ]
    let set = try lab.set(steps)
    #expect(try set.model(at: 2) == schema)
    // The checksum covers the text of the file.
    #expect(set.steps[0].canonicalText.contains("default 0.1\n"))
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try await Store.create(at: url, key: testKey, migrations: lab.set([steps[0]]))
    let connection = try Connection.open(url.path, key: testKey)
    try connection.execute("INSERT INTO Gauge(id) VALUES (1)")
    connection.close()
    let store = try await Store.open(at: url, key: testKey, schema: schema, migrations: .set(set))
    let found = try await store.read { context in
      try context.fetch(Gauge.self).where("ratio == %@ AND limit == %@", Float(0.1), Float(0.3))
        .where("exact == %@", 0.1).count()
    }
    #expect(found == 1)
    store.close()
  }

  @Test func `a store of an earlier version with the float default of its file still opens`() async throws {
    let set = try lab.set(["create entity Gauge {\n attribute ratio float default 0.1\n}"])
    let next = try lab.set([set.steps[0].canonicalText, "add attribute Gauge.more int optional"])
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try await Store.create(at: url, key: testKey, migrations: set)
    let connection = try Connection.open(url.path, key: testKey)
    // As earlier versions wrote it.
    try connection.executeScript(
      """
      DROP TABLE Gauge;
      CREATE TABLE Gauge (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, ratio REAL NOT NULL DEFAULT 0.1)
      """)
    connection.close()
    #expect(try await Store.plan(at: url, key: testKey, migrations: next).drift.isEmpty)
    #expect(try await Store.migrate(at: url, key: testKey, migrations: next).steps == [2])
  }

  @Test func `a Swift default without an SQL constant is a fault that names it, and can be JSON`()
    async throws
  {
    let schema = Schema { Entity(Unlimited.self) }
    #expect {
      try schema.validate()
    } throws: { error in
      guard case StoreError.invalidSchema(let faults) = error else { return false }
      let names = faults.map { if case .badDefault("Unlimited", let name, _) = $0 { name } else { "" } }
      return names == ["limit", "low", "text"]
    }
    await #expect(throws: StoreError.self) { _ = try await TemporaryStore(schema) }
    #expect(try Schema(json: schema.json) == schema)
  }

  @Test func `line ends in a default are written so that the file can be parsed again`() throws {
    let entity = EntityDescription(
      name: "E",
      attributes: [AttributeDescription(name: "a", type: .string, defaultValue: .text("a\r\nb\rc\nd\"\\n"))])
    let step = try #require(try MigrationSet.creating(Schema(entities: [entity])).steps.first)
    #expect(try MigrationStep(number: 1, name: step.name, text: step.text).operations == step.operations)
  }
}
