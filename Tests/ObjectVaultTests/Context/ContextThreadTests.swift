// Contexts of several threads at once: that of the main actor, which merges and notifies observers, and those
// of background tasks, which write. For the thread sanitizer, too (`make sanitize`).

import Foundation
import ObjectVault
import Observation
import TestSupport
import Testing

@Suite struct ContextThreads {
  /// Counts from any thread.
  private actor Counter {
    private(set) var count = 0
    func add() { count += 1 }
  }

  @Test @MainActor func `the main context shows what background contexts commit, while it writes itself`()
    async throws
  {
    let temporary = try await TemporaryStore(UndoModel.schema)
    let store = temporary.store
    let ids = try await store.write { context in
      (0..<8).map { number in context.insert(UndoFolder.self) { $0.key = "\(number)" }.id }
    }
    let main = store.mainContext
    main.mergePolicy = .mergeByPropertyObjectTrump
    let folders = try main.objects(with: ids)
    let finished = Counter()
    let rounds = isTorture ? 400 : 40
    let writers = (0..<4).map { writer in
      Task.detached {
        for round in 0..<rounds {
          if round % 4 == 0 {
            try store.saveInContext { context in
              let folder = try context.object(with: ids[(writer * 2 + round) % 8])
              context.insert(UndoPage.self) { ($0.key, $0.folder) = ("\(writer) \(round)", folder) }
            }
          } else {
            try await store.write { try $0.object(with: ids[(writer + round) % 8]).size += 1 }
          }
        }
        await finished.add()
      }
    }
    var notified = 0
    while await finished.count < writers.count {
      let shown = withObservationTracking {
        folders.map { "\($0.size) \($0.pages.count)" }
      } onChange: {
        // On the main actor: observers are notified by the context, which it uses.
        MainActor.assumeIsolated { notified += 1 }
      }
      #expect(shown.count == 8)
      if notified % 5 == 0 {
        folders[notified % 8].key = "main \(notified)"
        try main.save()
      }
      try await Task.sleep(for: .milliseconds(2))
    }
    for writer in writers { try await writer.value }
    // What was merged last, too.
    _ = try main.fetch(UndoTag.self).count()
    let total = folders.reduce(0) { $0 + $1.size }
    #expect(total == 4 * rounds * 3 / 4)
    #expect(folders.reduce(0) { $0 + $1.pages.count } == 4 * rounds / 4)
    #expect(notified > 0)
  }
}

extension Store {
  /// Changes objects in a context of the calling thread, and saves; again after a conflict.
  fileprivate func saveInContext(_ body: (ObjectContext) throws -> Void) throws {
    while true {
      let context = makeContext()
      try body(context)
      do { return try context.save() } catch StoreError.conflicts {}
    }
  }
}
