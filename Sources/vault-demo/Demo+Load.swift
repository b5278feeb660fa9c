// The last steps of the demo: many rows, many tasks, and a second run.

import Foundation
import Microblog
import ObjectVault

extension Demo {
  // MARK: 7. Real data

  func importIsoCodes() async throws {
    title("7. Import Debian's iso-codes")
    let codes = try IsoCodes()
    let store = try await open(newKey)
    call(
      "\(codes.countries.count) countries, \(codes.subdivisions.count) subdivisions, \(codes.languages.count) languages in one write"
    )
    let start = Date()
    try await store.write { context in codes.insert(into: context) }
    result("saved in \(milliseconds(since: start))")
    let fetchStart = Date()
    let (counts, names) = try await store.read { context in
      let counts = [
        try context.fetch(Country.self).count(), try context.fetch(Subdivision.self).count(),
        try context.fetch(Language.self).count(),
      ]
      let names = try context.fetch(Subdivision.self)
        .where(#Predicate { $0.parent?.country?.name == "Italy" && $0.parent?.name == "Toscana" })
        .sorted(by: \.name).all().map(\.name)
      return (counts, names)
    }
    result("counted \(counts.map(String.init).joined(separator: ", "))")
    call("fetch(Subdivision.self).where { parent.country.name == \"Italy\" && parent.name == \"Toscana\" }")
    result("\(names.joined(separator: ", ")) (\(milliseconds(since: fetchStart)) with the counts)")
    store.close()
  }

  // MARK: 8. Many tasks

  func manyTasks() async throws {
    title("8. 100 tasks at once, each inserting and querying 20 times")
    let store = try await open(newKey)
    let before = try await store.read { try $0.fetch(Status.self).count() }
    let start = Date()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<100 {
        group.addTask {
          for step in 0..<20 {
            try await store.write { context in
              _ = context.insert(Status.self) {
                $0.text = "task \(task), step \(step)"
                $0.createdAt = Date()
              }
            }
            _ = try await store.read {
              try $0.fetch(Status.self).where("text BEGINSWITH %@", "task \(task),").count()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let after = try await store.read { try $0.fetch(Status.self).count() }
    result("\(after - before) more statuses in \(milliseconds(since: start)); no task failed")
    store.close()
  }

  // MARK: 9. The second run

  func secondRun() async throws {
    title("9. A second run: the store already exists")
    let store = try await open(newKey)
    let found = try await store.read { context in
      "\(try context.fetch(User.self).count()) users, \(try context.fetch(Status.self).count()) statuses, "
        + "\(try context.fetch(Country.self).count()) countries"
    }
    call("Store.open, and the content of the store")
    result("version \(store.opening.version), nothing to migrate; \(found)")
    try await store.write { context in
      let user = try context.fetch(User.self).where("name = %@", "Binger").one()
      context.insert(Status.self) {
        $0.text = "I am back"
        $0.createdAt = Date()
        $0.user = user
      }
    }
    let count = try await store.read { try $0.fetch(Status.self).where("user.name = 'Binger'").count() }
    result("Binger wrote another status and has \(count)")
    store.close()
  }
}
