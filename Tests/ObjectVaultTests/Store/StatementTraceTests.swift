// The trace of a store's statements, and the settings of its statistics.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct StatementTraces {
  private final class Log: Sendable {
    private let events = Locked<[TraceEvent]>([])
    func add(_ event: TraceEvent) { events.withLock { $0.append(event) } }
    func take() -> [TraceEvent] {
      events.withLock { events in
        defer { events = [] }
        return events
      }
    }
  }

  private static func store(
    _ folder: TemporaryFolder, showsValues: Bool = false, key: Key = testKey, _ log: Log
  ) async throws -> Store {
    var configuration = Store.Configuration()
    configuration.trace = StatementTrace(showsValues: showsValues) { log.add($0) }
    return try await Store.open(
      at: folder.url.appending(path: "t.store"), key: key, schema: library, migrations: .creatingSchema,
      configuration: configuration)
  }

  private static func fill(_ store: Store) async throws {
    try await store.write { context in
      for number in 0..<30 {
        context.insert(Book.self) { ($0.title, $0.year) = ("canary \(number)", number) }
      }
    }
  }

  @Test func `each statement is reported with the number of rows that it returned or changed`() async throws {
    let (folder, log) = (try TemporaryFolder(), Log())
    let store = try await Self.store(folder, log)
    #expect(log.take().contains { $0.sql.hasPrefix("CREATE TABLE") })
    try await Self.fill(store)
    let insertion = log.take().filter { $0.sql.hasPrefix("INSERT") && $0.sql.contains("Book") }
    #expect(insertion.map(\.rows).reduce(0, +) == 30, "\(insertion)")
    func rows(_ part: String, _ body: @escaping @Sendable (ObjectContext) throws -> Void) async throws
      -> [Int]
    {
      try await store.read(body)
      return log.take().filter { $0.sql.contains(part) }.map(\.rows)
    }
    #expect(try await rows("\"Book\"") { _ = try $0.fetch(Book.self).where("year < 7").all() } == [7])
    #expect(
      try await rows("\"Book\"") { _ = try $0.fetch(Book.self).sorted(by: \.year).limit(4).all() } == [4])
    #expect(try await rows("\"Book\"") { _ = try $0.fetch(Book.self).sorted(by: \.year).all() } == [30])
    #expect(try await rows("\"Book\"") { _ = try $0.fetch(Book.self).values(\.title) } == [30])
    #expect(try await rows("\"Book\"") { _ = try $0.fetch(Book.self).where("year == 99").all() } == [0])
    #expect(try await rows("FROM Book") { _ = try $0.rows("SELECT 1 FROM Book LIMIT 5") } == [5])
    try store.makeContext().execute("UPDATE Book SET year = 1 WHERE year > 9")
    #expect(log.take().filter { $0.sql.hasPrefix("UPDATE Book") }.map(\.rows) == [20])
    store.close()
  }

  @Test func `values are shown only on request, and keys never`() async throws {
    for showsValues in [false, true] {
      let (folder, log) = (try TemporaryFolder(), Log())
      let store = try await Self.store(
        folder, showsValues: showsValues, key: .passphrase("canary passphrase"), log)
      try await Self.fill(store)
      let context = store.makeContext()
      _ = try context.fetch(Book.self).where("title == 'canary 3'").all()
      _ = try context.rows("SELECT 1 FROM Book WHERE title = \("canary 4")")
      try await store.rekey(to: .passphrase("canary other"))
      _ = try context.fetch(Book.self).count()
      store.close()
      let texts = log.take().map(\.sql)
      #expect(texts.contains { $0.contains("'canary 3'") } == showsValues)
      #expect(texts.contains { $0.contains("'canary 4'") } == showsValues)
      #expect(!texts.contains { $0.contains("passphrase") || $0.contains("canary other") })
      #expect(!texts.contains { $0.contains(#/x'[0-9a-fA-F]{16}/#) })
    }
  }

  @Test func `only statements that take long enough are reported`() async throws {
    let (folder, log) = (try TemporaryFolder(), Log())
    var configuration = Store.Configuration()
    configuration.trace = StatementTrace(slowerThan: 3600) { log.add($0) }
    let other = configuration
    #expect(configuration == other && configuration.hashValue == other.hashValue)
    #expect(configuration != Store.Configuration())
    let store = try await Store.open(
      at: folder.url.appending(path: "t.store"), key: testKey, schema: library, migrations: .creatingSchema,
      configuration: configuration)
    try await Self.fill(store)
    store.close()
    #expect(log.take().isEmpty)
  }
}

@Suite struct StatisticsSettings {
  private static func known(_ store: Store) throws -> Set<String> {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    guard try connection.tableExists("sqlite_stat1") else { return [] }
    return Set(try connection.rows("SELECT tbl FROM sqlite_stat1").compactMap { $0[0].string })
  }

  private static func insert(_ count: Int, into store: Store) async throws {
    try await store.write { context in
      for number in 0..<count { context.insert(Book.self) { $0.title = "t\(number)" } }
    }
  }

  @Test func `a store keeps statistics unless the setting is off, and renews them on request`() async throws {
    for keepsStatistics in [true, false] {
      let folder = try TemporaryFolder()
      var configuration = Store.Configuration()
      #expect(configuration.keepsStatistics)
      configuration.keepsStatistics = keepsStatistics
      let open = {
        try await Store.open(
          at: folder.url.appending(path: "t.store"), key: testKey, schema: library,
          migrations: .creatingSchema, configuration: configuration)
      }
      let store = try await open()
      try await Self.insert(1500, into: store)
      #expect(try await store.outdatedStatistics() == ["Book"])
      store.close()
      #expect(try Self.known(store) == (keepsStatistics ? ["Book"] : []))
      let again = try await open()
      #expect(try await again.outdatedStatistics() == (keepsStatistics ? [] : ["Book"]))
      try await Self.insert(3500, into: again)
      #expect(try await again.outdatedStatistics() == ["Book"])
      #expect(try await again.verify().isEmpty)
      try await again.updateStatistics()
      #expect(try await again.outdatedStatistics().isEmpty)
      #expect(try Self.known(again) == ["Book"])
      again.close()
    }
  }

  @Test func `closing does not wait for the lock of another process`() async throws {
    let folder = try TemporaryFolder()
    var configuration = Store.Configuration()
    configuration.busyTimeout = 600
    let store = try await Store.open(
      at: folder.url.appending(path: "t.store"), key: testKey, schema: library, migrations: .creatingSchema,
      configuration: configuration)
    try await Self.insert(1500, into: store)
    let other = try Connection.open(store.url.path, key: testKey)
    defer { other.close() }
    try other.transaction(.immediate) {
      let start = ContinuousClock.now
      store.close()
      // Far below the time that it would wait for the lock.
      #expect(ContinuousClock.now - start < .seconds(60))
    }
    #expect(try Self.known(store).isEmpty)
  }
}
