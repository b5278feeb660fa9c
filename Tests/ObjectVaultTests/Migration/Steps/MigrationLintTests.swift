// Lint rules: each rule reports its cases, and accepts steps that follow its advice.

import Foundation
import Migrations
import ObjectVault
import Testing

private final class Titled: ManagedObject {
  @Attribute(.renamed(from: "name")) var title: String
  @ToOne(.renamed(from: "next")) var later: Titled?
}

@Suite struct MigrationLints {
  static let base = """
    create entity U {
        attribute s string
        attribute n int optional
        attribute y int default 7
        relationship vs -> V many inverse V.u
    }
    create entity V {
        relationship u -> U inverse U.vs
    }
    """

  private func rules(_ up: String, head: String = "", down: String? = nil) throws -> [MigrationFinding.Rule] {
    let text = "format: 1\n\(head)\n[up]\n\(up)\n" + (down.map { "[down]\n\($0)\n" } ?? "")
    let set = try MigrationSet([
      MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(Self.base)\n"),
      MigrationStep(number: 2, name: "step", text: text),
    ])
    let findings = try set.findings()
    #expect(findings.allSatisfy { $0.step == 2 && $0.file == "0002_step.migration" })
    #expect(try set.findings(after: 2).isEmpty)
    return findings.map(\.rule).filter { $0 != .irreversible && $0 != .rebuildsTable }
  }

  static let guilty: [(MigrationFinding.Rule, String)] = [
    (.dropsEntity, "drop relationship U.vs\ndrop entity V"), (.dropsProperty, "drop attribute U.n"),
    (.narrows, "retype U.y to int8 using ($U.y)"), (.requiresWithoutFilling, "make U.n required"),
    (.requiresWithoutFilling, "add attribute U.a int"),
    (.requiresWithoutFilling, "add relationship U.v -> V required"),
    (.uniqueOnExisting, "add index U(s) unique"),
    (.uniqueOnExisting, "add attribute U.a int unique default 1"),
    (.uniqueOnExisting, "add attribute U.a int unique filling 1"),
    (.mayBeRenaming, "drop attribute U.s\nadd attribute U.t string default \"\""),
    (.transformsUnchecked, "transform sql { UPDATE $U SET $U.y = 1 }"),
    (.severalToOne, "make U.vs one"), (.severalToOne, "make U.vs one picking (id)"),
    (.rawNamesPlain, "create raw view Few { SELECT $U.s FROM U }"),
    (.rawNamesPlain, "create raw view Few { SELECT $U.s FROM u }"),
    (.rawNamesPlain, "create raw view Few { SELECT $U.s FROM \"U\" }"),
    (.rawNamesPlain, "create raw view Few { SELECT $U.s FROM main.[u] AS x }"),
    (
      .triggerWrites,
      "create raw trigger t { AFTER UPDATE OF y ON $U BEGIN REPLACE INTO x(a) VALUES (1); END }"
    ),
    (
      .triggerWrites,
      "create raw trigger t { AFTER INSERT ON $V BEGIN UPDATE $U SET $U.y = 1 WHERE $U.id = NEW.$V.u; END }"
    ),
    (.uniqueOnExisting, "create raw index i unique { ON $U (lower($U.s)) }"),
    (.requiresWithoutFilling, "rename entity U -> W\nrename entity W -> X\nadd attribute X.a int"),
  ]

  @Test(arguments: guilty) func `each lint rule reports the steps that it is meant for`(
    _ rule: MigrationFinding.Rule, _ up: String
  ) throws {
    let found = try rules(up)
    #expect(found.contains(rule), "\(up): \(found)")
  }

  @Test(arguments: [
    ("add attribute U.a int optional", ""), ("add attribute U.a int default 3", ""),
    ("make U.n required filling 0", ""), ("add attribute U.a int filling 1", ""),
    ("create entity W {\n attribute a int optional unique\n}\nmake W.a required filling 1", ""),
    ("drop attribute U.n", "allow: lossy:U.n"),
    ("rename attribute U.s -> t", ""), ("add index U(s)", ""), ("retype U.n to string", ""),
    ("create entity W {\n attribute a int unique\n relationship u -> U required\n}", ""),
    ("create entity W {\n attribute a int\n}\nadd index W(a) unique", ""),
    (
      "rename entity V -> W\ncreate entity V {\n attribute a int optional\n}\nadd attribute V.b int\nmake V.a required",
      ""
    ),
    (
      "transform sql { UPDATE $U SET $U.y = 1 }\nrequire \"all are 1\" { SELECT count(*) = 0 FROM $U WHERE $U.y <> 1 }",
      ""
    ),
    ("create raw view Few { SELECT $U.s FROM $U WHERE $U.s <> 'U' }", "reader: 1"),
    ("create raw view Few { SELECT u.$U.s FROM $U AS u WHERE u.v <> '' }", "reader: 1"),
    (
      "create raw trigger t { AFTER UPDATE ON $U BEGIN SELECT replace('insert', 'update', 'delete'); END }",
      ""
    ),
    ("create raw index i { ON $U (lower($U.s)) }", "reader: 1"),
    ("create raw trigger t { BEFORE DELETE ON $U BEGIN SELECT RAISE(ABORT, 'no'); END }", ""),
    (
      "create entity W {\n attribute a int\n}\ncreate raw index i unique { ON $W (abs($W.a)) }", ""
    ),
    ("add attribute U.a int optional", "reader: 1"), ("create entity W {\n attribute a int\n}", "reader: 1"),
  ])
  func `a step that follows the advice of the lint rules has no finding`(_ up: String, _ head: String) throws
  {
    #expect(try rules(up, head: head).isEmpty)
  }

