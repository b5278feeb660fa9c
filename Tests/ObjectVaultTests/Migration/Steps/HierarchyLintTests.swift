// Lint of inheritance hierarchies: SQL that writes rows without naming their entity, and former names of
// entities.

import ObjectVault
import TestSupport
import Testing

@Suite struct HierarchyLints {
  private func found(_ code: String, _ steps: String...) throws -> [MigrationFinding] {
    let texts = [HierarchyStore.base] + steps
    let set = try MigrationSet(
      texts.enumerated().map {
        try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: "format: 1\n[up]\n\($1)")
      })
    return try set.findings().filter { $0.rule.rawValue == code }
  }

  @Test(arguments: [
    (
      "transform sql {\n UPDATE $Note SET $Note.text = 'x';\n INSERT INTO $Guest ($Guest.name)\n  VALUES ('x')\n}",
      "INSERT INTO $Guest ($Guest.name)", "inserts objects of Person", "_entity"
    ),
    (
      "seed { INSERT INTO $Employee DEFAULT VALUES }", "INSERT INTO $Employee DEFAULT VALUES", "Person",
      "_entity"
    ),
    (
      "transform sql { REPLACE INTO $Boss (id, $Boss.name) SELECT 9, 'x' }", "REPLACE INTO $Boss", "Person",
      "'Boss'"
    ),
    (
      "transform sql { DELETE FROM $Guest }", "DELETE FROM $Guest", "every object of Person",
      "_entity = 'Guest'"
    ),
    (
      "transform sql { UPDATE $Employee SET $Employee.salary = 1 }", "UPDATE $Employee",
      "every object of Person",
      "_entity IN ('Employee', 'Boss')"
    ),
  ])
  func `L505 reports SQL that writes rows of a hierarchy without naming their entity`(
    _ step: String, _ line: String, _ what: String, _ remedy: String
  ) throws {
    let finding = try #require(try found("L505", step).first)
    #expect(finding.step == 2 && !finding.rule.isNote)
    #expect(finding.text.contains("\"\(line)"), "\(finding.text)")
    #expect(finding.text.contains(what) && finding.text.contains(remedy), "\(finding.text)")
  }

  @Test(arguments: [
    "transform sql { INSERT INTO $Guest (_entity, $Guest.name) VALUES ('Guest', 'x') }",
    "transform sql { INSERT INTO $Person ($Person.name) VALUES ('x') }",
    "transform sql { INSERT INTO $Guest SELECT * FROM $Guest WHERE 0 }",
    "transform sql { INSERT INTO $Note ($Note.text) SELECT $Guest.host FROM $Guest }",
    "transform sql { DELETE FROM $Guest WHERE _entity = 'Guest' }",
    "transform sql { UPDATE $Employee SET $Employee.salary = 1 WHERE $Employee.salary > 1 }",
    "transform sql { DELETE FROM $Note }",
  ])
  func `L505 accepts SQL that names the entity, selects rows or is about a root entity`(_ step: String) throws
  {
    #expect(try found("L505", step) == [])
  }

  @Test func `L506 reports a former entity name in a step's SQL`() throws {
    let sql = "transform sql { UPDATE $Person SET name = 'x' WHERE _entity = 'Guest' }"
    let renaming = "rename entity Guest -> Visitor"
    let finding = try #require(try found("L506", renaming, sql).first)
    #expect(finding.step == 3 && !finding.rule.isNote && finding.text.contains("'Guest'"))
    #expect(finding.text.contains("'Guest' became Visitor in step 0002"), "\(finding.text)")
    #expect(try found("L506", "\(renaming)\n\(sql)").count == 1)
    #expect(
      try found("L506", renaming, "seed { DELETE FROM $Person WHERE _entity IN ('Boss', 'Guest') }").count
        == 1)
    #expect(
      try found(
        "L506", renaming, "require \"x\" { SELECT count(*) = 0 FROM $Person WHERE _entity = 'Guest' }"
      ).count
        == 1)
    #expect(
      try found("L506", "transform sql { UPDATE $Person SET name = 'x' WHERE _entity = 'guest' }").count == 1)
    #expect(try found("L506", "drop entity Guest", sql).count == 1)
    let merged = try found("L506", "merge entity Guest into Person", sql)
    #expect(merged.count == 1 && merged[0].text.contains("became Person in step 0002"), "\(merged)")
  }

  @Test(arguments: [
    ("rename entity Guest -> Visitor", "UPDATE $Person SET name = 'x' WHERE _entity = 'Visitor'"),
    ("rename entity Guest -> Visitor", "UPDATE $Note SET text = 'Guest'"),
    (
      "rename entity Guest -> Visitor\nrename entity Boss -> Guest",
      "UPDATE $Person SET name = 'x' WHERE _entity = 'Guest'"
    ),
    ("rename entity Boss -> Chief", "UPDATE $Person SET name = 'Guest' WHERE _entity = 'Guest'"),
  ])
  func `L506 accepts names that an entity has at that step, and texts of other columns`(
    _ renaming: String, _ sql: String
  ) throws {
    #expect(try found("L506", renaming, "transform sql { \(sql) }") == [])
    #expect(try found("L506", "transform sql { \(sql) }", "add attribute Note.z int optional") == [])
  }

  @Test func `L403 reports an index that is lost with a merged attribute`() throws {
    let base =
      "create entity A {\n attribute name string\n}\ncreate entity B {\n attribute name string indexed\n}"
    let finding = try #require(try found("L403", base, "set parent of B to A").first)
    #expect(finding.rule.isNote && finding.text.contains("add index A(name)"), "\(finding.text)")
    #expect(try found("L403", base, "add index A(name)\nset parent of B to A") == [])
  }

  @Test func `a reader version that is too old for a new entity in an existing hierarchy is reported`() throws
  {
    func texts(_ step: String) throws -> [String] {
      let set = try MigrationSet([
        MigrationStep(number: 1, name: "s1", text: "format: 1\n[up]\n\(HierarchyStore.base)"),
        MigrationStep(number: 2, name: "s2", text: "format: 1\nreader: 1\n[up]\n\(step)"),
      ])
      return try set.findings().filter { $0.rule == .readerTooOld }.map(\.text)
    }
    let found = try texts("create entity Ceo : Boss {\n attribute shares int optional\n}")
    #expect(found.count == 1, "\(found)")
    #expect(found[0].contains("objects of Ceo as objects of Person"), "\(found)")
    // Older programs do not know a new hierarchy at all.
    let own = "create entity Car {\n attribute seats int optional\n}"
    #expect(try texts("\(own)\ncreate entity Van : Car {\n attribute load int optional\n}") == [])
    #expect(try texts(own) == [])
  }
}
