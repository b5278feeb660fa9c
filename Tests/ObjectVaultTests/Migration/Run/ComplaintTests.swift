// Tests for common complaints about other migration systems, as far as they concern stores and steps. The
// numbers are those of the list that the design is based on. StoreMigrateKitTests covers the tool; 17 is in
// MigrationProcesses, 1 and 18 are the traps A1 and A9.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Complaints {
  private static let base = """
    create entity User {
      attribute name string unique
      attribute age int default 7 indexed
      attribute price decimal default "1.5"
      relationship posts -> Post many inverse Post.user on delete deny
      index (name, age)
    }
    create entity Post {
      attribute text string
      relationship user -> User inverse User.posts
    }
    """
  private let lab: MigrationLab
  init() async throws {
    lab = try await MigrationLab(
      Self.base, fill: ["INSERT INTO User(id, name, age) VALUES (1, 'Ann', 30), (2, 'Bob', 40)"])
  }

  private func step(_ number: Int, _ text: String, name: String? = nil) throws -> MigrationStep {
    try MigrationStep(number: number, name: name ?? "step\(number)", text: text)
  }

  @Test func `2: an ambiguous renaming is never guessed, and a confirmed one keeps the values`() throws {
    let set = try lab.set(["create entity User {\n attribute name string\n}"])
    let schema = Schema(entities: [
      EntityDescription(name: "User", attributes: [AttributeDescription(name: "fullName", type: .string)])
    ])
    let guess = try set.proposal(for: schema)
    #expect(
      guess.doubts == [.property(entity: "User", "name", to: "fullName")] && guess.losses == ["User.name"])
    let said = try set.proposal(for: schema, renaming: guess.doubts)
    #expect(said.losses.isEmpty && said.lines == ["rename attribute User.name -> fullName"])
  }

  @Test func `3: after a failed step the store needs no repair and no forced run`() async throws {
    await #expect(throws: StoreError.self) { try await lab.migrate("require \"never\" { SELECT 0 }") }
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([Self.base])).isUpToDate)
    #expect(try await lab.migrate("require \"always\" { SELECT 1 }") == [2])
  }

  @Test func `4: the mark of a killed process blocks no migration, and the next run removes it`() async throws
  {
    let store = "lab.store"
    var mark = MigrationMark(lab.url.path)
    #expect(mark != nil)
    let name = try #require(lab.folder.names.first { $0.hasPrefix("\(store).migrating") })
    mark = nil
    // A killed process leaves the file without a lock.
    try lab.folder.write(Data(), to: name)
    #expect(try await lab.migrate("add attribute User.mail string optional") == [2])
    #expect(!lab.folder.names.contains(name))
  }

  /// The step in its plain spelling. The arguments below spell it in other ways.
  private static let plain = """
    format: 1
    name: mail
    [up]
    add attribute User.mail string optional
    transform sql {
        UPDATE $User SET $User.mail = $User.name || '@x'
    }

    """

  @Test(arguments: [
    ("5: CRLF", plain.replacing("\n", with: "\r\n")), ("5: CR", plain.replacing("\n", with: "\r")),
    ("5: a mark of the byte order", "\u{FEFF}" + plain), ("5: no last line end", String(plain.dropLast())),
    ("6: a licence", "# Copyright\n# All rights reserved.\n" + plain),
    ("6: a comment", plain.replacing("[up]", with: "[up] # up\n# why: see the tracker")),
    ("6: a comment in SQL", plain.replacing("'@x'", with: "'@x' -- at x")),
    (
      "6: spaces",
      plain.replacing("    UPDATE", with: "\tUPDATE").replacing("add attribute", with: "  add   attribute")
    ),
    ("6: a note", plain.replacing("name: mail", with: "name: mail\nnote: for the newsletter\nbackup: never")),
    ("6: a way back", plain + "\n[down]\ndrop attribute User.mail\n"),
  ])
  func `5 and 6: line ends, comments, headers and formatting do not change a step's checksum`(
    _ what: String, _ text: String
  ) async throws {
    try await Store.migrate(
      at: lab.url, key: testKey, migrations: MigrationSet(lab.set([Self.base]).steps + [step(2, Self.plain)]))
    let other = try step(2, text)
    #expect(other.checksum == (try step(2, Self.plain)).checksum, "\(what)")
    // A renamed file is the same step.
    for name in ["step2", "moved"] {
      let set = try MigrationSet(lab.set([Self.base]).steps + [step(2, text, name: name)])
      #expect(try await Store.plan(at: lab.url, key: testKey, migrations: set).isUpToDate, "\(what)")
    }
  }

  @Test func `7: the error for an edited step has the lines that changed`() async throws {
    try await lab.migrate("add attribute User.rank int default 0")
    let edited = try lab.set([Self.base, "add attribute User.rank int default 1"])
    await #expect {
      try await Store.migrate(at: lab.url, key: testKey, migrations: edited)
    } throws: { error in
      guard case StoreError.historyConflict(.edited(2, _, _, _, let lines)) = error else { return false }
      return lines == ["- add attribute User.rank int default 0", "+ add attribute User.rank int default 1"]
    }
  }

  @Test func `8: no step is skipped or run out of order, whatever numbers a merge produced`() async throws {
    try await lab.migrate("add attribute User.mine int default 0")
    // A merge gave the number to another step, and the next number to ours.
    let merged = try lab.set([
      Self.base, "add attribute User.theirs int default 0", "add attribute User.mine int default 0",
    ])
    await #expect {
      try await Store.migrate(at: lab.url, key: testKey, migrations: merged)
    } throws: {
      if case StoreError.historyConflict = $0 { true } else { false }
    }
    #expect {
      try MigrationSet(lab.set([Self.base, "drop entity Post"]).steps + [step(2, Self.plain)])
    } throws: { error in
      guard case StoreError.historyConflict(.duplicate(2, let files)) = error else { return false }
      return files == ["0002_step2.migration"] && "\(error)".contains("Give the next free number to the one")
    }
    #expect(throws: StoreError.historyConflict(.gap(2))) {
      try MigrationSet(lab.set([Self.base]).steps + [step(3, Self.plain)])
    }
    #expect(try lab.isSound() && lab.open().userVersion() == 2)
  }

  @Test func `9: tables that were changed by hand are reported line by line, and nothing is reset`()
    async throws
  {
    try lab.open().execute("ALTER TABLE User ADD COLUMN extra TEXT")
    await #expect {
      try await lab.migrate("add attribute User.mail string optional")
    } throws: { error in
      guard case StoreError.schemaDrift(_, let lines) = error else { return false }
      return lines.count == 1
        && lines[0].hasPrefix("User has an unexpected column extra TEXT (")
    }
    #expect(try lab.rows("SELECT name, extra FROM User ORDER BY id") == [["Ann", .null], ["Bob", .null]])
  }

  @Test func `10: the model follows from the steps alone, whatever other files the folder has`() throws {
    let folder = try TemporaryFolder()
    for (index, text) in [Self.base, "drop entity Post"].enumerated() where index == 0 {
      try folder.write(Data("format: 1\n[up]\n\(text)\n".utf8), to: "000\(index + 1)_s.migration")
    }
    let model = try MigrationSet.directory(folder.url).model(at: 1)
    try folder.write(Data("<<<<<<< ours\n{}\n".utf8), to: "schema.json")
    try folder.write(Data("0001 nonsense\n".utf8), to: "migrations.lock")
    #expect(try MigrationSet.directory(folder.url).model(at: 1) == model)
  }

  @Test func `11: the stored size of a step depends on its own text, not on the size of the model`()
    async throws
  {
    let attributes = (0..<200).map { "add attribute Post.a\($0) int default 0" }.joined(separator: "\n")
    let steps = [Self.base, attributes, "add attribute User.mail string optional"]
    try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set(steps))
    let sizes = try lab.rows("SELECT length(text) + length(down) FROM vault_migrations ORDER BY version")
    #expect(sizes.count == 3 && (sizes[2].first?.int64 ?? 1000) < 100, "\(sizes)")
    #expect(try lab.set(steps).steps[2].text.utf8.count < 150)
  }

  @Test func `13: a foreign table with the name of a temporary table does not stop a step`() async throws {
    try lab.open().executeScript("CREATE TABLE _mig_User(x); INSERT INTO _mig_User VALUES (1)")
    try await lab.migrate("retype User.name to string using (upper($User.name))")
    #expect(try lab.rows("SELECT name FROM User ORDER BY id") == [["ANN"], ["BOB"]])
    #expect(try lab.isSound() && !lab.open().tableNames().contains { $0.hasPrefix("_mig") })
  }

  @Test func `14: a rebuilt table has the indexes, constraints, column order and defaults of a new one`()
    async throws
  {
    let step =
      "retype User.name to string using (upper($User.name))\nretype Post.text to string using (lower($Post.text))"
    try await lab.migrate(step)
    let fresh = lab.folder.url.appendingPathComponent("fresh.store")
    try await Store.create(at: fresh, key: testKey, migrations: lab.set([Self.base, step]))
    let query = "SELECT name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'vault%' ORDER BY name"
    let (old, new) = (try lab.rows(query), try Connection.open(fresh.path, key: testKey).rows(sql: query))
    #expect(old == new && old.count > 5)
    let connection = try lab.open()
    #expect(throws: SQLError.self) { try connection.execute("INSERT INTO User(name) VALUES ('ANN')") }
    try connection.execute("INSERT INTO User(name) VALUES ('Cid')")
    #expect(try connection.rows("SELECT age, price FROM User WHERE name = 'Cid'") == [[7, "1.5"]])
  }

  @Test func `16: a migration reports its progress, and cancelling it leaves no trace`() async throws {
    let set = try lab.set([Self.base, "retype User.name to string using (upper($User.name))"])
    let progress = Progress(totalUnitCount: 1)
    progress.cancel()
    await #expect(throws: CancellationError.self) {
      try await Store.migrate(at: lab.url, key: testKey, migrations: set, progress: progress)
    }
    #expect(try lab.open().userVersion() == 1)
    let shown = Progress(totalUnitCount: 1)
    try await Store.migrate(at: lab.url, key: testKey, migrations: set, progress: shown)
    #expect(shown.isFinished && shown.totalUnitCount == 3)
  }

  @Test func `19: the rows that a step leaves are always checked`() async throws {
    // Values of another type, references to missing rows, and duplicates of a unique value: each in a step
    // without checks of its own.
    for sql in [
      "UPDATE $User SET $User.age = 'old'", "INSERT INTO $Post($Post.text, $Post.user) VALUES ('x', 99)",
      "UPDATE $User SET $User.name = 'same'",
    ] {
      await #expect(throws: StoreError.self) { try await lab.migrate("transform sql { \(sql) }") }
    }
    // The checks find no fault in a sound store, however often they run.
    for _ in 0..<3 { #expect(try lab.isSound()) }
  }

  @Test func `20: a proposal has the differences and the lines to write; plan and history write nothing`()
    async throws
  {
    let schema = Schema(entities: [EntityDescription(name: "User", attributes: [])])
    let differences = try lab.set([Self.base]).proposal(for: schema)
    #expect(differences.lines.contains("drop entity Post") && differences.losses.contains("User.name"))
    let before = try (lab.folder.bytes("lab.store"), lab.folder.names)
    let pending = try lab.set([Self.base, "drop entity Post\nadd attribute User.mail string optional"])
    _ = try? await Store.plan(at: lab.url, key: testKey, migrations: pending)
    _ = try await Store.history(at: lab.url, key: testKey)
    _ = try await Store.carriedSteps(at: lab.url, key: testKey)
    #expect(try (lab.folder.bytes("lab.store"), lab.folder.names) == before)
  }
}
