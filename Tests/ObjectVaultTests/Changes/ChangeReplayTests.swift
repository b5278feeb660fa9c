// The feed of changes and the history are complete: applied to an empty store, each gives an equal graph. The
// inverse changes, applied from the last to the first, leave nothing.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random, .slow)) struct ChangeReplays {
  /// The stored rows of all tables of entities and links, without versions.
  static func content(_ store: Store) throws -> [String: [[SQLValue]]] {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    let names = try connection.query(
      sql:
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'vault%' AND name NOT LIKE 'sqlite%'"
    ) { $0.value(0).string ?? "" }
    var content: [String: [[SQLValue]]] = [:]
    for name in names {
      let columns = try connection.tableInfo(name).columns.map(\.name).filter { $0 != "_version" }
      let list = columns.map { "\"\($0)\"" }.joined(separator: ", ")
      content[name] = try connection.query(sql: "SELECT \(list) FROM \"\(name)\" ORDER BY 1, 2") { row in
        columns.indices.map { row.value($0) }
      }
    }
    return content
  }

  /// All commits that were delivered until the store was closed.
  static func all(_ changes: StoreChanges) async throws -> [ChangeSet] {
    var sets: [ChangeSet] = []
    for await change in changes {
      guard case .committed(let set) = change else { throw Mismatch("commits were missed") }
      sets.append(set)
    }
    return sets
  }

  /// Applies the changes, encoded as JSON in between, and compares. Then applies the inverse changes and
  /// compares again.
  static func replay(
    _ sets: [ChangeSet], of origin: [String: [[SQLValue]]], in model: Schema = randomModel
  ) async throws {
    let other = try await TemporaryStore(model)
    let empty = try content(other.store)
    for set in sets {
      let copy = try JSONDecoder().decode(ChangeSet.self, from: JSONEncoder().encode(set))
      #expect(copy == set)
      try await other.store.apply(copy)
    }
    let replayed = try content(other.store)
    for (table, rows) in origin { #expect(replayed[table] == rows, "\(table)") }
    #expect(try await other.store.verify() == [])
    let whole = ChangeSet(merging: sets)
    for set in sets.reversed() { try await other.store.apply(set.inverse) }
    #expect(try content(other.store) == empty)
    // All change sets merged into one.
    try await other.store.apply(whole)
    #expect(try content(other.store) == replayed)
    #expect(
      whole.updated.isEmpty, "an object that did not exist before is inserted, whatever happened to it since")
    #expect(whole.deleted.isEmpty && whole.unlinked.isEmpty)
  }

  /// The lines of the description, sorted.
  static func lines(_ changes: ChangeSet) -> [String] {
    changes.descriptionWithValues.split(separator: "\n").map(String.init).sorted()
  }

  @Test(arguments: RandomScript.Mode.allCases)
  func `the feed contains all changes that random scripts commit`(_ mode: RandomScript.Mode) async throws {
    for seed in UInt64(1)...6 {
      let temporary = try await TemporaryStore(recordedModel)
      let store = temporary.store
      let changes = store.changes()
      let script = RandomScript(store.makeContext(), .contextWithSaves, seed: seed + 500, (World(), [:]))
      try script.run(steps: 60)
      let start = (script.world, script.rows)
      var pending = script.pending
      var written: ChangeSet?
      if mode == .contextWithSaves || mode == .contextWithFetches {
        let script = RandomScript(store.makeContext(), mode, seed: seed, start)
        try script.run(steps: 120)
        pending.merge(script.pending) { $1 }
      } else {
        written = try await store.write { context in
          try RandomScript(context, mode, seed: seed, start).run(steps: 120)
          return context.pendingChanges
        }
      }
      let kept = try await store.history().map(\.changes).filter { !$0.isEmpty }
      store.close()
      let told = try await Self.all(changes)
      #expect(kept.map(Self.lines) == told.map(Self.lines), "seed \(seed)")
      // The pending changes of the write equal its commit, which is combined from the changes of each
      // save.
      if let written, let commit = told.last {
        #expect(Self.lines(written) == Self.lines(commit), "seed \(seed)")
      }
      for set in told {
        guard let before = pending.removeValue(forKey: set.name ?? "") else { continue }
        let differences = PendingComparison(before, set).differences
        #expect(differences.isEmpty, "seed \(seed): \(differences)\n\(before)\n\nsaved:\n\(set)")
      }
      // A save without a commit had no changes of rows.
      for rest in pending.values {
        #expect(rest.inserted.isEmpty && rest.updated.isEmpty && rest.deleted.isEmpty, "\(rest)")
      }
      try await Self.replay(told, of: Self.content(store))
    }
  }

  /// Ten thousand saves in `make torture`.
  static let saves = isTorture ? 10_000 : 500

  @Test func `the feed of random saves, replayed onto an empty store, gives an equal graph`() async throws {
    let temporary = try await TemporaryStore(randomModel)
    let store = temporary.store
    let changes = store.changes(bufferingUpTo: .max)
    var saves = RandomSaves(store.makeContext(), seed: 7)
    try saves.run(count: Self.saves)
    store.close()
    let sets = try await Self.all(changes)
    #expect(sets.map(\.commit?.number) == (1...sets.count).map { Int64($0) })
    // Adding a link that exists already is a pending change, but the save commits nothing.
    #expect(sets.count <= saves.committed && sets.count > Self.saves / 2)
    try await Self.replay(sets, of: Self.content(store))
  }

  @Test func `the history of random saves, replayed onto an empty store, gives an equal graph`() async throws
  {
    let temporary = try await TemporaryStore(recordedModel)
    let store = temporary.store
    var saves = RandomSaves(store.makeContext(), seed: 11)
    try saves.run(count: Self.saves)
    let sets = try await store.history().map(\.changes).filter { !$0.isEmpty }
    #expect(sets.count <= saves.committed && sets.count > Self.saves / 2)
    #expect(try await store.verify() == [])
    store.close()
    try await Self.replay(sets, of: Self.content(store))
  }
}

