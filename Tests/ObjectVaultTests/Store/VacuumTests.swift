// Returning free pages to the disk: the size of the file, its content, other connections, cancellation.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Vacuums {
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }

  /// A store most of whose pages are free.
  init() async throws {
    temporary = try await TemporaryStore(library)
    let store = temporary.store
    try await store.write { context in
      for number in 0..<2000 {
        context.insert(Genre.self) { $0.name = "\(number) \(String(repeating: "x", count: 500))" }
      }
    }
    try await store.write { context in
      for genre in try context.fetch(Genre.self).all() where genre.id.rowID % 100 != 0 {
        context.delete(genre)
      }
    }
  }

  private var fileBytes: Int {
    get throws {
      try FileManager.default.attributesOfItem(atPath: store.url.path)[.size] as? Int ?? 0
    }
  }
  /// The rows as another connection reads them.
  private func rows() throws -> [[SQLValue]] {
    try Connection.open(store.url.path, key: testKey).rows("SELECT id, name FROM Genre ORDER BY id")
  }
  private func value(_ sql: SQL) throws -> Int64? {
    try Connection.open(store.url.path, key: testKey).value(sql)?.int64
  }

  @Test func `the file becomes smaller, and its rows and ids stay`() async throws {
    let id = try store.makeContext().fetch(Genre.self).ids()[0]
    let before = try rows()
    #expect(before.count == 20)
    #expect(try value("PRAGMA freelist_count") ?? 0 > 100)
    let progress = Progress(totalUnitCount: 0)
    try await store.vacuum(progress: progress)
    #expect(progress.totalUnitCount > 0 && progress.completedUnitCount == progress.totalUnitCount)
    #expect(try value("PRAGMA freelist_count") == 0)
    let pages = Int(try value("PRAGMA page_count") ?? 0)
    #expect(try fileBytes == pages * store.opening.cipher.pageBytes)
    #expect(try rows() == before)
    #expect(try await store.read { try $0.existing(id) != nil })
    #expect(try await store.verify().isEmpty)
    try await store.write { _ = $0.insert(Genre.self) { $0.name = "new" } }
  }

  @Test func `a reader keeps its snapshot, and the file becomes smaller later`() async throws {
    var configuration = Store.Configuration()
    configuration.busyTimeout = 0.05
    let second = try await Store.open(
      at: store.url, key: testKey, schema: library, migrations: .creatingSchema, configuration: configuration)
    let reader = try Connection.open(store.url.path, key: testKey)
    try reader.begin(.deferred)
    #expect(try reader.value("SELECT count(*) FROM Genre") == 20)
    try await second.write { _ = $0.insert(Genre.self) { $0.name = "new" } }
    let before = try fileBytes
    try await second.vacuum()
    #expect(try reader.value("SELECT count(*) FROM Genre") == 20)
    #expect(try fileBytes >= before)
    try reader.commit()
    reader.close()
    try await second.vacuum()
    #expect(try fileBytes < before / 2)
    #expect(try rows().count == 21)
  }

  @Test func `another writer, and a cancellation, leave the file as it is`() async throws {
    var configuration = Store.Configuration()
    configuration.busyTimeout = 0.05
    let second = try await Store.open(
      at: store.url, key: testKey, schema: library, migrations: .creatingSchema, configuration: configuration)
    let writer = try Connection.open(store.url.path, key: testKey)
    try writer.begin(.immediate)
    await #expect { try await second.vacuum() } throws: { ($0 as? SQLError)?.isBusy == true }
    writer.rollback()
    let cancelled = Progress(totalUnitCount: 0)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await second.vacuum(progress: cancelled) }
    let task = Task { try await second.vacuum() }
    task.cancel()
    _ = await task.result
    #expect(try rows().count == 20)
    #expect(try await second.verify().isEmpty)
    try await second.vacuum()
    #expect(try value("PRAGMA freelist_count") == 0)
  }
}
