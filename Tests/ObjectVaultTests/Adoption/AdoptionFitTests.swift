// Steps that somebody wrote or changed, and the rows of a file: what fits, what is told by the steps, what is refused.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct AdoptionFits {
  @Test func `steps of another file make no empty store, whatever is allowed`() async throws {
    let lab = try AdoptionLab(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'x')")
    await #expect {
      try await lab.adopt("create entity Other {\n attribute a string optional\n}", allowing: ["T"])
    } throws: { error in
      guard case StoreError.adoptionRefused = error else { return false }
      return ["the file has T", "the steps have Other", "schema import"].allSatisfy("\(error)".contains)
    }
    #expect(lab.folder.names == ["legacy.db"])
    // Of two tables one may be left.
    let two = try AdoptionLab(
      "CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE TABLE u (id INTEGER PRIMARY KEY)")
    try await two.adopt("create entity T {\n attribute extra int optional\n}", allowing: ["U"])
    #expect(try two.rows("SELECT count(*) FROM T") == [[0]])
  }

  @Test func `a to-one that the steps declare need not be named a second time`() async throws {
    let lab = try AdoptionLab(CoreDataAdoptions.file)
    let step = try await lab.plan(["Note.owner": "Person"]).step
    let set = try MigrationSet([step])
    let adoption = try await Store.adopt(
      lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: set)
    #expect(adoption.losses.isEmpty)
    #expect(try lab.rows("SELECT id, owner_id FROM Note ORDER BY id") == [[3, 1], [9, .null]])
  }

  @Test func `what was taken for a to-one is a number where the steps or the caller say so`() async throws {
    let lab = try AdoptionLab(CoreDataAdoptions.file)
    let number = try await lab.plan(["Person.boss": ""])
    #expect(number.schema.entity(named: "Person")?.attribute(named: "boss")?.type == .int)
    #expect(!number.notes.contains { $0.contains("Person.boss") })
    let set = try MigrationSet([number.step])
    try await Store.adopt(lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: set)
    #expect(try lab.rows("SELECT id, boss FROM Person ORDER BY id") == [[1, 5], [5, .null]])
  }

  @Test func `what migrators keep for themselves is left where it is`() async throws {
    let names = [
      "django_migrations", "ar_internal_metadata", "schema_migrations", "grdb_migrations",
      "room_master_table", "android_metadata",
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
      #expect(adoption.notes.contains { $0.hasPrefix("\(name) is what ") && $0.contains("(1 row)") })
    }
  }

  @Test func `a table that is called as a class of the library gives a class that is no circle`() async throws
  {
    let lab = try AdoptionLab("CREATE TABLE managed_object (id INTEGER PRIMARY KEY, a TEXT)")
    let text = try await lab.plan().schema.rendered(as: .swift).text
    #expect(text.contains("final class ManagedObject: ObjectVault.ManagedObject {"), "\(text)")
  }
}
