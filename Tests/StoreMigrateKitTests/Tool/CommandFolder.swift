// The files for the command lines of `CommandCase`: created once, and copied for each run.

import CipherSQLite
import Foundation
import Migrations
import ObjectVault
import TestSupport
import VaultAuthoring

/// A folder with a copy of the files, for one run.
struct CommandFolder {
  private static let steps = [
    """
    create entity Author {
      attribute name string unique
      relationship notes -> Note many inverse Note.author
    }
    create entity Note {
      attribute text string
      attribute createdAt date indexed
      relationship author -> Author inverse Author.notes
    }
    """,
    """
    add attribute Author.city string optional indexed
    create entity Tag {
      attribute name string unique
      relationship notes -> Note many inverse Note.tags
    }
    add relationship Note.tags -> Tag many inverse Tag.notes
    transform sql { UPDATE $Author SET $Author.city = 'Berlin' }
    """,
  ]
  /// Reversible steps. The rollback of the second one loses what was entered since.
  private static let back = [
    steps[0],
    "add attribute Author.city string optional indexed\nrename attribute Note.text -> body\nmake Note.body optional",
  ]
  private static let template = Task { try await make() }

  let folder: TemporaryFolder

  init() async throws {
    folder = try TemporaryFolder()
    let template = try await Self.template.value
    for name in template.names {
      try FileManager.default.copyItem(atPath: template.path(name), toPath: folder.path(name))
    }
  }

  /// Runs the tool with a line in which `@` is the folder.
  func run(_ command: CommandCase, _ more: String...) throws -> ToolResult {
    var words = command.words.map { $0.hasPrefix("@") ? folder.path(String($0.dropFirst())) : $0 }
    words += more
    let needsKey =
      !Self.keyless.contains(words[0]) && words.prefix(2) != ["slots", "list"]
      && words.prefix(2) != ["slots", "create"]
    if needsKey { words += ["--key-env", "KEY", "--key-format", "hex"] }
    return try runTool(
      builtExecutable(command.tool), words + ["--no-input"],
      environment: ["KEY": Template.hex(Template.key), "NEW_KEY": Template.hex(Template.newKey)],
      directory: folder.url.path)
  }

  /// The commands that open no store.
  private static let keyless = [
    "new", "diff", "lint", "sql", "rebase", "squash", "embed", "check", "encrypt",
  ]

  // MARK: Making

