// Rules for views, triggers and indexes in SQL, and their equality in files, in Swift and in JSON.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Reader: ManagedObject {
  @Attribute var name: String
  @Attribute var age: Int = 0
}

@Suite(.tags(.slow)) struct RawObjectRules {
  static let base = "create entity Reader {\n attribute age int default 0\n attribute name string\n}"
  static let adults = RawObject.view(
    "Adults", sql: "SELECT $Reader.id, $Reader.name\r\n  FROM $Reader -- those\n  WHERE   $Reader.age >= 18;")

  private func reason(_ steps: String..., model: Bool = true) async throws -> String {
    let set = try DowngradeLab.set([Self.base] + steps)
    do {
      if model { _ = try set.model(at: set.version) }
      _ = try await DowngradeLab(set, at: set.version)
    } catch StoreError.migrationFailed(_, _, let operation, let reason) { return "\(operation): \(reason)" }
    return "nothing is wrong"
  }

  // MARK: Refusals of the model

  @Test(arguments: [
    ("drop attribute Reader.age", "the view Adults uses it; drop the view first"),
    ("drop entity Reader", "the view Adults uses it; drop the view first"),
    ("create raw view Adults { SELECT 1 }", "Adults already exists"),
    ("drop raw view Adult", "there is no raw view Adult; did you mean \"Adults\"?"),
    ("drop raw trigger Adults", "Adults is a view; write: drop raw view Adults"),
    ("create raw view More { SELECT $Reader.nam FROM $Reader }", "did you mean \"$Reader.name\"?"),
    ("create raw view vault_more { SELECT 1 }", "this name cannot be used"),
    ("create raw view sqlite_more { SELECT 1 }", "this name cannot be used"),
    ("create raw view Reader { SELECT 1 }", "would have the name Reader in the file"),
    (
      "add attribute Reader.b int indexed\ncreate raw index ix_Reader_b { ON $Reader (1) }",
      "would have the name ix_Reader_b"
    ),
  ])
  func `a step that conflicts with a raw object is refused with the reason`(_ step: String, _ reason: String)
    async throws
  {
    let adults = "create raw view Adults { SELECT $Reader.name FROM $Reader WHERE $Reader.age >= 18 }"
    let found = try await self.reason(adults, step)
    #expect(found.contains(reason), "\(found)")
  }

  @Test func `a property can be dropped after the raw object that names it`() async throws {
    let adults = "create raw view Adults { SELECT $Reader.name FROM $Reader WHERE $Reader.age >= 18 }"
    let dropped = "drop raw view Adults\ndrop attribute Reader.age"
    #expect(try await reason(adults, dropped) == "nothing is wrong")
    #expect(
      try await reason(adults, dropped + "\ncreate raw view Adults { SELECT $Reader.name FROM $Reader }")
        == "nothing is wrong")
  }

  @Test func `a name in double quotes is also found through the views that a raw object names`() async throws
  {
    for view in ["SELECT * FROM $Reader", "SELECT $Reader.name FROM $Reader", "SELECT r.* FROM Between AS r"]
    {
      let between = view.contains("Between") ? "create raw view Between { SELECT * FROM $Reader }\n" : ""
      let objects =
        between
        + "create raw view Everyone { \(view) }\ncreate raw view Names { SELECT \"name\" FROM Everyone }"
      let found = try await reason(objects, "rename attribute Reader.name -> title")
      #expect(found.contains("the view Names has \"name\" in double quotes"), "\(view): \(found)")
    }
    // A view that has the name as an alias also has it afterwards.
    let given = "create raw view Everyone { SELECT $Reader.name AS \"name\" FROM $Reader }\n"
    #expect(
      try await reason(
        given + "create raw view Names { SELECT \"name\" FROM Everyone }",
        "rename attribute Reader.name -> title")
        == "nothing is wrong")
  }

  @Test func `a name cannot change its meaning while a raw object uses it`() async throws {
    let more =
      "add relationship Reader.next -> Reader\ncreate raw view Next { SELECT $Reader.next FROM $Reader }"
    let found = try await reason(more, "make Reader.next many")
    #expect(found.contains("the view Next uses $Reader.next, which gets another meaning"), "\(found)")
  }

  @Test(arguments: [
    ("create raw view V { DELETE FROM x }", "must begin with SELECT or VALUES or WITH"),
    ("create raw view V { SELECT 1; DROP TABLE x }", "one statement"),
    ("create raw index I { (name) }", "must begin with ON"),
    ("create raw trigger T { ON $Reader BEGIN SELECT 1; END }", "must begin with AFTER"),
    ("create raw trigger T { AFTER INSERT ON $Reader }", "BEGIN … END"),
    ("create raw view V { SELECT 'a }", "not closed"),
    ("create raw table T { (a) }", "\"table\" is not one of view, trigger, index"),
    ("create raw view { SELECT 1 }", "name is missing"),
    ("create raw view V unique { SELECT 1 }", "{ is missing"), ("create raw view V", "{ is missing"),
  ])
  func `a raw object whose SQL is invalid is a syntax error of the file`(_ text: String, _ reason: String) {
    #expect {
      try MigrationStep(number: 1, name: "a", text: "format: 1\n[up]\n\(text)\n")
    } throws: { error in
      guard case StoreError.migrationSyntax(let error) = error else { return false }
      return "\(error.reason) \(error.hint)".contains(reason)
    }
  }

  // MARK: Refusals of the engine

  @Test(arguments: [
    "create raw view V { SELECT * FROM vault_meta }", "create raw view V { SELECT sql FROM sqlite_master }",
    "create raw view V { SELECT nothing FROM $Reader }", "create raw view V { SELECT 1 FROM nowhere }",
    "create raw view V { SELECT vault_fold($Reader.name, 1) FROM $Reader }",
    "create raw view V { SELECT ?1 }",
    "create raw view V { SELECT load_extension('x') }",
    "create raw index I { ON vault_meta (key) }",
    "create raw index I { ON $Reader (vault_fold($Reader.name, 1)) }",
    "create raw index I { ON $Reader ($Reader.name); DROP TABLE $Reader }",
    "create raw trigger T { AFTER INSERT ON $Reader BEGIN DELETE FROM vault_meta; END }",
    "create raw trigger T { AFTER INSERT ON vault_meta BEGIN SELECT 1; END }",
    "create raw trigger T { AFTER INSERT ON $Reader BEGIN UPDATE $Reader SET nothing = 1; END }",
    "create raw trigger T { AFTER INSERT ON $Reader BEGIN SELECT 1; END; CREATE TRIGGER T2 AFTER INSERT ON $Reader BEGIN SELECT 1; END }",
    "create raw trigger T { AFTER DELETE ON $Reader BEGIN INSERT INTO sqlite_master (sql) VALUES (''); END }",
  ])
  func `raw SQL beyond what is permitted is refused, in migrated stores and in new ones`(_ step: String)
    async throws
  {
    // Some of them are refused as text already.
    guard let set = try? DowngradeLab.set([Self.base, step]) else { return }
    let lab = try await DowngradeLab([Self.base, "add attribute Reader.b int optional"])
    let before = try lab.rows("SELECT name, sql FROM sqlite_master ORDER BY name")
    var isRefused = false
    do {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set, makesBackups: false)
    } catch StoreError.migrationFailed { isRefused = true }
    #expect(isRefused, "\(step)")
    #expect(try lab.rows("SELECT name, sql FROM sqlite_master ORDER BY name") == before)
    await #expect(throws: StoreError.self) { _ = try await DowngradeLab(set, at: 2) }
  }

  @Test func `a plain name does not follow a renaming, and the error names the form that does`() async throws
  {
    let lab = try await DowngradeLab(
      [
        Self.base, "create raw view Plain { SELECT name FROM Reader }",
        "rename attribute Reader.name -> title",
      ], at: 2)
    await #expect { try await lab.up() } throws: {
      "\($0)".contains("names after a dollar sign follow renamings")
    }
  }

  @Test(arguments: [
    ("INSERT INTO $Log($Log.text) VALUES (NEW.$Reader.name)", true),
    ("SELECT 1; REPLACE INTO log(text) VALUES ('')", true),
    ("INSERT OR IGNORE INTO [Log](text) SELECT 'update; insert into'", true),
    ("UPDATE $Log SET $Log.text = replace($Log.text, 'insert into Log', NEW.$Reader.name)", false),
    ("DELETE FROM $Log WHERE $Log.text = '; INSERT INTO Log'", false),
    ("INSERT OR IGNORE INTO $Reader.logs($Reader.logs.Reader, $Reader.logs.Log) VALUES (NEW.id, 1)", false),
  ])
  func `a trigger cannot insert objects, because it has no ids for them`(
    _ statement: String, _ isRefused: Bool
  ) async throws {
    let log =
      "create entity Log {\n attribute text string\n}\nadd relationship Reader.logs -> Log many"
    let trigger = "AFTER UPDATE ON $Reader WHEN OLD.age <> 0 BEGIN \(statement); END"
    let found = try await reason(log, "create raw trigger T { \(trigger) }")
    if isRefused {
      #expect(
        found.contains("it inserts into Log") && found.contains("UPDATE an existing row"), "\(found)")
    } else {
      #expect(found == "nothing is wrong")
    }
    let set = try DowngradeLab.set([Self.base, log])
    let schema = Schema(entities: try set.model(at: 2).entities, rawObjects: [.trigger("T", sql: trigger)])
    #expect(((try? schema.validate()) == nil) == isRefused)
  }

  @Test(arguments: [
    ("SELECT \"name\" FROM $Reader", "rename attribute Reader.name -> title", "$Reader.name"),
    ("SELECT upper(\"NAME\") FROM $Reader", "drop attribute Reader.name", "$Reader.name"),
    ("SELECT \"next_id\" FROM $Reader", "rename relationship Reader.next -> other", "$Reader.next"),
    ("SELECT $Reader.name AS \"name\" FROM $Reader", "rename attribute Reader.name -> title", nil),
    ("SELECT 'name', \"age\" FROM $Reader", "rename attribute Reader.name -> title", nil),
  ])
  func `a renaming or a drop must not turn a name in double quotes into a text`(
    _ sql: String, _ step: String, _ remedy: String?
  ) async throws {
    let found = try await reason(
      "add relationship Reader.next -> Reader", "create raw view Quoted { \(sql) }", step)
    if let remedy {
      #expect(
        found.contains("the view Quoted has") && found.contains("create it with \(remedy)"), "\(found)")
    } else {
      #expect(found == "nothing is wrong")
    }
  }

  // MARK: Equality

  @Test func `lines, comments and a last semicolon do not affect the equality of raw objects`() throws {
    let other = RawObject.view(
      "Adults", sql: "SELECT $Reader.id, $Reader.name FROM $Reader WHERE $Reader.age >= 18")
    #expect(Self.adults == other && Self.adults.hashValue == other.hashValue)
    #expect(RawObject.view("A", sql: "SELECT ' a  b '") != RawObject.view("A", sql: "SELECT ' a b '"))
    #expect(
      RawObject.index("A", unique: true, sql: "ON $Reader (1)") != RawObject.index("A", sql: "ON $Reader (1)")
    )
    let (one, two) = (Schema(rawObjects: [Self.adults]), Schema(rawObjects: [other]))
    #expect(one == two && one.meaningHash == two.meaningHash && one != Schema())
    #expect(try Schema(json: one.json) == one)
  }

  @Test func `the JSON of a model without raw objects does not mention them`() throws {
    let schema = Schema { Entity(Reader.self) }
    #expect(!schema.json.contains("rawObjects"))
    #expect(try Schema(json: schema.json).rawObjects.isEmpty)
    let more = Schema {
      Entity(Reader.self); Self.adults;
      RawObject.trigger("t", sql: "AFTER INSERT ON $Reader BEGIN SELECT 1; END")
    }
    #expect(SchemaTexts().meaningHash(of: more) == more.meaningHash)
    #expect(
      SchemaTexts().meaningHash(of: Schema(rawObjects: [Self.adults]))
        == Schema(rawObjects: [Self.adults]).meaningHash)
    #expect(SchemaTexts().meaningHash(of: schema) == schema.meaningHash)
  }

  @Test func `validating a schema reports all of its invalid raw objects`() {
    let schema = Schema {
      Entity(Reader.self)
      RawObject.view("Bad", sql: "SELECT $Reader.nothing FROM $Reader")
      RawObject.index("vault_i", sql: "ON $Reader ($Reader.name)")
    }
    #expect {
      try schema.validate()
    } throws: { error in
      guard case StoreError.invalidSchema(let faults) = error else { return false }
      return faults.count == 2 && "\(error)".contains("view Bad") && "\(error)".contains("index vault_i")
    }
  }

  @Test func `a proposal creates, replaces and drops raw objects`() async throws {
    let steps = try DowngradeLab.set([Self.base])
    let schema = Schema {
      Entity(Reader.self); Self.adults
    }
    let first = try steps.proposal(for: schema)
    #expect(first.lines == ["create \(Self.adults)"] && first.losses.isEmpty && first.notes.isEmpty)
    let two = try DowngradeLab.set([Self.base, first.lines.joined(separator: "\n")])
    #expect(try two.model(at: 2) == schema && two.proposal(for: schema).operations.isEmpty)
    let other = Schema {
      Entity(Reader.self); RawObject.view("Adults", sql: "SELECT 1")
    }
    #expect(
      try two.proposal(for: other).lines == [
        "drop raw view Adults", "create \(RawObject.view("Adults", sql: "SELECT 1"))",
      ])
    #expect(try two.proposal(for: Schema { Entity(Reader.self) }).lines == ["drop raw view Adults"])
    // A raw object follows a renaming without an operation of its own.
    let renamed = Schema(
      entities: [
        EntityDescription(
          name: "Reader",
          attributes: [
            AttributeDescription(name: "age", type: .int, defaultValue: .integer(0)),
            AttributeDescription(name: "title", type: .string),
          ])
      ],
      rawObjects: [
        .view("Adults", sql: "SELECT $Reader.id, $Reader.title FROM $Reader WHERE $Reader.age >= 18")
      ])
    let proposal = try two.proposal(
      for: renamed, renaming: [.property(entity: "Reader", "name", to: "title")])
    #expect(proposal.lines == ["rename attribute Reader.name -> title"])
  }

  @Test func `renamings change the names of links in raw SQL, and no texts or dollar signs`() throws {
    let base = """
      create entity A {
          attribute a string
          relationship peers -> A many inverse A.others
          relationship others -> A many inverse A.peers
          relationship bs -> B many
      }
      create entity B {
          attribute b string
      }
      create raw view All {
          SELECT $A.bs.A, $A.bs.B, $A.$A.a, '$A.a', "$A", $A.* FROM $A, $A.bs, $A.peers
          WHERE $A.peers.others = 1 AND $A.peers.peers = 2 AND $A.a <> '$$'
      }
      """
    let set = try DowngradeLab.set([
      base,
      "rename entity B -> Bee\nrename attribute A.a -> x\nrename relationship A.peers -> friends\nrename entity A -> Ay",
    ])
    let view = try #require(try set.model(at: 2).rawObject(named: "All"))
    #expect(
      view
        == .view(
          "All",
          sql:
            "SELECT $Ay.bs.Ay, $Ay.bs.Bee, $Ay.$Ay.x, '$A.a', \"$A\", $Ay.* FROM $Ay, $Ay.bs, $Ay.friends WHERE $Ay.friends.others = 1 AND $Ay.friends.friends = 2 AND $Ay.x <> '$$'"
        ),
      "\(view)")
  }

  // MARK: Saves

  @Test func `objects are saved beside triggers, and the error of a trigger is reported`() async throws {
    let schema = Schema {
      Entity(Reader.self)
      RawObject.trigger(
        "grown", sql: "AFTER INSERT ON $Reader BEGIN UPDATE $Reader SET $Reader.age = $Reader.age + 1; END")
      RawObject.trigger(
        "noted",
        sql:
          "AFTER UPDATE OF $Reader.age ON $Reader WHEN NEW.$Reader.age = 100 BEGIN UPDATE $Reader SET $Reader.name = $Reader.name || '!' WHERE $Reader.id <> NEW.$Reader.id; END"
      )
      RawObject.trigger(
        "noNobody",
        sql:
          "BEFORE UPDATE ON $Reader WHEN NEW.$Reader.name = '' BEGIN SELECT RAISE(ABORT, 'a name is missing'); END"
      )
      Self.adults
    }
    let folder = try TemporaryFolder()
    let store = try await Store.open(
      at: folder.url.appendingPathComponent("a.store"), key: testKey, schema: schema,
      migrations: .creatingSchema)
    try await store.write { context in
      for number in 0..<20 {
        context.insert(Reader.self) {
          $0.name = "n\(number)"
          $0.age = number
        }
      }
    }
    try await store.write { context in
      let first = try #require(
        try context.fetch(Reader.self).where(#Predicate { $0.name == "n0" }).all().first)
      #expect(first.age == 20)
      first.age = 100
    }
    await #expect {
      try await store.write { context in
        for reader in try context.fetch(Reader.self).all() { reader.name = "" }
      }
    } throws: { "\($0)".contains("a name is missing") }
    store.close()
    let connection = try Connection.open(store.url.path, key: testKey)
    #expect(try connection.rows("SELECT count(*), max(age) FROM Reader") == [[20, 100]])
    // A trigger changes further rows during the update. Only the row that the save wrote counts: it is no
    // conflict.
    #expect(try connection.rows("SELECT count(*) FROM Reader WHERE name LIKE '%!'") == [[19]])
    #expect(try connection.rows("SELECT count(*) FROM Adults") == [[20]])
  }

  @Test(arguments: [
    "create raw trigger keep { BEFORE DELETE ON $A WHEN $A.a = 3 BEGIN SELECT RAISE(ABORT, 'stays'); END }",
    "create raw view V { SELECT $A.id, $C.size FROM $A }",
    "create raw index I { ON $A ($A.a) WHERE $C.size > 3 }",
  ])
  func `a column of a table that is not read is an error in every raw object, and no text`(_ step: String)
    async throws
  {
    let base = "create entity A {\n attribute a int\n}\ncreate entity C {\n attribute size int\n}"
    let set = try MigrationSet([
      MigrationStep(number: 1, name: "a", text: "format: 1\n[up]\n\(base)\n"),
      MigrationStep(number: 2, name: "b", text: "format: 1\n[up]\n\(step)\n"),
    ])
    let faults = try set.compileFaults()
    #expect(faults.count == 1 && faults[0].contains("no such column"), "\(faults)")
    if !step.contains("index") {
      let folder = try TemporaryFolder()
      await #expect {
        try await Store.create(
          at: folder.url.appendingPathComponent("a.store"), key: testKey, migrations: set)
      } throws: { "\($0)".contains("no such column") }
    }
  }
}
