// Random changes by all parts of the API leave the same content in the store as in plain Swift values.
// More seeds: VAULT_SECONDS.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random, .slow)) struct RandomScripts {
  /// The number of seeds that always run.
  static let seeds: UInt64 = 4

  @Test(arguments: RandomScript.Mode.allCases)
  func `random changes leave the same content in the store as in plain values`(_ mode: RandomScript.Mode)
    async throws
  {
    let end = ContinuousClock.now + .seconds(childSeconds)
    var seed: UInt64 = 0
    while seed < Self.seeds || (childSeconds > 1 && ContinuousClock.now < end) {
      seed += 1
      let trace = Trace()
      do { try await run(seed: seed, mode: mode, trace: trace) } catch {
        Issue.record("seed \(seed): \(error)\n\(trace.lines.joined(separator: "\n"))")
        return
      }
    }
  }

  // Safe to share: it is written on the writer's queue while the test waits.
  private final class Trace: @unchecked Sendable { var lines: [String] = [] }

  private func run(seed: UInt64, mode: RandomScript.Mode, trace: Trace) async throws {
    let temporary = try await TemporaryStore(randomModel)
    let store = temporary.store
    var start = try work(
      store.makeContext(), mode: .contextWithSaves, seed: seed + 1_000_000, steps: 50, from: (World(), [:]),
      trace: trace)
    try compare(store.makeContext(), start.world, "before the script")
    if mode == .contextWithSaves || mode == .contextWithFetches {
      start = try work(
        store.makeContext(), mode: mode, seed: seed, steps: 120, from: start, trace: trace, outside: store)
    } else {
      let begin = start
      start = try await store.write { context in
        let end = try work(context, mode: mode, seed: seed, steps: 120, from: begin, trace: trace)
        return (end.world, end.rows)
      }
    }
    try compare(store.makeContext(), start.world, "in another context")
    let findings = try await store.verify()
    if !findings.isEmpty { throw Mismatch("verify: \(findings)") }
  }

  private func work(
    _ context: ObjectContext, mode: RandomScript.Mode, seed: UInt64, steps: Int,
    from start: (world: World, rows: [Int: Int64]), trace: Trace, outside store: Store? = nil
  ) throws -> (world: World, rows: [Int: Int64]) {
    let script = RandomScript(context, mode, seed: seed, start, outside: store)
    defer { trace.lines += script.trace }
    try script.run(steps: steps)
    return (script.world, script.rows)
  }
}

// MARK: Comparing

/// Compares everything that a context finds with the expected content: properties, relationships from
/// both ends, and predicates.
/// - Parameter known: The retained objects. The context must have no other objects for their rows.
func compare(
  _ context: ObjectContext, _ world: World, _ moment: String, _ known: [Int: ManagedObject] = [:]
) throws {
  let comparison = Comparison(context: context, world: world, moment: moment)
  try comparison.makers(known)
  try comparison.others()
  try comparison.predicates()
  if let error = context.faultErrors.first { throw Mismatch("\(moment): \(error)") }
}

/// Compares what fetches find in a context with its pending changes. Relationships in memory are not
/// compared, because they follow delete rules only after the save.
func comparePending(_ context: ObjectContext, _ world: World) throws {
  try Comparison(context: context, world: world, moment: "with what is pending").pending()
  if let error = context.faultErrors.first { throw Mismatch("with what is pending: \(error)") }
}

private struct Comparison {
  let context: ObjectContext
  let world: World
  let moment: String

  private func expect<Value: Equatable>(_ what: String, _ found: Value, is expected: Value) throws {
    if found != expected { throw Mismatch("\(moment): \(what) is \(found), should be \(expected)") }
  }

  private func makers(where test: (World.Maker) -> Bool) -> [Int] {
    world.makers.filter { test($0.value) }.keys.sorted()
  }
  private func parts(where test: (World.Part) -> Bool) -> [Int] {
    world.parts.filter { test($0.value) }.keys.sorted()
  }

  func makers(_ known: [Int: ManagedObject]) throws {
    let found = try context.fetch(Maker.self).all()
    try expect("the makers", found.map(\.key).sorted(), is: world.keys(.maker))
    for maker in found {
      guard let expected = world.makers[maker.key] else { continue }
      let (key, name) = (maker.key, "maker \(maker.key)")
      if let object = known[key], object !== maker { throw Mismatch("\(moment): two objects of \(name)") }
      try expect("\(name).code", maker.code, is: expected.code ?? -99)
      try expect("\(name).size", maker.size, is: expected.size)
      try expect("\(name).boss", maker.boss?.key, is: expected.boss)
      try expect("\(name).parts", maker.parts.map(\.key).sorted(), is: parts { $0.owner == key })
      let papers = world.keys(.paper).filter { world.papers[$0] == key }
      try expect("\(name).papers", maker.papers.map(\.key).sorted(), is: papers)
      try expect("\(name).labels", maker.labels.map(\.key).sorted(), is: expected.labels.sorted())
      try expect("\(name).staff", maker.staff.map(\.key).sorted(), is: makers { $0.boss == key })
      try expect("\(name).friends", maker.friends.map(\.key).sorted(), is: expected.friends.sorted())
      try expect(
        "\(name).friendOf", maker.friendOf.map(\.key).sorted(), is: makers { $0.friends.contains(key) })
      try expect("\(name).badge", maker.badge?.key, is: world.keys(.badge).first { world.badges[$0] == key })
    }
  }

