// Steps that are committed one by one: a failure, a cancellation or a kill leaves the store after the last
// whole step.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.kills, .slow), .serialized) struct EachSteps {
  private let folder: TemporaryFolder
  private var url: URL { folder.url.appendingPathComponent("lab.store") }
  private static let base = "create entity User {\n attribute name string\n attribute age int optional\n}"
  private static let texts = [
    base, "add attribute User.city string default \"Bonn\"", "make User.age required filling 7",
    "rename attribute User.name -> title\nadd index User(title) unique",
    "set default of User.age to 9",
  ]

  init() async throws {
    folder = try TemporaryFolder()
    try await Store.create(at: url, key: testKey, migrations: Self.set().upTo(1))
    let connection = try Connection.open(url.path, key: testKey)
    try connection.executeScript("INSERT INTO User(id, name) VALUES (1, 'Ann'), (2, 'Bob')")
    connection.close()
  }

  /// - Parameter refusing: The number of a step with a condition that fails.
  private static func set(refusing: Int? = nil, count: Int = 5, copying: Int? = nil) throws -> MigrationSet {
    try MigrationSet(
      texts.prefix(count).enumerated().map { index, text in
        let more = index + 1 == refusing ? "\nrequire \"something\" {\n SELECT 0\n}" : ""
        return try MigrationStep(
          number: index + 1, name: "s\(index + 1)",
          text:
            "format: 1\n\(index + 1 == copying ? "backup: always\n" : "backup: never\n")[up]\n\(text)\(more)\n"
        )
      })
  }

  private func migrate(_ set: MigrationSet, _ progress: Progress? = nil) async throws -> MigrationOutcome {
    try await Store.migrate(
      at: url, key: testKey, migrations: set, commitsEachStep: true, progress: progress)
  }

  private func version() throws -> Int {
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    let info = try StoreInfo(connection)
    #expect(try connection.findings().isEmpty && info.drift(connection).isEmpty)
    return info.version
  }

  @Test func `steps that are committed one by one give the same store as one transaction`() async throws {
    let other = folder.url.appendingPathComponent("other.store")
    try FileManager.default.copyItem(at: url, to: other)
    let progress = Progress(totalUnitCount: 0)
    let outcome = try await migrate(try Self.set(), progress)
    #expect(outcome.steps == [2, 3, 4, 5] && outcome.version == 5 && outcome.backup == nil)
    #expect(progress.completedUnitCount == progress.totalUnitCount && progress.totalUnitCount >= 4)
    try await Store.migrate(at: other, key: testKey, migrations: Self.set())
    func content(_ url: URL) throws -> [[SQLValue]] {
      let connection = try Connection.open(url.path, key: testKey)
      return try connection.rows("SELECT id, title, age, city FROM User ORDER BY id")
        + connection.rows(
          "SELECT key, value FROM vault_meta WHERE key NOT IN ('generation', 'standing', 'storeID') ORDER BY key"
        )
        + connection.rows("SELECT version, name, kind, checksum FROM vault_migrations ORDER BY version")
    }
    #expect(try content(url) == content(other))
    let again = try await migrate(try Self.set())
    #expect(again.steps.isEmpty && again.version == 5)
  }

  @Test func `a step that fails keeps the committed steps before it, and the error states the version`()
    async throws
  {
    let error = await #expect(throws: StoreError.self) { try await migrate(try Self.set(refusing: 4)) }
    guard case .stopped(atVersion: 3, by: .store(.migrationFailed(step: 4, _, _, _))) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(
      error?.description.hasSuffix(" The earlier steps are committed: the store is at version 3.") == true)
    #expect(error?.description.contains("unchanged") == false)
    #expect(try version() == 3)
    #expect(try await migrate(try Self.set()).steps == [4, 5])
    #expect(folder.names == ["lab.store"])
  }

  @Test func `a first step that fails leaves the store unchanged, and no copy`() async throws {
    let error = await #expect(throws: StoreError.self) {
      try await migrate(try Self.set(refusing: 2, copying: 2))
    }
    guard case .migrationFailed(step: 2, _, _, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try version() == 1 && folder.names == ["lab.store"])
  }

  @Test func `one copy is made before the first step, and it stays when a later step fails`() async throws {
    await #expect(throws: StoreError.self) { try await migrate(try Self.set(refusing: 5, copying: 4)) }
    let copies = folder.names.filter { $0.hasSuffix(".backup") }
    try #require(copies.count == 1 && copies[0].hasPrefix("lab.store.v1-"), "\(folder.names)")
    let copy = try Connection.open(folder.path(copies[0]), key: testKey)
    #expect(try copy.userVersion() == 1)
    copy.close()
    #expect(try version() == 4 && folder.names.count == 2)
  }

  @Test func `cancellation between two steps keeps the committed steps`() async throws {
    let progress = Progress(totalUnitCount: 0)
    // The function of a Swift transform lets the test act between two steps.
    let set = try MigrationSet(
      Self.set(count: 2).steps + [
        MigrationStep(
          number: 3, name: "s3", text: "format: 1\nbackup: never\n[up]\ntransform swift stop on User\n"),
        MigrationStep(number: 4, name: "s4", text: "format: 1\n[up]\nadd attribute User.b int optional\n"),
      ]
    ).transforming(by: [.objects("stop") { _, _ in progress.cancel() }])
    await #expect(throws: CancellationError.self) { try await migrate(set, progress) }
    #expect(try version() == 2)
  }

  @Test func `a store that is open at an intermediate version reports the next step at its next read`()
    async throws
  {
    await #expect(throws: StoreError.self) { try await migrate(try Self.set(refusing: 4)) }
    let between = try await Store.open(at: url, key: testKey)
    defer { between.close() }
    #expect(between.opening.version == 3)
    await #expect(throws: StoreError.self) { try await migrate(try Self.set(refusing: 5)) }
    await #expect(throws: StoreError.storeMigratedElsewhere(file: url.path)) {
      try await between.read { try $0.fetch(entity: "User").count() }
    }
    // A program of version 2 is refused as at any other version.
    await #expect {
      try await Store.migrate(at: url, key: testKey, migrations: Self.set().upTo(2))
    } throws: { error in
      guard case StoreError.storeIsNewer(_, found: 4, supported: 2, _, _) = error else { return false }
      return true
    }
  }

  @Test func `opening a store with commitsEachStep commits each step by itself`() async throws {
    var configuration = Store.Configuration()
    configuration.commitsEachStep = true
    let (set, schema) = (try Self.set(refusing: 4), EachStepModel.schema)
    await #expect(throws: StoreError.self) {
      try await Store.open(
        at: url, key: testKey, schema: schema, migrations: .set(set), configuration: configuration)
    }
    #expect(try version() == 3)
  }

  @Test func `a killed run leaves the store after a whole step`() async throws {
    let steps = folder.url.appendingPathComponent("Steps")
    try FileManager.default.createDirectory(at: steps, withIntermediateDirectories: false)
    for step in try Self.set().steps {
      try Data(step.text.utf8).write(to: steps.appendingPathComponent(step.fileName))
    }
    let connection = try Connection.open(url.path, key: testKey)
    try connection.execute(
      "INSERT INTO User(name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 8000) SELECT 'user ' || i FROM n"
    )
    connection.close()
    let template = try Data(contentsOf: url)
    let start = Date()
    _ = try runChild("lead-each-5", url.path)
    let seconds = Date().timeIntervalSince(start)
    #expect(try version() == 5)
    var found: Set<Int> = []
    for _ in 0..<killCount {
      for name in folder.names where name.hasPrefix("lab.store") { unlink(folder.path(name)) }
      try template.write(to: url)
      _ = try runAndKillChild("lead-each-5", url, after: 0...seconds)
      found.insert(try version())
      try await Store.migrate(at: url, key: testKey, migrations: Self.set())
      #expect(try version() == 5 && folder.names.filter { !$0.hasPrefix("Steps") } == ["lab.store"])
    }
    if isTorture { #expect(found.count > 2, "\(found)") }
  }
}

private enum EachStepModel {
  final class User: ManagedObject {
    @Attribute(.unique) var title: String
    @Attribute var age: Int = 9
    @Attribute var city: String = "Bonn"
  }
  static let schema = Schema { Entity(User.self) }
}
