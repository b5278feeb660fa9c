// Workloads 22 and 28: what a history costs, against the same writes without one.

import Foundation
import ObjectVault

/// Stores of tracks with and without a history. Each run has files of its own.
@MainActor final class HistoryBench {
  private let folder: URL
  private let tracks: [TrackRow]

  init(_ tracks: [TrackRow]) throws {
    self.tracks = tracks
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("vault-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  isolated deinit { try? FileManager.default.removeItem(at: folder) }

  /// Calls `body` with a new store, and removes the store.
  private func withStore<Result>(_ keepsHistory: Bool, _ body: (Store) throws -> Result) async throws
    -> Result
  {
    let url = folder.appendingPathComponent("\(UUID().uuidString).store")
    let schema = keepsHistory ? Schema { Entity(Track.self).history() } : Schema { Entity(Track.self) }
    let store = try await Store.open(at: url, key: .raw(rawKey), schema: schema, migrations: .creatingSchema)
    defer {
      store.close()
      for file in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: url.path + file) }
    }
    return try body(store)
  }

  private func insert(into context: ObjectContext) throws {
    for track in tracks {
      context.insert(Track.self) { $0.set(track) }
    }
    try context.save()
  }

  func insert(keepsHistory: Bool) async throws -> Double {
    try await withStore(keepsHistory) { store in
      let context = store.makeContext()
      return try seconds { try insert(into: context) }
    }
  }

  /// Changes one attribute of every second object.
  func update(keepsHistory: Bool) async throws -> Double {
    try await withStore(keepsHistory) { store in
      let context = store.makeContext()
      try insert(into: context)
      let objects = try context.fetch(Track.self).where("number %% 2 == 0").all()
      return try seconds {
        for object in objects { object.plays += 1 }
        try context.save()
      }
    }
  }

  /// The bytes of a store after an insertion, in billions.
  func bytes(keepsHistory: Bool) async throws -> Double {
    try await withStore(keepsHistory) { store in
      try insert(into: store.makeContext())
      store.close()
      let size = try FileManager.default.attributesOfItem(atPath: store.url.path)[.size] as? Int ?? 0
      return Double(size) / 1e9
    }
  }
}
