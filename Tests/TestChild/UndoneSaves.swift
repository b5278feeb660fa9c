// Saves of changes that are undone and made again, until the process is killed.

import Foundation
import Microblog
import ObjectVault
import TestSupport

/// Replaces the only user, and his statuses by a cascade; saves, undoes and redoes that, with a save of each.
/// Users have numbers as names, and each replaces the one before.
func saveUndone(_ url: URL) async throws {
  let store = try await openMicroblog(url)
  try saveUndone(in: store.makeContext())
}

private func saveUndone(in context: ObjectContext) throws {
  context.undoManager = ContextUndoManager()
  var user = try context.fetch(User.self).first()
  for _ in 0..<1_000_000 {
    let former = user
    let number = former.flatMap { Int($0.name) }.map { $0 + 1 } ?? 0
    context.undoManager?.group {
      if let former { context.delete(former) }
      let new = context.insert(User.self) { $0.name = "\(number)" }
      for place in 0..<10 {
        context.insert(Status.self) { ($0.text, $0.createdAt, $0.user) = ("status \(place)", .now, new) }
      }
      user = new
    }
    try context.save()
    acknowledge("saved \(number)")
    guard former != nil else { continue }
    try context.undo()
    try context.save()
    acknowledge("undone \(number)")
    try context.redo()
    try context.save()
    acknowledge("redone \(number)")
  }
}