  private static func make() async throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try write(steps, to: "Steps", in: folder)
    try write(Array(steps.prefix(1)), to: "First", in: folder)
    try write(
      [steps[0].replacing("text string", with: "text string indexed"), steps[1]], to: "Edited", in: folder)
    try write(steps + ["drop attribute Author.city"], to: "Losing", in: folder)
    try write(back, to: "Back", in: folder)
    try write(["add atribute Author.city string"], to: "Broken", in: folder)
    try makeUnhappy(folder)
    try write(steps, to: "Branches", in: folder)
    try write(
      steps + ["add attribute Tag.color string optional", "require \"there are no tags\" { SELECT 0 }"],
      to: "Stopping", in: folder)
    try Data("format: 1\n\n[up]\nadd attribute Note.pinned bool default 0\n".utf8).write(
      to: folder.url.appendingPathComponent("Branches/0002_ours.migration"))
    let blog = folder.url.appendingPathComponent("Blog")
    try FileManager.default.createDirectory(at: blog, withIntermediateDirectories: false)
    for step in try MigrationSet.embedded(MicroblogMigrations.steps).steps.dropLast() {
      try Data(step.text.utf8).write(to: blog.appendingPathComponent(step.fileName))
    }
    try write(steps, to: "Embedded", in: folder)
    let embedded = try runTool(
      builtExecutable("store-migrate"), ["embed", "-m", folder.path("Embedded"), "--type", "NoteMigrations"])
    guard embedded.status == 0 else { throw CocoaError(.fileWriteUnknown) }
    let key = Key.raw(Template.key)
    try write([steps[0], steps[1].replacing("'Berlin'", with: "'Bonn'")], to: "Reworded", in: folder)
    for name in ["Released", "Squashed"] {
      try write(steps, to: name, in: folder)
      let released = try runTool(
        builtExecutable("store-migrate"), ["embed", "-m", folder.path(name), "--released", "1.0"])
      guard released.status == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
    try makeForeign(folder, key)
    let squashed = try runTool(
      builtExecutable("store-migrate"),
      ["squash", "--to", "2", "-m", folder.path("Squashed"), "--allow-released"])
    guard squashed.status == 0 else { throw CocoaError(.fileWriteUnknown) }
    try await makeUndone(folder, key)
    try await makeRecorded(folder, key)
    for (name, folderName) in [("new.store", "Steps"), ("old.store", "First"), ("moved.store", "Moved")] {
      try await Store.create(
        at: folder.url.appendingPathComponent(name), key: key,
        migrations: .directory(folder.url.appendingPathComponent(folderName)))
      let connection = try Connection.open(folder.path(name), key: key)
      defer { connection.close() }
      try connection.executeScript(
        """
        INSERT INTO Author(id, name) VALUES (1, 'Ann'), (2, '陳大文');
        INSERT INTO Note(id, text, createdAt, author_id)
          VALUES (1, 'first', 800000000.5, 2), (2, '', 800000060, NULL), (3, 'a, "b"' || char(10), 800000120, 1);
        INSERT OR REPLACE INTO vault_ids VALUES ('Author', 2), ('Note', 3);
        """)
    }
    try FileManager.default.copyItem(atPath: folder.path("old.store"), toPath: folder.path("my notes.store"))
    try FileManager.default.copyItem(atPath: folder.path("old.store"), toPath: folder.path("drift.store"))
    try write(steps + ["add index Note(text) unique"], to: "Unique", in: folder)
    try FileManager.default.copyItem(atPath: folder.path("new.store"), toPath: folder.path("twice.store"))
    let twice = try Connection.open(folder.path("twice.store"), key: key)
    try twice.execute("UPDATE Note SET text = 'same' WHERE id < 3")
    twice.close()
    let drifted = try Connection.open(folder.path("drift.store"), key: key)
    try drifted.execute("ALTER TABLE Author ADD COLUMN shoes TEXT")
    drifted.close()
    let connection = try Connection.open(folder.path("new.store"), key: key)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    var pages = CipherProfile.engineDefault
    pages.pageBytes = 2048
    try connection.copy(to: folder.path("pages.store"), key: key, profile: pages)
    try connection.exportPlaintext(to: folder.path("plain.db"))
    try FileManager.default.copyItem(atPath: folder.path("new.store"), toPath: folder.path("damaged.store"))
    try folder.flip("damaged.store", at: 2 * 4096 + 100)
    _ = try KeyFile.create(at: folder.path("n.keys"), slot: "Ann", unlock: .rawKey(Template.key))
    return folder
  }

  /// Steps that differ from those that a store has run, that cannot be read, or that do nothing.
  private static func makeUnhappy(_ folder: TemporaryFolder) throws {
    func add(_ text: String, to name: String) throws {
      try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(to: folder.url.appendingPathComponent(name))
    }
    let other = "add attribute Note.pinned bool default 0"
    try write(Array(steps.prefix(1)), to: "Moved", in: folder)
    try add(other, to: "Moved/0002_other.migration")
    try add(steps[1], to: "Moved/0003_step.migration")
    for (name, file, text) in [
      ("Twice", "0002_other", other), ("Empty", "0003_nothing", ""),
      ("Conflict", "0003_ours", "<<<<<<< HEAD\n\(other)"),
    ] {
      try write(steps, to: name, in: folder)
      try add(text, to: "\(name)/\(file).migration")
    }
  }

