// A store without pending steps opens by reading a few rows. No step is read, however many there are.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

private final class Thing: ManagedObject {
  @Attribute var name: String
  @Attribute var age: Int = 1
  @Attribute var more: String?
}

@Suite(.tags(.slow)) struct Openings {
  private let folder: TemporaryFolder
  private var url: URL { folder.url.appendingPathComponent("lab.store") }
  private let schema = Schema { Entity(Thing.self) }

  init() throws { folder = try TemporaryFolder() }

  /// The steps of the store, and pairs of steps that undo each other.
  private func steps(_ count: Int = 2) throws -> [MigrationStep] {
    var texts = Damage.steps.map { "format: 1\n[up]\n\($0)\n" }
    while texts.count < count {
      texts.append("format: 1\n[up]\nrename attribute Thing.more -> extra\n")
      texts.append("format: 1\n[up]\nrename attribute Thing.extra -> more\n")
    }
    return try texts.enumerated().map { index, text in
      try MigrationStep(number: index + 1, name: "s\(index + 1)", text: text)
    }
  }

  private func embedded(_ steps: [MigrationStep], text: String? = nil) -> [MigrationSet.Embedded] {
    steps.map {
      MigrationSet.Embedded(number: $0.number, name: $0.name, checksum: $0.checksum, text: text ?? $0.text)
    }
  }

  /// The steps with texts that cannot be read.
  private func unreadable(_ steps: [MigrationStep]) -> [MigrationSet.Embedded] {
    embedded(steps, text: "no step")
  }

  private func open(_ steps: [MigrationSet.Embedded]) async throws -> Store {
    try await Store.open(at: url, key: testKey, schema: schema, migrations: .embedded(steps))
  }

  private func open(_ steps: [MigrationStep]) async throws -> Store { try await open(embedded(steps)) }

  @Test func `a store that has all steps opens without reading one, however it got them`() async throws {
    let all = try steps(6)
    let store = try await open(all)
    #expect(store.opening.isNew && store.opening.version == 6)
    try await store.write { _ = $0.insert(Thing.self) { $0.name = "a" } }
    store.close()
    func expectOpens(_ steps: [MigrationStep]) async throws {
      let store = try await open(unreadable(steps))
      #expect(store.opening.version == steps.count && store.opening.migratedSteps.isEmpty && store.id != nil)
      #expect(try await store.read { try $0.fetch(Thing.self).all().map(\.name) } == ["a"])
      try await store.write { try $0.fetch(Thing.self).one().age += 1 }
      store.close()
    }
    try await expectOpens(all)
    // In whatever order the steps are given.
    try await expectOpens(all.reversed())
    let set = try MigrationSet(all)
    try await Store.downgrade(at: url, key: testKey, to: 4, migrations: set)
    try await expectOpens(Array(all.prefix(4)))
    try await Store.migrate(at: url, key: testKey, migrations: set)
    try await expectOpens(all)
    try await Store.redo(at: url, key: testKey, last: 2, migrations: set)
    try await expectOpens(all)
  }

  @Test func `a step that the store does not have is read, and its faults are reported`() async throws {
    let all = try steps(4)
    try await open(Array(all.prefix(2))).close()
    let broken = embedded(Array(all.prefix(3))) + unreadable(all).suffix(1)
    await #expect {
      try await open(broken)
    } throws: {
      if case StoreError.migrationSyntax = $0 { true } else { false }
    }
    let store = try await open(all)
    #expect(store.opening.migratedSteps == [3, 4])
    store.close()
  }

  @Test func `a store that an earlier release changed last opens by its history`() async throws {
    let all = try steps(4)
    try await open(all).close()
    for sql in [
      "DELETE FROM vault_meta WHERE key = 'standing'",
      // An earlier release ignores the row, and writes a new generation.
      "UPDATE vault_meta SET value = value + 1 WHERE key = 'generation'",
    ] {
      let connection = try Connection.open(url.path, key: testKey)
      try connection.execute(sql: sql)
      connection.close()
      let store = try await open(unreadable(all))
      #expect(store.opening.version == 4)
      store.close()
    }
    await #expect {
      try await open(
        unreadable(Array(all.prefix(3)))
          + embedded([MigrationStep(number: 4, name: "s4", text: "format: 1\n[up]\ndrop entity Thing\n")]))
    } throws: {
      if case StoreError.migrationSyntax = $0 { true } else { false }
    }
  }

  @Test func `edited steps and other classes are reported, even if the store has as many steps`() async throws
  {
    let all = try steps(4)
    try await open(all).close()
    var edited = all
    let other = try MigrationStep(
      number: 3, name: "s3",
      text: "format: 1\n[up]\nrename attribute Thing.more -> extra\nrequire \"so\" { SELECT 1 }\n")
    edited[2] = other
    await #expect {
      try await open(edited)
    } throws: {
      if case StoreError.historyConflict(.edited(number: 3, _, _, _, _)) = $0 { true } else { false }
    }
    let others = Schema { Entity(Different.Thing.self) }
    await #expect {
      try await Store.open(at: url, key: testKey, schema: others, migrations: .embedded(embedded(all)))
    } throws: {
      if case StoreError.schemaMismatch = $0 { true } else { false }
    }
  }

  @Test func `a store made of classes alone reports that they have changed, and the step to write`()
    async throws
  {
    try await Store.open(at: url, key: testKey, schema: schema, migrations: .creatingSchema).close()
    let others = Schema { Entity(Different.Thing.self) }
    await #expect {
      try await Store.open(at: url, key: testKey, schema: others, migrations: .creatingSchema)
    } throws: { error in
      guard case StoreError.madeOfOtherClasses(_, let differences, let lines) = error else { return false }
      let steps = ["0001_initial.migration", "Store.carriedSteps"].allSatisfy("\(error)".contains)
      return !differences.isEmpty && !lines.isEmpty && steps && !"\(error)".contains("repair")
    }
    try await Store.open(at: url, key: testKey, schema: schema, migrations: .creatingSchema).close()
  }

  @Test(arguments: Damage.all.indices)
  func `an opening checks what it uses, and leaves other damage to the commands that need it`(_ index: Int)
    async throws
  {
    let (sql, word) = Damage.all[index]
    let all = try steps()
    try await open(all).close()
    let connection = try Connection.open(url.path, key: testKey)
    try connection.executeScript(sql)
    connection.close()
    // The classes give the model, and a row of its own gives the steps that ran, so an opening does not
    // use these.
    let isOfNoUse = sql.contains("modelJSON") || sql.contains("modelHash") || sql.contains("checksum = x")
    do {
      try await open(all).close()
      #expect(isOfNoUse, "\(sql)")
      await #expect(throws: StoreError.self) {
        try await Store.plan(at: url, key: testKey, migrations: MigrationSet(all))
      }
    } catch {
      #expect(error is StoreError && "\(error)".contains(word), "\(error)")
    }
  }

  @Test func `a folded chain opens without reading a step, however the store got its steps`() async throws {
    let all = try steps(6)
    let set = try MigrationSet(all).folded(to: 4, release: "4.1 beta").migrations
    let fold = set.steps[3]
    // Its head names the steps that it replaces, and none of its operations can be read.
    let head = try #require(fold.text.split(separator: "[up]").first)
    let folded =
      [
        MigrationSet.Embedded(
          number: 4, name: fold.name, checksum: fold.contentChecksum, text: "\(head)[up]\nno step\n")
      ] + unreadable(Array(all.dropFirst(4)))
    // With the steps themselves, and with the folded one.
    for made in [all, set.steps.filter { !$0.isPlaceholder }] {
      try? FileManager.default.removeItem(at: url)
      try await Store.create(at: url, key: testKey, migrations: MigrationSet(made))
      for steps in [folded, folded.reversed(), unreadable(all)] {
        let store = try await open(steps)
        #expect(store.opening.version == 6 && store.opening.migratedSteps.isEmpty)
        store.close()
      }
      // Another chain with the same numbers is read, and not mistaken for this one.
      let other = [
        MigrationSet.Embedded(
          number: 4, name: fold.name, checksum: fold.contentChecksum,
          text: "\(head.replacing("0002 s2 s1:", with: "0002 s2 s1:0"))[up]\nno step\n")
      ]
      await #expect(throws: StoreError.self) { try await open(other + folded.dropFirst()) }
    }
  }

  @Test func `opening with 500 steps takes less than eight times as long as with two`() async throws {
    var stores: [Int: (url: URL, steps: [MigrationSet.Embedded])] = [:]
    for count in [2, 500] {
      let all = try steps(count)
      stores[count] = (folder.url.appendingPathComponent("\(count).store"), embedded(all))
      try await open(all).close()
      try FileManager.default.moveItem(at: url, to: folder.url.appendingPathComponent("\(count).store"))
    }
    let factor = try await timeFactor(from: 2, to: 500, below: 8) { count in
      let store = try #require(stores[count])
      return try threadTime {
        try Store.open(
          at: store.url, key: testKey, schema: schema, migrations: .embedded(store.steps),
          migratingAtMost: .rows(0)
        ).close()
      }
    }
    // Reading the steps takes a hundred times as long in the build of the tests.
    #expect(factor < 8)
  }
}

private enum Different {
  final class Thing: ManagedObject {
    @Attribute var name: String
    @Attribute var age: Int = 2
    @Attribute var more: String?
  }
}
