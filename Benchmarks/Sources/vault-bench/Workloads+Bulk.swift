// Workloads 20, 29 and 38: live results, and changes of many rows.

import CFloor
import CipherSQLite
import Foundation
import ObjectVault

final class BulkThread: ManagedObject {
  @Attribute var title: String
  @ToMany(inverse: \BulkReply.thread, onDelete: .cascade) var replies: Set<BulkReply>
}

final class BulkReply: ManagedObject {
  @Attribute var text: String
  @Attribute var kind: Int
  @Attribute var bytes: Int
  @ToOne var thread: BulkThread?
}

let bulkSchema = Schema {
  Entity(BulkThread.self)
  Entity(BulkReply.self)
}

/// A store of threads with two replies each. The floor uses the same file by a connection of its own.
@MainActor final class BulkBench {
  private let folder: URL
  private let store: Store
  private let floor: Floor
  private let count: Int
  /// A value that no row has yet.
  private var value = 0

  init(replies: Int) async throws {
    count = replies
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("vault-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let url = folder.appendingPathComponent("ours.store")
    store = try await Store.open(
      at: url, key: .raw(rawKey), schema: bulkSchema, migrations: .creatingSchema)
    let context = store.makeContext()
    for number in 0..<(replies / 2) {
      let thread = context.insert(BulkThread.self) { $0.title = "thread \(number)" }
      for part in 0..<2 {
        context.insert(BulkReply.self) {
          $0.text = "the text of reply \(number * 7919 % replies) \(part)"
          $0.kind = number % 100
          $0.bytes = 0
          $0.thread = thread
        }
      }
    }
    try context.save()
    floor = Floor(url.path, cacheBytes: Floor.readerCache)
    floor.run("PRAGMA foreign_keys = ON")
  }

  isolated deinit {
    store.close()
    floor.close()
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: 29

  func floorUpdate() -> Double {
    value += 1
    let value = value
    return seconds {
      floor.run(
        "BEGIN IMMEDIATE; UPDATE BulkReply SET bytes = \(value), _version = _version + 1 WHERE kind >= 0; COMMIT"
      )
    }
  }

  func oursUpdate() throws -> Double {
    value += 1
    let (value, context) = (value, store.makeContext())
    return try seconds {
      blackHole(try context.fetch(BulkReply.self).where("kind >= 0").update(.set(\.bytes, to: value)))
    }
  }

  // MARK: 38

  /// Both delete half of the threads with their replies. The transaction is rolled back, which is not timed.
  func floorDelete() -> Double {
    floor.run("BEGIN IMMEDIATE")
    let time = seconds { floor.run("DELETE FROM BulkThread WHERE id <= \(count / 4)") }
    floor.run("ROLLBACK")
    return time
  }

  private struct Done: Error { let seconds: Double }

  func oursDelete() async throws -> Double {
    let last = count / 4
    do {
      try await store.write { context in
        let threads = try context.fetch(BulkThread.self).where("id <= %ld", last)
        let time = try seconds { blackHole(try threads.delete()) }
        throw Done(seconds: time)
      }
      return .nan
    } catch let done as Done { return done.seconds }
  }

  // MARK: 20

  private struct Shown: Sendable, Equatable {
    let text: String
    let bytes: Int
  }

  private let commits = 20
  private var request: ObjectRequest<BulkReply> { BulkReply.request.sorted(by: \.text).limit(10_000) }

  /// Changes one in a hundred of the rows that are shown.
  private func change(_ round: Int, _ ids: [ObjectID<BulkReply>]) async throws {
    value += 1
    let value = value
    try await store.write { context in
      let some = ids.enumerated().filter { $0.offset % 100 == round % 100 }.map(\.element)
      for reply in try context.objects(with: some) { reply.bytes = value }
    }
  }

  private func shownIDs() async throws -> [ObjectID<BulkReply>] {
    let request = request
    return try await store.read { try $0.fetch(request).ids() }
  }

  func fetchAgain() async throws -> Double {
    let (ids, request) = (try await shownIDs(), request)
    let read: @Sendable (ObjectContext) throws -> [Shown] = { context in
      try context.fetch(request).all().map { Shown(text: $0.text, bytes: $0.bytes) }
    }
    var shown = try await store.read(read)
    var time = 0.0
    for round in 0..<commits {
      try await change(round, ids)
      let start = ContinuousClock.now
      let again = try await store.read(read)
      let difference = again.indices.filter { again[$0] != shown[$0] }
      shown = again
      time += (ContinuousClock.now - start) / .seconds(1)
      guard difference.count == 100 else { fatalError("rows \(difference.count)") }
    }
    lastThreadSeconds = .nan
    return time
  }

  func observe() async throws -> Double {
    let ids = try await shownIDs()
    var results = store.observe(request) { Shown(text: $0.text, bytes: $0.bytes) }.makeAsyncIterator()
    _ = try await results.next()
    var time = 0.0
    for round in 0..<commits {
      try await change(round, ids)
      let start = ContinuousClock.now
      let result = try await results.next()
      time += (ContinuousClock.now - start) / .seconds(1)
      guard result?.difference.updates.count == 100 else { fatalError("updates") }
    }
    lastThreadSeconds = .nan
    return time
  }
}
