// Saves with a history, until the process is killed.

import Foundation
import ObjectVault
import TestSupport

/// Inserts, changes and deletes objects, in transactions of a few rows and of many.
func saveRecorded(_ url: URL) async throws {
  let store = try await Store.open(at: url, key: testKey)
  acknowledge("begin")
  for round in 0..<1_000_000 {
    try await store.write { context in
      context.author = "round \(round)"
      for number in 0..<(round % 8 == 7 ? 3000 : 3) {
        _ = try context.insert(entity: "Memo") {
          ($0["title"], $0["pages"]) = ("memo \(number) of round \(round)", number)
        }
      }
      try context.save()
      let some = try context.fetch(entity: "Memo").sorted(byPath: "id", .reverse).limit(40).all()
      for memo in some { memo["pages"] = round }
      try context.save()
      try context.fetch(entity: "Memo").where("pages < %ld", round - 2).delete()
    }
    acknowledge("saved")
  }
}
