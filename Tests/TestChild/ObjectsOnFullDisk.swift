// Saves of objects while no file may grow beyond a limit, as on a full disk.

import CipherSQLite
import Foundation
import Microblog
import ObjectVault
import TestSupport

/// Saves under limits that grow from nothing, by a context of its own and in writes. Prints a line for each
/// outcome, or a fault: objects whose commit failed must be pending, and the next save must write them all.
func saveObjectsOnFullDisk(_ url: URL) async throws {
  signal(SIGXFSZ, SIG_IGN)
  let store = try await openMicroblog(url)
  let text = String(repeating: "x", count: 2000)
  for attempt in 0..<12 {
    let context = store.makeContext()
    let before = try context.fetch(Status.self).count()
    let statuses = (0..<100).map { number in
      context.insert(Status.self) {
        $0.text = "\(attempt).\(number) \(text)"
        $0.createdAt = .now
      }
    }
    // The last attempts have no limit, as the log keeps its size.
    limitFiles(to: attempt < 10 ? attempt * 40_000 : nil)
    var outcome = "done"
    do { try context.save() } catch SQLError.diskFull { outcome = "full" } catch { outcome = "\(error)" }
    limitFiles(to: nil)
    if outcome != "done" {
      guard statuses.allSatisfy({ $0.state == .inserted && $0.hasChanges }), context.hasChanges else {
        return acknowledge("after a full disk the objects are not pending")
      }
      try context.save()
    }
    guard statuses.allSatisfy({ $0.state == .loaded && !$0.hasChanges }),
      try store.makeContext().fetch(Status.self).count() == before + 100
    else { return acknowledge("the save after a full disk did not write everything") }
    acknowledge(outcome)

    limitFiles(to: attempt * 40_000)
    do {
      try await store.write { context in
        for number in 0..<100 {
          context.insert(Status.self) {
            $0.text = "write \(attempt).\(number) \(text)"
            $0.createdAt = .now
          }
        }
      }
      limitFiles(to: nil)
    } catch SQLError.diskFull {
      limitFiles(to: nil)
      let count = try store.makeContext().fetch(Status.self).count()
      guard count == before + 100 else { return acknowledge("a write that failed left \(count) rows") }
    }
  }
  store.close()
}
