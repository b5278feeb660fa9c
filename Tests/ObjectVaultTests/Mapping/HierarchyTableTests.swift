// The tables of entities with parents in the file.

import CipherSQLite
import Foundation
import ObjectVault
import Testing

@Suite struct HierarchyTables {
  private static let steps = """
    create entity Person {
        attribute name string
        attribute code int default 7
        relationship friends -> Employee many inverse Employee.admirers
    }
    create entity Employee : Person {
        attribute salary int default 1
        attribute badge string unique
        attribute pay decimal
        relationship boss -> Boss required inverse Boss.reports
        relationship admirers -> Person many inverse Person.friends
        index (name, salary)
    }
    create entity Boss : Employee {
        relationship reports -> Employee many ordered inverse Employee.boss on delete cascade
    }
    create entity Note {
        relationship by -> Boss
        relationship readers -> Employee many
    }
    """

  @Test func `one table has the columns of the whole hierarchy, and those of subentities are nullable`()
    async throws
  {
    let connection = try await MigrationLab(Self.steps).open()
    let columns = try connection.rows(sql: "PRAGMA table_info(Person)").map { Array($0[1...4]) }
    #expect(
      columns == [
        ["id", "INTEGER", 0, .null], ["_version", "INTEGER", 1, "1"], ["_entity", "TEXT", 1, "'Person'"],
        ["name", "TEXT", 1, .null], ["code", "INTEGER", 1, "7"],
        ["salary", "INTEGER", 0, .null], ["badge", "TEXT", 0, .null], ["pay", "TEXT", 0, .null],
        ["boss_id", "INTEGER", 0, .null], ["_boss_position", "INTEGER", 0, .null],
      ])
    #expect(
      try connection.rows(
        sql: """
          SELECT tbl_name, name FROM sqlite_master WHERE type = 'index' AND name NOT LIKE 'sqlite_%'
          AND tbl_name NOT LIKE 'vault_%' ORDER BY 1, 2
          """)
        == [
          ["Note", "ix_Note_by"], ["Note_readers", "ix_Note_readers_target"],
          ["Person", "ix_Employee_boss"], ["Person", "ix_Employee_name_salary"],
          ["Person", "ix_Person__entity"], ["Person", "ux_Employee_badge"],
          ["Employee_admirers", "ix_Employee_admirers_target"],
        ].sorted { ($0[0].string ?? "", $0[1].string ?? "") < ($1[0].string ?? "", $1[1].string ?? "") })
    // A column has the collation of its type at every level of the hierarchy.
    #expect(
      try connection.value("SELECT sql FROM sqlite_master WHERE name = 'Person'")?.string?
        .contains("\"pay\" TEXT COLLATE") == true)
  }

  @Test func `foreign keys to an entity with a parent reference the root entity's table`() async throws {
    let connection = try await MigrationLab(Self.steps).open()
    func keys(_ table: String) throws -> [[SQLValue]] {
      try connection.rows(sql: "PRAGMA foreign_key_list(\(table))").map { [$0[3], $0[2], $0[6]] }
        .sorted { ($0[0].string ?? "") < ($1[0].string ?? "") }
    }
    #expect(try keys("Note") == [["by_id", "Person", "SET NULL"]])
    #expect(
      try keys("Note_readers") == [
        ["Employee_id", "Person", "CASCADE"], ["Note_id", "Note", "CASCADE"],
      ])
    #expect(
      try keys("Employee_admirers") == [
        ["Employee_id", "Person", "CASCADE"], ["Person_id", "Person", "CASCADE"],
      ])
    #expect(try keys("Person") == [["boss_id", "Person", "CASCADE"]])
  }

  @Test func `the table of an entity outside of a hierarchy has no _entity column`() async throws {
    let connection = try await MigrationLab("create entity Lone {\n attribute a int\n}").open()
    #expect(
      try connection.rows(sql: "PRAGMA table_info(Lone)").map { $0[1] } == ["id", "_version", "a"])
  }

  @Test func `an index with the name of the index on _entity is a schema fault`() throws {
    let schema = Schema(entities: [
      EntityDescription(name: "P"), EntityDescription(name: "Q", parent: "P"),
      EntityDescription(
        name: "P_", attributes: [AttributeDescription(name: "entity", type: .int, isIndexed: true)]),
    ])
    #expect {
      try schema.validate()
    } throws: { error in
      guard case StoreError.invalidSchema(let faults) = error else { return false }
      return faults.contains { "\($0)".contains("ix_P__entity") }
    }
  }
}
