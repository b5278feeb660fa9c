// The steps of the demo about contexts: undo, a conflict, and a live list.

import Foundation
import Microblog
import ObjectVault

extension Demo {
  // MARK: 4. Undo and conflicts

  func undoAndConflicts() async throws {
    title("4. Undo a saved change, and settle a conflict")
    let store = try await open(oldKey)
    let context = store.makeContext()
    context.undoManager = ContextUndoManager(levels: 10)
    let lily = try context.fetch(User.self).where("name = %@", "Lily").one()
    func shown() -> String { "\(lily.screenName) lives in \(lily.city ?? "?")" }
    call("undoManager.group(named: \"Move\") { lily.city = \"广州\"; lily.screenName = \"Lily\" }; save()")
    context.undoManager?.group(named: "Move") {
      lily.city = "广州"
      lily.screenName = "Lily"
    }
    try context.save()
    result(shown())
    let item = context.undoManager?.undoMenuTitle ?? ""
    call("undo(), whose menu item is \"\(item)\"; save()")
    try context.undo()
    try context.save()
    result(shown())

    call("two contexts change her: one the city, the other the city and the screen name")
    let other = store.makeContext()
    let same = try other.fetch(User.self).where("name = %@", "Lily").one()
    (same.city, same.screenName) = ("成都", "丽丽丽")
    try other.save()
    lily.city = "杭州"
    for conflict in try context.conflicts() { result("\(conflict)") }
    call("mergePolicy = .mergeByPropertyObjectTrump; save()")
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    result("\(shown()): her own city, and the screen name of the other context")
    store.close()
  }

  // MARK: 5. Live results

  func liveList() async throws {
    title("5. A list that follows the store")
    let store = try await open(oldKey)
    let request = try ObjectRequest<User>().where("city = %@", "北京").sorted(by: \.name)
    call("for try await users in store.observe(request, values: \\.name), while other code writes")
    var count = 0
    for try await users in store.observe(request, values: \.name) {
      let difference = users.difference
      result(
        "\(users.values.joined(separator: ", ")): \(difference.insertions.count) inserted, "
          + "\(difference.deletions.count) deleted")
      count += 1
      switch count {
      case 1:
        try await store.write { context in
          _ = context.insert(User.self) { ($0.name, $0.screenName, $0.city) = ("Anran", "安然", "北京") }
        }
      case 2:
        try await store.write { context in
          try context.fetch(User.self).where("name = %@", "Anran").delete()
        }
      default:
        store.close()
        return
      }
    }
  }
}
