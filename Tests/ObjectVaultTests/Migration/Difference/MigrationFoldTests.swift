// Steps that are folded into one: new stores are equal, old ones are not affected, and stores at a folded
// version get an error with the release that they need.

import CipherSQLite
import Foundation
import Migrations
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.tags(.slow)) struct MigrationFolds {
  static let steps = [
    "create entity A {\n attribute n string\n}\nseed { INSERT INTO $A($A.n) VALUES ('first') }",
    "rename attribute A.n -> name\nadd attribute A.m int default 0",
    "transform sql { UPDATE $A SET $A.m = 5 }\nrequire \"all have five\" { SELECT count(*) = 0 FROM $A WHERE $A.m <> 5 }",
    "create entity B {\n attribute t string\n}\nadd relationship A.bs -> B many",
  ]
  static let plain = ["create entity A {\n attribute n string\n}", steps[1], steps[2], "add index A(name)"]

  private func history(_ url: URL) async throws -> [String] {
    try await Store.history(at: url, key: testKey).map { "\($0.number) \($0.name) \($0.checksum)" }
  }

  @Test(arguments: [plain, steps]) func `a store that a fold created equals one that the steps created`(
    _ texts: [String]
  ) async throws {
    let many = try await DowngradeLab(texts, at: 4)
    for number in 2...4 {
      let fold = try many.set.folded(to: number, release: "4.1")
      #expect(fold.migrations.version == 4 && fold.migrations.foldedVersion == number)
      #expect(try fold.migrations.model(at: 4).meaningHash == many.set.model(at: 4).meaningHash)
      #expect(fold.migrations.steps.map(\.checksum) == many.set.steps.map(\.checksum))
      #expect(fold.step.operations.count <= many.set.steps.prefix(number).flatMap(\.operations).count)
      let url = many.folder.url.appendingPathComponent("one\(number).store")
      try await Store.create(at: url, key: testKey, migrations: fold.migrations)
      #expect(try StoreImage(url) == StoreImage(many.url))
      #expect(try await history(url) == history(many.url))
      // Each opens with the steps of the other.
      #expect(try await Store.plan(at: url, key: testKey, migrations: many.set).isUpToDate)
      #expect(try await Store.plan(at: many.url, key: testKey, migrations: fold.migrations).isUpToDate)
    }
  }

  @Test func `a fold removes the files of a killed one, and no user's folder`() throws {
    let aside = try TemporaryFolder()
    /// The folder gets its name when it is complete. Other tests fold at the same time, and each removes
    /// what killed folds left.
    func leave(_ names: [String]) throws -> URL {
      let letters = (0..<6).compactMap { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement() }
      let url = FileManager.default.temporaryDirectory.appendingPathComponent("vault-fold-" + String(letters))
      let built = aside.url.appendingPathComponent("built")
      try FileManager.default.createDirectory(at: built, withIntermediateDirectories: false)
      for name in names { try Data([1]).write(to: built.appendingPathComponent(name)) }
      try FileManager.default.moveItem(at: built, to: url)
      return url
    }
    let proof = ["steps", "steps-journal", try TemporaryName.random(for: "one"), "lock"]
    let (left, users) = (try leave(proof), try leave(proof + ["my notes.txt"]))
    defer { try? FileManager.default.removeItem(at: users) }
    _ = try DowngradeLab.set(Self.steps).folded(to: 4)
    #expect(!FileManager.default.fileExists(atPath: left.path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: users.path).count == 5)
  }

  @Test func `a fold keeps blocks where rows are seeded, and omits those that could meet no row`() throws {
    let seeded = try DowngradeLab.set(Self.steps).folded(to: 4)
    #expect(seeded.kept == ["0001 seed", "0003 transform sql", "0003 require \"all have five\""])
    #expect(seeded.leftOut.isEmpty)
    let plain = try DowngradeLab.set(Self.plain).folded(to: 4)
    #expect(plain.kept.isEmpty && plain.leftOut == ["0003 transform sql", "0003 require \"all have five\""])
    #expect(plain.step.operations.count == 1)
  }

  @Test func `a fold of a seed with other rows each time is refused, and names the seed`() throws {
    let set = try DowngradeLab.set([
      Self.plain[0], "seed { INSERT INTO $A($A.n) VALUES (hex(randomblob(8))) }",
    ])
    #expect {
      try set.folded(to: 2)
    } throws: { error in
      guard case StoreError.foldRefused(through: 2, let reason) = error else { return false }
      return reason.contains("0002 seed") && reason.contains("A has 1 row with")
    }
    for number in [0, 1, 3] {
      #expect { try set.folded(to: number) } throws: {
        if case StoreError.foldRefused = $0 { true } else { false }
      }
    }
  }

  @Test func `a store at a folded version is refused, with the release that it needs`() async throws {
    let lab = try await DowngradeLab(Self.plain, at: 2)
    let fold = try lab.set.folded(to: 3, release: "4.1 beta").migrations
    let bytes = try Data(contentsOf: lab.url)
    for run in [
      { try await Store.migrate(at: lab.url, key: testKey, migrations: fold).steps.count },
      { try await Store.plan(at: lab.url, key: testKey, migrations: fold).steps.count },
    ] {
      await #expect {
        _ = try await run()
      } throws: { error in
        error as? StoreError
          == .historyConflict(.folded(version: 2, into: 3, name: "s3", release: "4.1 beta"))
      }
    }
    #expect(try Data(contentsOf: lab.url) == bytes)
    #expect(
      "\(HistoryConflict.folded(version: 2, into: 3, name: "s3", release: "4.1 beta"))".contains(
        "release 4.1 beta"))
    #expect { try fold.upTo(2) } throws: { "\($0)".contains("version 2") }
    // The former files bring it to a version that both have.
    try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set.upTo(3))
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: fold).steps == [4])
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: lab.set).isUpToDate)
  }

  @Test func `a fold works for an empty store, and for the rollback of steps that ran separately`()
    async throws
  {
    let lab = try await DowngradeLab(Self.plain, at: 0)
    let fold = try lab.set.folded(to: 3).migrations
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: fold).steps == [1, 2, 3, 4])
    // What the fold made has no rollback. Steps that the store ran itself have theirs.
    await #expect {
      try await Store.downgrade(at: lab.url, key: testKey, to: 2, migrations: fold)
    } throws: { if case StoreError.cannotRollBack(step: 3, _, _) = $0 { true } else { false } }
    let other = try await DowngradeLab(
      [Self.plain[0], Self.plain[1], "add index A(m)", Self.plain[3]], at: 4)
    let folded = try other.set.folded(to: 3).migrations
    try await Store.downgrade(
      at: other.url, key: testKey, to: 1, migrations: folded, makesBackups: false, allowing: ["A.m"])
    #expect(try await history(other.url).count > 4)
  }

  @Test func `a folded step can be folded again, and keeps the earlier releases`() throws {
    let set = try DowngradeLab.set(Self.plain)
    let again = try set.folded(to: 2, release: "1").migrations.folded(to: 4, release: "2")
    #expect(again.step.folds.map(\.release) == ["1", "1", "2", "2"])
    #expect(again.migrations.steps.map(\.checksum) == set.steps.map(\.checksum))
    #expect { try again.migrations.folded(to: 4) } throws: { "\($0)".contains("name a later step") }
  }

  @Test(arguments: [plain, steps])
  func `the steps that a store carries after a fold can be written to files`(_ texts: [String]) async throws {
    let set = try DowngradeLab.set(texts)
    for (steps, number) in [(set, 0), (try set.folded(to: 3).migrations, 3)] {
      let lab = try await DowngradeLab(steps, at: 4)
      let carried = try await Store.carriedSteps(at: lab.url, key: testKey)
      #expect(carried.version == 4 && carried.foldedVersion == number)
      #expect(carried.steps.map(\.checksum) == set.steps.map(\.checksum))
      let files = try MigrationSet(
        carried.steps.filter { !$0.isPlaceholder }.map {
          try MigrationStep(number: $0.number, name: $0.name, text: $0.text)
        })
      #expect(files.steps.map(\.checksum) == set.steps.map(\.checksum))
      #expect(try await Store.plan(at: lab.url, key: testKey, migrations: files).isUpToDate)
      let other = lab.folder.url.appendingPathComponent("other.store")
      try await Store.create(at: other, key: testKey, migrations: files)
      #expect(try StoreImage(other) == StoreImage(lab.url))
    }
  }

  @Test func `a fold file that does not name all steps that it replaces is refused`() throws {
    for head in [
      "replaces: 0002 b s1:x", "replaces: 0001 a s1:x", "replaces: 0001 a",
      "replaces: 0001 a s1:x\nreplaces: 0003 s2 s1:y",
      "replaces: 0001 a s1:x\nreplaces: 0002 c s1:y", "replaces: 0001 a s1:x until\nreplaces: 0002 s2 s1:y",
    ] {
      #expect(throws: StoreError.self) {
        try MigrationStep(number: 2, name: "s2", text: "format: 1\n\(head)\n[up]\n")
      }
    }
    let step = try MigrationStep(
      number: 2, name: "s2",
      text: "format: 1\nreplaces: 0001 a s1:x until 4 beta\nreplaces: 0002 s2 s1:y\n[up]\n")
    #expect(step.checksum == "s1:y" && step.folds[0].release == "4 beta")
    #expect(try MigrationStep(number: 2, name: "s2", text: step.text) == step)
    // No other step may have a number that the fold replaces.
    let other = try MigrationStep(number: 1, name: "a", text: "format: 1\n[up]\n")
    #expect { try MigrationSet([other, step]) } throws: {
      ($0 as? StoreError)
        == .historyConflict(
          .duplicate(number: 1, files: ["0001_a.migration", "0002_s2.migration"]))
    }
  }

  @Test func `the microblog's steps can be folded at every number`() throws {
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    for number in 2...set.version {
      let fold = try set.folded(to: number)
      #expect(
        try fold.migrations.model(at: set.version).meaningHash == set.model(at: set.version).meaningHash)
    }
  }

  @Test func `a fold keeps a transform that makes rows in a new store, and omits one that makes none`() throws
  {
    func fold(_ block: String) throws -> MigrationFold {
      let texts = ["create entity Tag {\nattribute name string\n}", "transform sql { \(block) }"]
      let steps = try texts.enumerated().map { index, text in
        try MigrationStep(number: index + 1, name: "s\(index + 1)", text: "format: 1\n[up]\n\(text)\n")
      }
      return try MigrationSet(steps).folded(to: 2)
    }
    #expect(try fold("INSERT INTO $Tag ($Tag.name) VALUES ('inbox')").kept == ["0002 transform sql"])
    #expect(try fold("UPDATE $Tag SET $Tag.name = upper($Tag.name)").leftOut == ["0002 transform sql"])
  }

  @Test func `a block with other values each time is not folded, and the error states why`() throws {
    let texts = [
      "create entity Tag {\nattribute name string\n}",
      "seed { INSERT INTO $Tag ($Tag.name) VALUES (hex(randomblob(8))) }",
    ]
    let set = try MigrationSet(
      texts.enumerated().map { index, text in
        try MigrationStep(number: index + 1, name: "s\(index + 1)", text: "format: 1\n[up]\n\(text)\n")
      })
    #expect {
      _ = try set.folded(to: 2)
    } throws: { error in
      let text = "\(error)"
      return text.contains("SQL such as random()")
        && text.components(separatedBy: "cannot be folded").count == 2
    }
  }

  @Test(arguments: [0, 1])
  func `an empty step among folded ones is carried as one of them`(_ place: Int) async throws {
    var texts = [
      "create entity A {\n attribute n int\n}", "add attribute A.m int optional", "add index A(n)",
    ]
    texts.insert("# nothing", at: place)
    let set = try DowngradeLab.set(texts)
    let folded = try set.folded(to: 3).migrations
    let lab = try await DowngradeLab(folded, at: 4)
    let carried = try await Store.carriedSteps(at: lab.url, key: testKey)
    #expect(carried.version == 4 && carried.foldedVersion == 3)
    #expect(try carried.model(at: 4) == set.model(at: 4))
    // In a store that ran it, it is an ordinary step.
    let plain = try await DowngradeLab(set, at: 4)
    #expect(try await Store.carriedSteps(at: plain.url, key: testKey).foldedVersion == 0)
  }

  @Test func `the note of a fold belongs to stores in which the fold ran`() async throws {
    let many = try await DowngradeLab(Self.plain, at: 4)
    let fold = try many.set.folded(to: 3, release: "4.1").migrations
    let note = try #require(fold.steps[2].note)
    let one = many.folder.url.appendingPathComponent("one.store")
    try await Store.create(at: one, key: testKey, migrations: fold)
    func notes(_ url: URL) async throws -> [String?] {
      let plan = try await Store.plan(at: url, key: testKey, migrations: fold)
      return zip(plan.history, fold.steps).map { $0.note(of: $1) }
    }
    #expect(try await notes(many.url) == [nil, nil, nil, nil])
    #expect(try await notes(one) == [nil, nil, note, nil])
  }
}
