// Automatic migrations of stores that several callers open at once, or that others migrate meanwhile.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension Automatic {
  @Test func `of two openings at once one makes the step, and both stores work`() async throws {
    try await fill()
    async let one = open(second)
    async let other = open(second)
    let stores = try await [one, other]
    #expect(stores.compactMap(\.opening.automaticStep).count == 1)
    for (number, store) in stores.enumerated() {
      #expect(store.opening.version == 2)
      try await store.write { _ = $0.insert(Second.Song.self) { $0.title = "by \(number)" } }
    }
    #expect(try await stores[0].read { try $0.fetch(Second.Song.self).count() } == 5)
    for store in stores { store.close() }
  }

  @Test func `two openings at once with different classes report no edited step`() async throws {
    try await fill()
    let schemas = [Schema { Entity(Noted.Song.self) }, Schema { Entity(Starred.Song.self) }]
    async let small = Result(opening: { try await open(schemas[0]) })
    async let large = Result(opening: { try await open(schemas[1]) })
    // The classes with more properties can migrate from the model of the others, but not the reverse.
    let store = try await large.get()
    switch await small {
    case .success(let other):
      #expect(other.opening.version == 2 && store.opening.version == 3)
      other.close()
    case .failure(StoreError.notAutomatic): #expect(store.opening.version == 2)
    case .failure(let error): Issue.record(error)
    }
    store.close()
  }

  /// Steps that others add, and the version of an opening that has read the store before them; nil if its
  /// classes do not fit any more.
  static let stepsOfOthers: [(names: [String], lines: [String], version: Int?)] = [
    (["automatic"], ["add attribute Song.note string optional"], 2),
    (["notes"], ["add attribute Song.note string optional"], 2),
    (
      ["notes", "size"],
      ["add attribute Song.note string optional", "add attribute Song.size int default 0"], nil
    ),
    (
      ["automatic", "size"],
      ["add attribute Song.note string optional", "add attribute Song.size int default 0"], nil
    ),
    (
      ["size", "no_size"],
      [
        "add attribute Song.size int default 0",
        "drop attribute Song.size\nadd attribute Song.note string optional",
      ], 3
    ),
  ]

  @Test(arguments: stepsOfOthers.indices)
  func `an opening accepts steps that others add between its reading and its lock`(_ index: Int) async throws
  {
    let (names, lines, version) = Self.stepsOfOthers[index]
    try await fill()
    let later = folder.url.appendingPathComponent("later.store")
    try FileManager.default.copyItem(at: url, to: later)
    let carried = try await Store.carriedSteps(at: url, key: testKey)
    let steps = try zip(names, lines).enumerated().map { place, step in
      try MigrationStep(
        number: place + 2, name: step.0,
        text: "format: 1\nallow: lossy:Song.size\n[up]\n\(step.1)\n")
    }
    _ = try await Store.migrate(
      at: later, key: testKey, migrations: MigrationSet(carried.steps + steps), makesBackups: false)
    // The lock is held until the opening waits for it. Then the store gets the content of the other one.
    let other = try Connection.open(url.path, key: testKey)
    try other.attach(later.path, as: "later", key: testKey)
    try other.begin()
    let hasEnded = Locked(false)
    let opening = Task {
      defer { hasEnded.withLock { $0 = true } }
      // Longer than a busy machine takes until the steps are written.
      var configuration = Store.Configuration()
      configuration.busyTimeout = 300
      return try await Store.open(
        at: url, key: testKey, schema: Schema { Entity(Noted.Song.self) }, migrations: .automatic,
        configuration: configuration)
    }
    // Until the opening has read the steps and waits for the lock, which cannot be observed. On a machine
    // that takes longer it finds the new steps at once.
    try await Task.sleep(for: .seconds(1))
    try #require(!hasEnded.withLock { $0 } && !MigrationMark.isHeld(url.path))
    for row in try other.rows("SELECT name, sql FROM later.sqlite_master WHERE type = 'table'") {
      guard let name = row[0].string, let sql = row[1].string, !name.hasPrefix("sqlite_") else { continue }
      try other.executeScript("DROP TABLE IF EXISTS main.\"\(name)\"")
      try other.executeScript(sql)
      try other.executeScript("INSERT INTO main.\"\(name)\" SELECT * FROM later.\"\(name)\"")
    }
    try other.commit()
    other.close()
    do {
      let store = try await opening.value
      #expect(store.opening.version == version && store.opening.automaticStep == nil)
      #expect(try await store.read { try $0.fetch(Noted.Song.self).count() } == 3)
      store.close()
    } catch StoreError.notAutomatic(_, let reasons, _) {
      #expect(version == nil, "\(reasons)")
    }
  }
}

extension Result where Failure == any Error, Success: Sendable {
  fileprivate init(opening body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
