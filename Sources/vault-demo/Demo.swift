// The steps of the demo. Each prints its title, the call, and the result.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault

/// The demo: it runs its steps on a store with a microblog.
struct Demo {
  let url: URL
  let oldKey = Key.passphrase("correct horse")
  let newKey = Key.passphrase("new horse")

  func title(_ text: String) { print("\n\(text)\n" + String(repeating: "─", count: text.count)) }
  func call(_ text: String) { print("  > \(text)") }
  func result(_ text: String) { for line in text.split(separator: "\n") { print("    \(line)") } }

  func run() async throws {
    print("ObjectVault on \(Engine.current)\nstore: \(url.path)")
    let isThere = FileManager.default.fileExists(atPath: url.path)
    if isThere {
      try await secondRun()
    } else {
      try await createOldStore()
      try await migrate()
      try await changes()
      try await fetches()
      try await undoAndConflicts()
      try await liveList()
      try await keys()
      try await importIsoCodes()
      try await manyTasks()
    }
  }

  // MARK: 1. Migration of an old store

  /// Creates a store of version 1, as the first release of the app would have left it. The classes of
  /// that release are in `OldStore`.
  private func createOldStore() async throws {
    title("1. An encrypted store of version 1, with rows, is migrated when it is opened")
    let first = try MigrationSet(Array(MigrationSet.embedded(MicroblogMigrations.steps).steps.prefix(1)))
    try await OldStore.create(at: url, key: oldKey, migrations: first)
    call("a store of version 1: the users of the first release, and their statuses")
    result("5 users, 10 statuses; there are no screen names, cities or tags yet")
  }

  private func migrate() async throws {
    let plan = try await Store.plan(at: url, key: oldKey, migrations: .embedded(MicroblogMigrations.steps))
    call("Store.plan(at: url, key: key, migrations: .embedded(MicroblogMigrations.steps))")
    result("version \(plan.storeVersion) of \(plan.availableVersion), nothing written; pending:")
    for step in plan.steps {
      result("  \(step.number) \(step.name): \(step.operations.joined(separator: "; "))")
    }
    call("Store.open(at: url, key: key, schema: microblog, migrations: MicroblogMigrations.all)")
    let store = try await open(oldKey)
    result(
      "ran steps \(store.opening.migratedSteps.map(String.init).joined(separator: ", ")) in one transaction")
    let names = try await store.read { context in
      try context.fetch(User.self).sorted(by: \.name).all().map {
        "\($0.name) (\($0.screenName), \($0.statuses.count) statuses)"
      }
    }
    result(names.joined(separator: ", "))
    store.close()
  }

  func open(_ key: Key) async throws -> Store {
    try await Store.open(at: url, key: key, schema: microblog, migrations: MicroblogMigrations.all)
  }

  // MARK: 2. Changes

  private func changes() async throws {
    title("2. Insert, change, delete")
    let store = try await open(oldKey)
    call("store.write { context in … } sets screen names and cities, and adds a user with statuses")
    try await store.write { context in
      let people = ["Binger": "冰儿", "Xiaona": "小娜", "Lily": "丽丽", "Qianmo": "阡陌", "Yanyue": "炎月"]
      let tag = context.insert(Tag.self) { $0.name = "apple" }
      for user in try context.fetch(User.self).prefetch(\.statuses).all() {
        user.screenName = people[user.name] ?? user.name
        user.city = "北京"
        for status in user.statuses where status.text.contains("Watch") { status.tags.insert(tag) }
      }
    }
    try await printCities(store)
    call("context.delete(yanyue); xiaona.city = \"上海\"; lily.city = \"深圳\"")
    let counts = try await store.write { context in
      let before = try context.fetch(Status.self).count()
      if let yanyue = try context.fetch(User.self).where("name = %@", "Yanyue").first() {
        context.delete(yanyue)
      }
      try context.fetch(User.self).where("name = %@", "Xiaona").one().city = "上海"
      try context.fetch(User.self).where("name = %@", "Lily").one().city = "深圳"
      try context.save()
      return (before, try context.fetch(Status.self).count())
    }
    result("statuses: \(counts.0) before, \(counts.1) after; the cascade deleted hers")
    try await printCities(store)
    store.close()
  }

  private func printCities(_ store: Store) async throws {
    let lines = try await store.read { context in
      try context.fetch(User.self).sorted(by: \.id).all().map {
        "\($0.name) \($0.screenName) in \($0.city ?? "?")"
      }
    }
    result(lines.joined(separator: ", "))
  }

  // MARK: 3. Fetches

  private func fetches() async throws {
    title("3. Fetch, in the format language and with #Predicate")
    let store = try await open(oldKey)
    try await store.read { context in
      for (format, arguments) in [
        ("user.name = %@", ["Binger"]), ("text LIKE '*Watch*'", []), ("user.screenName = %@", ["小娜"]),
      ] {
        call("fetch(Status.self).where(\"\(format)\"\(arguments.map { ", \"\($0)\"" }.joined()))")
        let found = try context.fetch(Status.self).where(PredicateNode(format: format, arguments: arguments))
          .sorted(by: \.createdAt).all()
        result(found.map { "\($0.user?.name ?? "?"): \($0.text)" }.joined(separator: "\n"))
      }
      let predicate = #Predicate<Status> { $0.user?.screenName == "冰儿" && $0.text.contains("Watch") }
      call(
        "fetch(Status.self).where(#Predicate { $0.user?.screenName == \"冰儿\" && $0.text.contains(\"Watch\") })"
      )
      let fetch = try context.fetch(Status.self).where(predicate).sorted(by: \.createdAt, .reverse)
      result(try fetch.all().map(\.text).joined(separator: "\n"))
      call("the .sql of the same fetch")
      result("\(try fetch.sql)")
    }
    store.close()
  }

  // MARK: 6. Keys

  private func keys() async throws {
    title("6. The file is ciphertext; keys are checked and changed")
    call("the first bytes of the file, and a search for its content")
    let bytes = try Data(contentsOf: url)
    result(bytes.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " "))
    let files = try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path)
      .filter { $0.hasPrefix(url.lastPathComponent) }
    for name in files {
      let data = try Data(contentsOf: url.deletingLastPathComponent().appendingPathComponent(name))
      let found = ["Watch", "screenName", "Binger", "北京", "CREATE TABLE"].filter {
        data.range(of: Data($0.utf8)) != nil
      }
      result(
        "\(name): \(data.count) bytes, unencrypted: \(found.isEmpty ? "nothing" : found.joined(separator: ", "))"
      )
    }
    call("Store.open with a wrong key")
    await expectError { _ = try await open(.passphrase("wrong horse")) }
    call("store.rekey(to: .passphrase(\"new horse\"))")
    let store = try await open(oldKey)
    let start = Date()
    try await store.rekey(to: newKey)
    result("done and verified in \(milliseconds(since: start))")
    store.close()
    call("Store.open with the new key, then with the old one")
    let again = try await open(newKey)
    result("the new key opens it: \(try await again.read { try $0.fetch(User.self).count() }) users")
    again.close()
    await expectError { _ = try await open(oldKey) }
  }

  private func expectError(_ body: () async throws -> Void) async {
    do {
      try await body()
      result("no error, but one was expected")
    } catch { result("\(error)") }
  }

  func milliseconds(since start: Date) -> String { "\(Int(Date().timeIntervalSince(start) * 1000)) ms" }
}
