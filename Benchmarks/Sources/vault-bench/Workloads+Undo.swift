// Workload 21: an undo of changes, against the changes.

import Foundation
import ObjectVault

/// A store of tracks, of which each run changes 10,000 and changes them back.
@MainActor final class UndoBench {
  static let count = 10_000
  private let store: Store
  private let context: ObjectContext
  private let objects: [Track]

  init(_ tracks: [TrackRow]) async throws {
    store = try await Store.inMemory(schema: Schema { Entity(Track.self) })
    context = store.makeContext()
    for track in tracks.prefix(Self.count) {
      context.insert(Track.self) { $0.set(track) }
    }
    try context.save()
    objects = try context.fetch(Track.self).all()
    context.undoManager = ContextUndoManager()
  }

  isolated deinit { store.close() }

  /// The time of changing one attribute of each object, without saving.
  func change() throws -> Double {
    defer {
      context.undoManager?.removeAll()
      context.rollback()
      for object in objects { _ = object.plays }
    }
    return try seconds { try changeAll() }
  }

  /// The time of undoing these changes.
  func undo() throws -> Double {
    try changeAll()
    defer { context.undoManager?.removeAll() }
    return try seconds { try context.undo() }
  }

  private func changeAll() throws {
    context.undoManager?.group { for object in objects { object.plays += 1 } }
  }
}
