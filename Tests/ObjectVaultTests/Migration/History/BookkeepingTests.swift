// Damage in the bookkeeping tables is an error that names the place, and never a crash.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// Changes of `vault_*` tables, each with a part of the expected error that names the place.
enum Damage {
  static let all: [(sql: String, word: String)] = [
    ("UPDATE vault_meta SET value = -1 WHERE key = 'version'", "row version"),
    ("UPDATE vault_meta SET value = 'two' WHERE key = 'version'", "row version"),
    ("UPDATE vault_meta SET value = NULL WHERE key = 'version'", "row version"),
    ("UPDATE vault_meta SET value = 9223372036854775807 WHERE key = 'version'", "row version"),
    ("UPDATE vault_meta SET value = 1 WHERE key = 'version'", "vault_migrations, row 2"),
    ("UPDATE vault_meta SET value = 3 WHERE key = 'version'", "vault_migrations, row 3"),
    ("DELETE FROM vault_meta WHERE key = 'version'", "row version"),
    ("DELETE FROM vault_meta", "row version"),
    ("UPDATE vault_meta SET value = 'x' WHERE key = 'minReader'", "row minReader"),
    ("UPDATE vault_meta SET value = -9223372036854775808 WHERE key = 'minReader'", "row minReader"),
    ("UPDATE vault_meta SET value = 9223372036854775807 WHERE key = 'generation'", "row generation"),
    ("UPDATE vault_meta SET value = 'x' WHERE key = 'generation'", "row generation"),
    ("UPDATE vault_meta SET value = 0 WHERE key = 'format'", "row format"),
    ("UPDATE vault_meta SET value = 1e300 WHERE key = 'format'", "row format"),
    ("DELETE FROM vault_meta WHERE key = 'format'", "row format"),
    ("UPDATE vault_meta SET value = 'x' WHERE key = 'storeID'", "row storeID"),
    ("UPDATE vault_meta SET value = NULL WHERE key = 'storeID'", "row storeID"),
    ("UPDATE vault_meta SET value = 7 WHERE key = 'storeID'", "row storeID"),
    ("UPDATE vault_meta SET value = '{' WHERE key = 'modelJSON'", "row modelJSON"),
    ("UPDATE vault_meta SET value = '{}' WHERE key = 'modelJSON'", "row modelJSON"),
    ("UPDATE vault_meta SET value = NULL WHERE key = 'modelJSON'", "row modelJSON"),
    ("DELETE FROM vault_meta WHERE key = 'modelJSON'", "row modelJSON"),
    (
      "UPDATE vault_meta SET value = replace(value, '\"age\"', '\"name\"') WHERE key = 'modelJSON'",
      "Thing.name is declared twice"
    ),
    (
      "UPDATE vault_meta SET value = replace(value, '\"age\"', '\"years\"') WHERE key = 'modelJSON'",
      "modelHash"
    ),
    ("DELETE FROM vault_meta WHERE key = 'modelHash'", "row modelHash"),
    (
      "INSERT INTO vault_migrations SELECT 0, name, kind, checksum, model_hash, text, down, applied_at, ms, app, tool, engine FROM vault_migrations WHERE version = 1",
      "vault_migrations, row 0"
    ),
    ("UPDATE vault_migrations SET version = -7 WHERE version = 1", "vault_migrations, row -7"),
    (
      "UPDATE vault_migrations SET version = 9223372036854775807 WHERE version = 2", "row 9223372036854775807"
    ),
    ("DELETE FROM vault_migrations WHERE version = 1", "vault_migrations, row 1"),
    ("DELETE FROM vault_migrations", "vault_migrations, row 1"),
    ("ALTER TABLE vault_migrations RENAME TO kept", "vault_migrations is missing"),
    ("UPDATE vault_migrations SET checksum = x'00' WHERE version = 1", "edited"),
    (
      "ALTER TABLE vault_migrations RENAME TO kept; CREATE TABLE vault_migrations (version, name)",
      "vault_migrations cannot be read"
    ),
    ("ALTER TABLE vault_meta RENAME TO kept; CREATE TABLE vault_meta (name)", "vault_meta cannot be read"),
    ("DROP TABLE vault_ids", "vault_ids is missing"), ("DROP TABLE vault_meta", "no vault_meta table"),
    ("INSERT OR REPLACE INTO vault_ids VALUES ('Thing', 'abc')", "vault_ids, row Thing"),
    ("INSERT OR REPLACE INTO vault_ids VALUES ('Thing', -5)", "vault_ids, row Thing"),
  ]
  static let steps = [
    "create entity Thing {\n attribute name string\n attribute age int default 1\n}",
    "add attribute Thing.more string optional",
  ]
}

private final class Thing: ManagedObject {
  @Attribute var name: String
  @Attribute var age: Int = 1
  @Attribute var more: String?
}

@Suite struct Bookkeeping {
  @Test(arguments: Damage.all.indices)
  func `an invalid row of a bookkeeping table is an error that names its place`(_ index: Int) async throws {
    let (sql, word) = Damage.all[index]
    let lab = try await MigrationLab(Damage.steps[0])
    try await lab.migrate(Damage.steps[1])
    let set = try lab.set(Damage.steps)
    let schema = Schema { Entity(Thing.self) }
    _ = try await Store.open(at: lab.url, key: testKey, schema: schema, migrations: .set(set))
    let connection = try lab.open()
    try connection.executeScript(sql)
    connection.close()
    let calls: [(String, () async throws -> Void)] = [
      (
        "open", { _ = try await Store.open(at: lab.url, key: testKey, schema: schema, migrations: .set(set)) }
      ),
      ("plan", { _ = try await Store.plan(at: lab.url, key: testKey, migrations: set) }),
      ("migrate", { _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set) }),
    ]
    for (name, call) in calls {
      await #expect("\(name)") { try await call() } throws: { error in
        error is StoreError && "\(error)".contains(word)
      }
    }
  }
}