/// Small random changes, each saved by itself. A save that breaks a rule is rolled back.
private struct RandomSaves {
  let context: ObjectContext
  var dice: Dice
  var committed = 0
  private var makers: [Maker] = []
  private var parts: [Part] = []
  private var labels: [Label] = []
  private var number = 0

  init(_ context: ObjectContext, seed: UInt64) {
    self.context = context
    dice = Dice(seed)
  }

  mutating func run(count: Int) throws {
    for _ in 0..<count {
      for _ in 0...dice.next(3) { change() }
      let hasChanges = context.pendingChanges.isEmpty == false
      do {
        try context.save()
        committed += hasChanges ? 1 : 0
      } catch is StoreError { context.rollback() }
      let isThere = { (object: ManagedObject) in object.state != .invalid && object.state != .deleted }
      makers.removeAll { !isThere($0) }
      parts.removeAll { !isThere($0) }
      labels.removeAll { !isThere($0) }
    }
  }

  private mutating func change() {
    number += 1
    let (number, maker, part, label) = (number, dice.pick(makers), dice.pick(parts), dice.pick(labels))
    switch dice.next(14) {
    case 0, 1:
      if makers.count < 60 { makers.append(context.insert(Maker.self) { $0.code = number }) }
    case 2, 3:
      guard parts.count < 150 else { break }
      parts.append(
        context.insert(Part.self) {
          $0.text = "part \(number)"
          ($0.owner, $0.whole) = (maker, part)
        })
    case 4: if labels.count < 40 { labels.append(context.insert(Label.self) { $0.name = "label \(number)" }) }
    case 5: if let maker, let label { maker.add(label, to: \.labels) }
    case 6: if let maker, let label { maker.remove(label, from: \.labels) }
    case 7: maker?.size = dice.next(110)
    case 8: part?.owner = maker
    case 9: maker?.boss = dice.pick(makers)
    case 10: if let maker, let friend = dice.pick(makers) { maker.add(friend, to: \.friends) }
    case 11: if let maker, let other = dice.pick(makers) { swap(&maker.code, &other.code) }
    case 12: maker?.badge = context.insert(Badge.self)
    default:
      switch dice.next(12) {
      case 0: if let maker { context.delete(maker) }
      case 1, 2: if let part { context.delete(part) }
      case 3: if let label { context.delete(label) }
      default: part?.first = dice.next(40)
      }
    }
  }
}
