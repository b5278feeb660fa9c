// Steps that were written or changed by hand, and the rows of a file: what fits, what follows from the
// steps, what is refused.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct AdoptionFits {
  @Test func `steps of another file are refused and make no empty store, whatever is allowed`() async throws {
    let lab = try AdoptionLab(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'x')")
    await #expect {
      try await lab.adopt("create entity Other {\n attribute a string optional\n}", allowing: ["T"])
    } throws: { error in
      guard case StoreError.adoptionRefused = error else { return false }
      return ["The file has T", "the steps have Other", "Write steps for this file"].allSatisfy(
        "\(error)".contains)
    }
    #expect(lab.folder.names == ["legacy.db"])
    // Of two tables one may be omitted.
    let two = try AdoptionLab(
      "CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE TABLE u (id INTEGER PRIMARY KEY)")
    try await two.adopt("create entity T {\n attribute extra int optional\n}", allowing: ["U"])
    #expect(try two.rows("SELECT count(*) FROM T") == [[0]])
  }

  @Test func `a to-one that the steps declare need not be given to the import`() async throws {
    let lab = try AdoptionLab(CoreDataAdoptions.file)
    let step = try await lab.plan(["Note.owner": "Person"]).step
    let set = try MigrationSet([step])
    let adoption = try await Store.adopt(
      lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: set)
    #expect(adoption.losses.isEmpty)
    #expect(try lab.rows("SELECT id, owner_id FROM Note ORDER BY id") == [[3, 1], [9, .null]])
  }

  @Test func `a presumed to-one is imported as a number if the steps or the caller declare that`()
    async throws
  {
    let lab = try AdoptionLab(CoreDataAdoptions.file)
    let number = try await lab.plan(["Person.boss": ""])
    #expect(number.schema.entity(named: "Person")?.attribute(named: "boss")?.type == .int)
    #expect(!number.notes.contains { $0.contains("Person.boss") })
    let set = try MigrationSet([number.step])
    try await Store.adopt(lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: set)
    #expect(try lab.rows("SELECT id, boss FROM Person ORDER BY id") == [[1, 5], [5, .null]])
  }

  @Test func `bookkeeping tables of other migrators are not imported, and the notes name them`() async throws
  {
    let names = [
      "django_migrations", "ar_internal_metadata", "schema_migrations", "grdb_migrations",
      "room_master_table", "android_metadata", "alembic_version", "_prisma_migrations",
      "__EFMigrationsHistory", "__EFMigrationsLock", "flyway_schema_history", "goose_db_version",
      "knex_migrations", "knex_migrations_lock", "__drizzle_migrations", "DATABASECHANGELOG",
      "DATABASECHANGELOGLOCK", "refinery_schema_history", "_sqlx_migrations", "SequelizeMeta",
      "__diesel_schema_migrations", "gorp_migrations", "phinxlog", "kysely_migration",
      "kysely_migration_lock", "mikro_orm_migrations", "atlas_schema_revisions", "_fluent_migrations",
      "doctrine_migration_versions",
    ]
    let lab = try AdoptionLab(
      "CREATE TABLE t (id INTEGER PRIMARY KEY); "
        + names.map {
          "CREATE TABLE \($0) (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO \($0) VALUES (1, 'x');"
        }
        .joined())
    let adoption = try await lab.plan()
    #expect(adoption.losses.isEmpty && adoption.schema.entities.map(\.name) == ["T"])
    for name in names {
      #expect(adoption.notes.contains { $0.hasPrefix("\(name) is internal to ") && $0.contains("(1 row)") })
    }
  }

  @Test func `a bookkeeping table of another migrator is imported if the steps declare it`() async throws {
    let lab = try AdoptionLab(
      "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, tag TEXT NOT NULL); "
        + "INSERT INTO goose_db_version VALUES (3, 'x')")
    let set = try MigrationSet([
      MigrationStep(
        number: 1, name: "adopted",
        text: "format: 1\n[up]\ncreate entity GooseDbVersion {\n attribute tag string\n}\n")
    ])
    try await Store.adopt(lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: set)
    #expect(try lab.rows("SELECT id, tag FROM GooseDbVersion") == [[3, "x"]])
  }

  @Test func `the loss of a column or table names a step's name that may be mistyped`() async throws {
    let lab = try AdoptionLab(
      "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, size INT); INSERT INTO item VALUES (1, 'a', 2); "
        + "CREATE TABLE shelf (id INTEGER PRIMARY KEY, row INT); INSERT INTO shelf VALUES (1, 1)")
    func losses(_ text: String) async throws -> String {
      let set = try MigrationSet([
        MigrationStep(number: 1, name: "adopted", text: "format: 1\n[up]\n\(text)\n")
      ])
      let error = await #expect(throws: StoreError.self) {
        try await Store.adopt(lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: set)
      }
      return error.map { "\($0)" } ?? ""
    }
    let item = "create entity Item {\n attribute nme string optional\n attribute size int optional\n}"
    let shelf = "create entity Shelf {\n attribute row int optional\n}"
    let column = try await losses("\(item)\n\(shelf)")
    #expect(
      column.hasSuffix(
        "\n  Item.name, 1 row: the steps have no such property; the file has no column for Item.nme: is the "
          + "name mistyped?"
          + "\nTo import the file without it, allow these names: Item.name."), "\(column)")
    let table = try await losses(
      item.replacing("nme", with: "name") + "\n" + shelf.replacing("Shelf", with: "Shlf"))
    #expect(
      table.contains("the steps have no such entity; the file has no table for Shlf: is the name mistyped?"))
    // A name that the file has, too, is not mistyped, and neither is a name that differs much.
    let other = try await losses(
      item.replacing("nme", with: "colour") + "\n" + shelf.replacing("row", with: "rows"))
    #expect(other.contains("Item.name, 1 row: the steps have no such property\n"), "\(other)")
  }

  @Test func `a column without a usable name becomes an attribute called value`() async throws {
    let lab = try AdoptionLab(#"CREATE TABLE t (id INTEGER PRIMARY KEY, "" TEXT, "!" TEXT)"#)
    let names = try await lab.plan().schema.entity(named: "T")?.attributes.map(\.name)
    #expect(names == ["value", "value2"])
  }

  @Test func `a table called managed_object gives a class that does not inherit from itself`() async throws {
    let lab = try AdoptionLab("CREATE TABLE managed_object (id INTEGER PRIMARY KEY, a TEXT)")
    let text = try await lab.plan().schema.rendered(as: .swift).text
    #expect(text.contains("final class ManagedObject: ObjectVault.ManagedObject {"), "\(text)")
  }
}