  func others() throws {
    let found = try context.fetch(Part.self).all()
    try expect("the parts", found.map(\.key).sorted(), is: world.keys(.part))
    for part in found {
      guard let expected = world.parts[part.key] else { continue }
      let (key, name) = (part.key, "part \(part.key)")
      try expect("\(name).text", part.text, is: expected.text ?? "none")
      try expect("\(name)'s pair", [part.first, part.second], is: [expected.first, expected.second])
      try expect("\(name).owner", part.owner?.key, is: expected.owner)
      try expect("\(name).whole", part.whole?.key, is: expected.whole)
      try expect("\(name).pieces", part.pieces.map(\.key).sorted(), is: parts { $0.whole == key })
    }
    let papers = Dictionary(
      uniqueKeysWithValues: try context.fetch(Paper.self).all().map { ($0.key, $0.owner?.key) })
    try expect("the papers", papers, is: world.papers)
    let badges = Dictionary(
      uniqueKeysWithValues: try context.fetch(Badge.self).all().map { ($0.key, $0.owner?.key) })
    try expect("the badges", badges, is: world.badges)
    let labels = try context.fetch(Label.self).all()
    try expect("the labels", labels.map(\.key).sorted(), is: world.keys(.label))
    for label in labels {
      let (key, name) = (label.key, "label \(label.key)")
      try expect("\(name).name", label.name, is: (world.labels[key] ?? nil) ?? "none")
      try expect("\(name).makers", label.makers.map(\.key).sorted(), is: makers { $0.labels.contains(key) })
      let groups = world.keys(.group).filter { world.groups[$0]?.contains(key) == true }
      try expect("\(name).groups", label.groups.map(\.key).sorted(), is: groups)
    }
    let groups = Dictionary(
      uniqueKeysWithValues: try context.fetch(Group.self).all().map { ($0.key, Set($0.labels.map(\.key))) })
    try expect("the groups", groups, is: world.groups)
  }

  func predicates() throws {
    let isLarge = { (key: Int) in (world.makers[key]?.size ?? 0) > 50 }
    let large = try context.fetch(Maker.self).where("size > 50").all().map(\.key).sorted()
    try expect("size > 50", large, is: world.keys(.maker).filter(isLarge))
    let owned = try context.fetch(Part.self).where("owner.size > 50").all().map(\.key).sorted()
    try expect("owner.size > 50", owned, is: parts { $0.owner.map(isLarge) ?? false })
    let labelled = try context.fetch(Maker.self).where("ANY labels.name == 'label 3'").all().map(\.key)
      .sorted()
    try expect(
      "ANY labels.name", labelled, is: makers { $0.labels.contains { world.labels[$0] == "label 3" } })
    let many = try context.fetch(Maker.self).where("parts.@count > 1").all().map(\.key).sorted()
    try expect(
      "parts.@count", many, is: world.keys(.maker).filter { key in parts { $0.owner == key }.count > 1 })
  }
  func pending() throws {
    try expect("the makers", try context.fetch(Maker.self).all().map(\.key).sorted(), is: world.keys(.maker))
    try expect("the parts", try context.fetch(Part.self).all().map(\.key).sorted(), is: world.keys(.part))
    try expect("the papers", try context.fetch(Paper.self).count(), is: world.papers.count)
    try expect("the labels", try context.fetch(Label.self).all().map(\.key).sorted(), is: world.keys(.label))
    try expect("the badges", try context.fetch(Badge.self).ids().count, is: world.badges.count)
    try expect("the groups", try context.fetch(Group.self).all().map(\.key).sorted(), is: world.keys(.group))
    try predicates()
    func expectMakers(_ format: String, _ test: (Int, World.Maker) -> Bool) throws {
      let expected = world.makers.filter { test($0.key, $0.value) }.keys.sorted()
      let fetch = try context.fetch(Maker.self).where(format)
      try expect(format, try fetch.prefetch(\.boss).all().map(\.key).sorted(), is: expected)
      try expect("the count of \(format)", try fetch.count(), is: expected.count)
      try expect("whether \(format)", try fetch.exists(), is: !expected.isEmpty)
    }
    let size = { (key: Int?) in key.flatMap { world.makers[$0]?.size } ?? -1 }
    try expectMakers("boss.size > 20") { size($1.boss) > 20 }
    try expectMakers("boss == nil") { $1.boss == nil }
    try expectMakers("boss.boss.size > 20") { size($1.boss.flatMap { world.makers[$0]?.boss }) > 20 }
    try expectMakers("ANY friends.size > 20") { $1.friends.contains { size($0) > 20 } }
    try expectMakers("friendOf.@count > 1") { key, _ in makers { $0.friends.contains(key) }.count > 1 }
    try expectMakers("labels.@count > 1") { $1.labels.count > 1 }
    try expectMakers("NONE parts.text == 'inner'") { key, _ in
      parts { $0.owner == key && $0.text == "inner" }.isEmpty
    }
    try expectMakers("ANY parts.pieces.text == 'part'") { key, _ in
      !parts { $0.text == "part" && $0.whole.flatMap { world.parts[$0]?.owner } == key }.isEmpty
    }
    try expectMakers("badge != nil") { key, _ in world.badges.values.contains(key) }
    let whole = try context.fetch(Part.self).where("whole.owner.size > 20").all().map(\.key).sorted()
    try expect(
      "whole.owner.size > 20", whole, is: parts { size($0.whole.flatMap { world.parts[$0]?.owner }) > 20 })
    let sizes = try context.fetch(Maker.self).sorted(by: \.size, .reverse).offset(1).limit(3).all().map(
      \.size)
    try expect("sizes", sizes, is: Array(world.makers.values.map(\.size).sorted(by: >).dropFirst().prefix(3)))
    let owners = try context.fetch(Part.self).sorted(by: \.owner?.size).limit(4).all().map {
      $0.owner?.size ?? -1
    }
    try expect(
      "sizes of owners", owners, is: Array(world.parts.values.map { size($0.owner) }.sorted().prefix(4)))
  }
}