  @Test func `a name header that differs from the file's name is a note`() throws {
    let text = "format: 1\nname: towns\n[up]\nadd attribute U.a int optional\n"
    let first = try MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(Self.base)\n")
    for (name, count) in [("towns", 0), ("places", 1)] {
      let set = try MigrationSet([first, MigrationStep(number: 2, name: name, text: text)])
      let found = try set.findings().filter { $0.rule == .namedOtherwise }
      #expect(found.count == count && found.allSatisfy { $0.rule.isNote && $0.text.contains("name: places") })
    }
  }

  @Test(arguments: [("lossy:U.m", "did you mean \"U.n\"?"), ("lossy:Nope", "remove that from the head")])
  func `an allowed loss that does not occur is reported, with advice`(_ word: String, _ advice: String) throws
  {
    let set = try MigrationSet([
      MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(Self.base)\n"),
      MigrationStep(number: 2, name: "step", text: "format: 1\nallow: \(word)\n[up]\ndrop attribute U.n\n"),
    ])
    let found = try set.findings().filter { $0.rule == .allowsNoLoss }
    #expect(found.count == 1 && found[0].text.contains(advice), "\(found)")
  }

  @Test(arguments: [
    "rename attribute U.s -> t", "drop relationship U.vs", "make U.y optional", "add index U(s) unique",
    "create raw index i unique { ON $U (lower($U.s)) }", "add attribute U.a int unique default 1",
    "create raw trigger t { BEFORE INSERT ON $U BEGIN SELECT raise(ABORT, 'no') WHERE NEW.$U.n = 1; END }",
    "create entity W {\n relationship u -> U required\n}",
    "create entity W {\n relationship u -> U\n}\nadd relationship U.ws -> W many inverse W.u on delete deny",
    "set delete rule of U.vs to deny",
  ])
  func `a reader version is reported when its programs cannot handle the change`(_ up: String) throws {
    #expect(try rules(up, head: "reader: 1").contains(.readerTooOld))
    #expect(try !rules(up).contains(.readerTooOld))
  }

  @Test(arguments: [
    "create entity W {\n relationship u -> U\n}", "add relationship U.next -> U",
    "create entity W {\n relationship u -> U required\n}\nadd relationship U.ws -> W many inverse W.u on delete cascade",
    "create entity W {\n attribute n int\n}\ncreate entity X {\n relationship w -> W required\n}",
    "add attribute U.a int unique optional", "add attribute U.a int default 1",
    "create raw trigger t { AFTER INSERT ON $U BEGIN UPDATE $U SET $U.n = 1 WHERE $U.id = NEW.$U.id; END }",
  ])
  func `a reader version is accepted when the change does not affect its programs' writes`(_ up: String)
    throws
  {
    #expect(try !rules(up, head: "reader: 1").contains(.readerTooOld))
  }

  @Test func `lint checks a first step only by rules that need no existing rows`() throws {
    let text = """
      format: 1
      name: other
      [up]
      create entity U {
          attribute n int unique
      }
      create raw view Few { SELECT n FROM U }
      create raw trigger t { AFTER INSERT ON $U BEGIN UPDATE $U SET $U.n = 1; END }
      seed { INSERT INTO $U ($U.n) VALUES (1) }
      """
    let set = try MigrationSet([MigrationStep(number: 1, name: "base", text: text)])
    #expect(try Set(set.findings().map(\.rule)) == [.namedOtherwise, .rawNamesPlain, .triggerWrites])
  }

  @Test(arguments: [
    ("add relationship A.zs -> Z many inverse Z.parts", true),
    ("add relationship A.z -> Z inverse Z.parts", true),
    ("add relationship A.z -> Z", false), ("add relationship A.zs -> Z many", false),
    ("create entity B {\n relationship zs -> Z many\n}", false),
  ])
  func `a reader version is reported when a new inverse moves the links that its programs read`(
    _ up: String, _ isMoved: Bool
  ) throws {
    let base = "create entity A {\n attribute n int\n}\ncreate entity Z {\n relationship parts -> A many\n}"
    let set = try MigrationSet([
      MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(base)\n"),
      MigrationStep(number: 2, name: "step", text: "format: 1\nreader: 1\n[up]\n\(up)\n"),
    ])
    let found = try set.findings().filter { $0.rule == .readerTooOld }
    #expect(found.count == (isMoved ? 1 : 0) && found.allSatisfy { $0.text.contains("Z.parts") }, "\(found)")
  }