  /// A store with a history.
  private static func makeRecorded(_ folder: TemporaryFolder, _ key: Key) async throws {
    let url = folder.url.appendingPathComponent("recorded.store")
    let steps = steps + ["set history of Note to full\nset history of Tag to full"]
    try write(steps, to: "Recorded", in: folder)
    try await Store.create(
      at: url, key: key, migrations: .directory(folder.url.appendingPathComponent("Recorded")))
    let store = try await Store.open(at: url, key: key)
    defer { store.close() }
    try await store.write { context in
      (context.author, context.transactionName) = ("Ann", "First\u{1B}[31m\n#9  note")
      let note = try context.insert(entity: "Note") {
        ($0["text"], $0["createdAt"]) = ("first", Date(timeIntervalSinceReferenceDate: 800_000_000))
      }
      try note.add(context.insert(entity: "Tag") { $0["name"] = "t" }, to: "tags")
    }
    try await store.write { try $0.fetch(entity: "Note").all().forEach { $0["text"] = "second" } }
    try await store.write { context in
      context.author = "Bob"
      try context.fetch(entity: "Note").delete()
    }
  }

  /// Files of other programs, and a file whose tables are those of the steps.
  private static func makeForeign(_ folder: TemporaryFolder, _ key: Key) throws {
    let legacy = """
      CREATE TABLE people (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL UNIQUE, born DATE);
      CREATE TABLE letters (id INTEGER PRIMARY KEY, sender_id INTEGER REFERENCES people(id) ON DELETE CASCADE, body TEXT);
      CREATE TABLE kinds (name TEXT PRIMARY KEY) WITHOUT ROWID;
      CREATE VIEW long AS SELECT * FROM letters WHERE length(body) > 100;
      INSERT INTO people VALUES (4, 'Ann', '1970-01-01'), (5, '陳大文', NULL);
      INSERT INTO letters VALUES (1, 4, 'hello'), (7, NULL, NULL);
      INSERT INTO kinds VALUES ('short');
      """
    let coreData = """
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPERSON INTEGER, ZTITLE VARCHAR);
      CREATE TABLE ZPERSON (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Note', 0, 3), (2, 'Person', 0, 1);
      INSERT INTO ZPERSON VALUES (1, 2, 1, 'Ann');
      INSERT INTO ZNOTE VALUES (3, 1, 1, 1, 'first');
      """
    for (name, sql) in [("legacy", legacy), ("coredata", coreData), ("family", CoreDataHierarchy.file)] {
      _ = try Connection.create(folder.path("making"), key: key) { try $0.executeScript(sql) }
      try Connection.open(folder.path("making"), key: key).exportPlaintext(to: folder.path("\(name).db"))
      try FileManager.default.removeItem(atPath: folder.path("making"))
    }
    let steps = try MigrationSet.directory(folder.url.appendingPathComponent("Steps"))
    let tables = try steps.model(at: 2).rendered(as: .sql).text
    _ = try Connection.create(folder.path("tables.store"), key: key) { try $0.executeScript(tables) }
    let imported = try runTool(
      builtExecutable("store-migrate"),
      [
        "schema", "import", folder.path("legacy.db"), "-m", folder.path("Legacy"), "--classes",
        folder.path("Legacy/Classes.swift"),
      ])
    guard imported.status == 2 else { throw CocoaError(.fileWriteUnknown) }
  }

  /// A store at the version of its steps, and one that was rolled back and migrated again.
  private static func makeUndone(_ folder: TemporaryFolder, _ key: Key) async throws {
    let steps = try MigrationSet.directory(folder.url.appendingPathComponent("Back"))
    for name in ["back.store", "undone.store"] {
      try await Store.create(at: folder.url.appendingPathComponent(name), key: key, migrations: steps)
    }
    let url = folder.url.appendingPathComponent("undone.store")
    try await Store.downgrade(
      at: url, key: key, to: 0, migrations: steps, makesBackups: false,
      allowing: ["Author.city", "Author", "Note"])
    try await Store.migrate(at: url, key: key, migrations: steps.upTo(1))
  }

  private static func write(_ steps: [String], to name: String, in folder: TemporaryFolder) throws {
    let target = folder.url.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: target, withIntermediateDirectories: false)
    for (index, step) in steps.enumerated() {
      try Data("format: 1\n\n[up]\n\(step)\n".utf8).write(
        to: target.appendingPathComponent("000\(index + 1)_step.migration"))
    }
  }
}
