// The files for commands with faults: created once, and copied for each run.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport

enum Template {
  // Raw keys, as these tests are about files and not about passphrases.
  static let key = [UInt8](repeating: 0x22, count: 32)
  static let newKey = [UInt8](repeating: 0x33, count: 32)
  /// A text in the rows.
  static let canary = "canary in the coal mine"

  static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static let made = Task { try await make() }

  static func folder() async throws -> TemporaryFolder { try await made.value }

  /// Files whose names resemble temporary names.
  static let bystanders = [
    "log.store.new-ideas.txt": Data("mine".utf8), "log.store.new-0123456789abcdef": Data("mine, too".utf8),
    "notes.store.new-0123456789abcdef-wal": Data("and this".utf8), "new.store.replaced": Data("that".utf8),
  ]
  /// A directory with a temporary name.
  static let directory = (try? TemporaryName.random(for: "log.store")) ?? "log.store.new-"

  private static func make() async throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let raw = Key.raw(key)
    for name in ["notes.store", "log.store", "other.store"] {
      _ = try Connection.create(folder.path(name), key: raw) { try fill($0, isOther: name == "other.store") }
    }
    try Connection.open(folder.path("log.store"), key: raw).setJournalMode(.wal)
    let notes = try Connection.open(folder.path("notes.store"), key: raw)
    var old = CipherProfile.engineDefault
    old.pageBytes = 1024
    try notes.copy(to: folder.path("old.store"), key: raw, profile: old)
    try notes.exportPlaintext(to: folder.path("plain.db"))
    try folder.write(
      Data((0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 37 ^ $0 >> 5) }), to: "broken.store")
    try folder.write(Data("a log that fits nothing".utf8), to: "broken.store-wal")
    let keys = try KeyFile.create(at: folder.path("n.keys"), slot: "Ann", unlock: .rawKey(key))
    try folder.write(Data(hex(key).utf8), to: "ann.txt")
    _ = try Connection.create(folder.path("slots.store"), key: keys.key) { try fill($0) }
    try await makeSteps(folder)
    let adopted = try runTool(
      builtExecutable("store-migrate"),
      [
        "schema", "import", folder.path("plain.db"), "-m", folder.path("Adopted"), "--classes",
        folder.path("Adopted/Classes.swift"),
      ])
    guard adopted.status == 0 else { throw CocoaError(.fileWriteUnknown) }
    return folder
  }

  private static func fill(_ connection: Connection, isOther: Bool = false) throws {
    // Rows whose ids are in no column, with gaps between the ids.
    try connection.executeScript(
      """
      CREATE TABLE t(x TEXT, b BLOB);
      CREATE TABLE k(id INTEGER PRIMARY KEY, y UNIQUE);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 24)
      INSERT INTO t(rowid, x, b) SELECT i * 7, '\(canary) ' || i, zeroblob(1500) FROM n;
      INSERT INTO k SELECT rowid, x FROM t;
      DELETE FROM t WHERE rowid % 3 = \(isOther ? 1 : 0);
      """)
  }

  private static func makeSteps(_ folder: TemporaryFolder) async throws {
    let steps = folder.url.appendingPathComponent("Steps")
    try FileManager.default.createDirectory(at: steps, withIntermediateDirectories: true)
    try Data("format: 1\nname: first\n[up]\ncreate entity User {\n    attribute name string\n}\n".utf8)
      .write(to: steps.appendingPathComponent("0001_first.migration"))
    let path = folder.path("steps.store")
    try await Store.create(at: URL(fileURLWithPath: path), key: .raw(key), migrations: .directory(steps))
    try Connection.open(path, key: .raw(key)).executeScript(
      "INSERT INTO User(id, name) VALUES (4, '\(canary)')")
    try Data(
      "format: 1\nname: second\nbackup: always\n[up]\nadd attribute User.town string optional\n".utf8
    ).write(to: steps.appendingPathComponent("0002_second.migration"))
    let reworded = folder.url.appendingPathComponent("Reworded")
    try FileManager.default.copyItem(at: steps, to: reworded)
    try Data(
      "format: 1\nname: second\n[up]\nadd attribute User.town string optional\nrequire \"so\" { SELECT 1 }\n"
        .utf8
    ).write(to: reworded.appendingPathComponent("0002_second.migration"))
    let back = folder.path("back.store")
    try await Store.create(at: URL(fileURLWithPath: back), key: .raw(key), migrations: .directory(steps))
    try Connection.open(back, key: .raw(key)).executeScript(
      "INSERT INTO User(id, name, town) VALUES (4, '\(canary)', 'x')")
    let recorded = folder.url.appendingPathComponent("recorded.store")
    try await Store.create(
      at: recorded, key: .raw(key),
      migrations: try MigrationSet([
        MigrationStep(
          number: 1, name: "first",
          text: "format: 1\n[up]\ncreate entity User history full {\n    attribute name string\n}")
      ]))
    let store = try await Store.open(at: recorded, key: .raw(key))
    for name in [canary, "b", "c"] {
      try await store.write { context in _ = try context.insert(entity: "User") { $0["name"] = name } }
    }
    store.close()
    let free = folder.path("free.store")
    try await Store.create(at: URL(fileURLWithPath: free), key: .raw(key), migrations: .directory(steps))
    let connection = try Connection.open(free, key: .raw(key))
    try connection.setJournalMode(.wal)
    try connection.executeScript(
      """
      INSERT INTO User(id, name, town) VALUES (4, '\(canary)', 'x');
      INSERT INTO User(id, name, town) VALUES (5, 'y', hex(zeroblob(200000)));
      DELETE FROM User WHERE id = 5;
      """)
  }
}