  @Test func `a missing rollback is reported, and a [down] section or a reason is enough`() throws {
    func isAsked(_ up: String, down: String? = nil) throws -> Bool {
      let text = "format: 1\n[up]\n\(up)\n" + (down.map { "[down]\n\($0)\n" } ?? "")
      return try MigrationSet([
        MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(Self.base)\n"),
        MigrationStep(number: 2, name: "step", text: text),
      ]).findings().contains { $0.rule == .irreversible }
    }
    #expect(try isAsked("drop attribute U.n"))
    #expect(try !isAsked("drop attribute U.n", down: "irreversible \"nobody entered any\""))
    #expect(try !isAsked("drop attribute U.n", down: "add attribute U.n int optional"))
    #expect(try !isAsked("rename attribute U.s -> t"))
  }

  @Test func `every lint rule has a case in this suite or in a suite named here`() {
    let known = Set(Self.guilty.map(\.0)).union([
      .readerTooOld, .irreversible, .rebuildsTable, .renamingIsDone,
      // Rules about hierarchies: HierarchyLintTests.
      .losesIndex, .namesNoEntity, .namesFormerly,
      // Rules about headers and about the lock file: this suite, and AuthoringCommandTests.
      .allowsNoLoss, .editsReleased, .namedOtherwise,
      // UnpairedMemberTests.
      .mayBePaired,
    ])
    #expect(known == Set(MigrationFinding.Rule.allCases))
  }

  @Test func `a class that declares a property's former name is noted once a step has renamed it`() throws {
    let schema = Schema { Entity(Titled.self) }
    let base = "create entity Titled {\n attribute name string\n relationship next -> Titled\n}"
    func findings(_ steps: String...) throws -> [MigrationFinding] {
      try DowngradeLab.set([base] + steps).findings(of: schema)
    }
    #expect(try findings().isEmpty)
    #expect(try findings("rename attribute Titled.name -> other").isEmpty)
    let found = try findings(
      "rename attribute Titled.name -> title", "rename relationship Titled.next -> later")
    #expect(found.map(\.rule) == [.renamingIsDone, .renamingIsDone] && found.allSatisfy(\.rule.isNote))
    #expect(found.map(\.step) == [2, 3])
    #expect(found.first?.text.contains(".renamed(from: \"name\") from the class") == true)
  }

  @Test func `a schema that declares an entity's former name is noted once a step has renamed it`() throws {
    let schema = Schema { Entity(Titled.self).renamed(from: "Named") }
    let base = "create entity Named {\n attribute title string\n relationship later -> Named\n}"
    #expect(try DowngradeLab.set([base]).findings(of: schema).isEmpty)
    #expect(try DowngradeLab.set([base, "rename entity Named -> Other"]).findings(of: schema).isEmpty)
    let found = try DowngradeLab.set([base, "rename entity Named -> Titled"]).findings(of: schema)
    #expect(found.map(\.rule) == [.renamingIsDone] && found.first?.step == 2)
    #expect(
      found.first?.text
        == "Titled is renamed by this step; remove .renamed(from: \"Named\") from the schema")
  }

  @Test func `lint has only notes for the steps of the microblog`() throws {
    let findings = try MigrationSet.embedded(MicroblogMigrations.steps).findings()
    #expect(findings.filter { !$0.rule.isNote }.isEmpty, "\(findings)")
  }
}

@Suite struct FindingLines {
  @Test func `a finding has the line where its operation begins, also when the operation is repeated`() throws
  {
    let text = """
      format: 1
      note: a head

      [up]
      # two lines
      create entity W {
          attribute a string   # one
          attribute b string
      }

      transform sql {
          UPDATE $U
          SET $U.y = 1
      }
      drop attribute U.n
      transform sql {
          UPDATE $U
          SET $U.y = 1
      }
      """
    for ends in ["\n", "\r\n", "\r"] {
      let step = try MigrationStep(number: 2, name: "step", text: text.replacing("\n", with: ends))
      let base = try MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(MigrationLints.base)\n")
      let found = try MigrationSet([base, step]).findings()
      #expect(found.filter { $0.rule == .transformsUnchecked }.map(\.line) == [11, 16])
      #expect(found.filter { $0.rule == .dropsProperty }.map(\.line) == [15])
      #expect(found.filter { $0.rule == .irreversible }.map(\.line) == [nil])
      #expect(
        found.contains { $0.description.hasPrefix("0002_step.migration:15: L102 drop attribute U.n: ") })
      // Positions do not count when steps are compared.
      #expect(
        step
          == (try MigrationStep(
            number: 2, name: "step",
            text: "\n" + step.text.replacing("note: a head\n", with: "note: a head\n\n"))))
    }
  }
}
