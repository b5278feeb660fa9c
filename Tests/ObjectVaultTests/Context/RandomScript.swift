// Random changes, determined by a seed, made to objects and to plain values side by side. Some changes
// break rules, which are repaired later. The kinds of changes are in RandomScript+Steps.

import Foundation
import ObjectVault

/// The content of a store differs from the expected content.
struct Mismatch: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A generator of numbers that are determined by a seed.
struct Dice {
  private var state: UInt64

  init(_ seed: UInt64) {
    state = (seed &+ 1) &* 0x9E37_79B9_7F4A_7C15 | 1
    for _ in 0..<5 { _ = next(7) }
  }

  mutating func next(_ count: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int((state >> 11) % UInt64(max(1, count)))
  }

  /// Returns true once in `count` times, on average.
  mutating func isOne(in count: Int) -> Bool { next(count) == 0 }
  mutating func pick<Element>(_ elements: [Element]) -> Element? {
    elements.isEmpty ? nil : elements[next(elements.count)]
  }
}

/// A random script that runs on one context.
final class RandomScript {
  /// The context that is changed, and whether fetches run between the changes.
  enum Mode: CaseIterable { case writeWithFetches, write, contextWithSaves, contextWithFetches }

  let context: ObjectContext
  let mode: Mode
  var dice: Dice
  /// Is separate from `dice`, so that the script without fetches draws the same numbers.
  private var fetchDice: Dice
  /// The expected content now, and at the last save.
  var world: World
  var saved: World
  /// The objects that the script retains, by key, and the row ids of those that were saved.
  var objects: [Int: ManagedObject] = [:]
  var rows: [Int: Int64]
  var nextKey: Int
  /// Whether a change is incomplete, so that the results of fetches are not compared.
  var isInside = false
  /// The changes that were pending before each successful save, by the name of its commit.
  private(set) var pending: [String: ChangeSet] = [:]
  private let name = UUID().uuidString
  /// The log of changes, for finding the cause of a mismatch.
  private(set) var trace: [String] = []

  /// The store for disturbances between two steps. It is nil if there are none, as in each mode with a
  /// write.
  private let store: Store?
  /// Is separate from `dice`, too.
  var outsideDice: Dice

  init(
    _ context: ObjectContext, _ mode: Mode, seed: UInt64, _ start: (world: World, rows: [Int: Int64]),
    outside store: Store? = nil
  ) {
    self.context = context
    self.mode = mode
    self.store = mode == .contextWithSaves || mode == .contextWithFetches ? store : nil
    outsideDice = Dice(seed &+ 5_555_555)
    dice = Dice(seed)
    fetchDice = Dice(seed &+ 7_777_777)
    (world, saved, rows) = (start.world, start.world, start.rows)
    nextKey = (World.Kind.allCases.flatMap(start.world.keys).max() ?? 0) + 1
  }

  func log(_ line: String) { trace.append(line) }

  func run(steps: Int) throws {
    for _ in 0..<steps {
      try look()
      try step()
      try checkPending(context)
      if let store, outsideDice.isOne(in: 6) { try disturb(store) }
    }
    try putRight(all: true)
    try look()
    try save()
  }

  // MARK: Objects

  func object<Object: ManagedObject>(_ key: Int) throws -> Object {
    if let known = objects[key] as? Object { return known }
    guard let row = rows[key], let found = try context.existing(ObjectID<Object>(rowID: row)) else {
      throw Mismatch("\(Object.self) \(key) is not there")
    }
    objects[key] = found
    return found
  }
  func maker(_ key: Int) throws -> Maker { try object(key) }
  func part(_ key: Int) throws -> Part { try object(key) }
  func label(_ key: Int) throws -> Label { try object(key) }

  /// Whether no save has written the object yet.
  func isNew(_ key: Int) -> Bool { !saved.contains(key) }

  // MARK: Fetching and saving

  /// Fetches or reads something, if the mode includes fetches.
  func look() throws {
    guard mode == .writeWithFetches || mode == .contextWithFetches else { return }
    switch fetchDice.next(10) {
    case 0: _ = try context.fetch(Maker.self).where("code == %@", fetchDice.next(20)).first()
    case 1: _ = try context.fetch(Part.self).where("owner.size > 3").all()
    case 2: _ = try context.fetch(Label.self).count()
    case 3: _ = try context.fetch(Group.self).ids()
    case 4: if !isInside { try comparePending(context, world) }
    case 5:
      guard let key = fetchDice.pick(world.keys(.maker)), let maker = objects[key] as? Maker else { break }
      _ = (maker.parts.count, maker.labels.count, maker.boss?.key, maker.badge?.key)
      _ = (maker.friends.count, maker.friendOf.count)
    case 6: _ = try context.fetch(Badge.self).where("owner != nil").exists()
    default: break
    }
    if let error = context.faultErrors.first { throw Mismatch("an error was noted: \(error)") }
  }

  /// Saves. The save must fail exactly if a rule is broken.
  func save() throws {
    let problems = world.problems
    log("save: \(problems)")
    context.transactionName = "\(name) \(pending.count)"
    let changes = context.pendingChanges
    do { try context.save() } catch {
      if problems.isEmpty { throw Mismatch("the save failed: \(error)") }
      return
    }
    guard problems.isEmpty else { throw Mismatch("the save succeeded in spite of \(problems)") }
    pending[changes.name ?? ""] = changes
    try checkPending(context)
    saved = world
    for (key, object) in objects {
      if object.state == .invalid { throw Mismatch("after a save \(key) is invalid") }
      rows[key] = object.rowNumber
    }
    if context.pending.isLive { throw Mismatch("after a save there are changes") }
    if dice.isOne(in: 3) { try compare(context, world, "after a save", objects) }
  }
}

extension ManagedObject {
  /// The row id, for each class of the model.
  fileprivate var rowNumber: Int64 {
    switch self {
    case let object as Maker: object.id.rowID
    case let object as Part: object.id.rowID
    case let object as Paper: object.id.rowID
    case let object as Label: object.id.rowID
    case let object as Badge: object.id.rowID
    case let object as Group: object.id.rowID
    default: 0
    }
  }
}
