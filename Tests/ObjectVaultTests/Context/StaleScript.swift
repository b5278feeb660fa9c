// Random changes by three independent contexts, whose objects are mostly older than the file: values,
// owners, deletions with their cascades, undone deletions, and reads that fail. Plain values have the
// expected content of the file.

import Foundation
import ObjectVault

final class StaleScript {
  struct Row: Equatable {
    var text: Int
    var owner: Int64?
  }
  /// The expected content of the file, by id.
  struct World: Equatable {
    var makers: [Int64: Int] = [:]
    var parts: [Int64: Row] = [:]
  }

  let store: Store
  let contexts: [ObjectContext]
  var dice: Dice
  var world = World()
  /// Committed deletions that can be undone, each with the content before it.
  private var deletions: [(changes: ChangeSet, before: World)] = []
  private let changes: StoreChanges
  /// The retained objects of each context.
  private var makers: [[Int64: Maker]] = [[:], [:], [:]]
  private var parts: [[Int64: Part]] = [[:], [:], [:]]
  private var nextKey = 0
  private(set) var trace: [String] = []
  /// How often each kind of event happened, so that a test can check that all of them did.
  private(set) var counts: [String: Int] = [:]

  init(_ store: Store, seed: UInt64) {
    self.store = store
    dice = Dice(seed &+ 31)
    contexts = (0..<3).map { _ in store.makeContext() }
    changes = store.changes()
  }

  private func note(_ what: String, detail line: String) {
    counts[what, default: 0] += 1
    trace.append("\(what) \(line)")
  }

  func run(steps: Int) async throws {
    for _ in 0..<steps {
      let number = dice.next(3)
      switch dice.next(20) {
      case 0...2: try insert(number)
      case 3...7: try changeMaker(number)
      case 8...10: try changePart(number)
      case 11, 12: try delete(number)
      case 13, 14: try await undo()
      case 15: try failReads(number)
      case 16: try refresh(number)
      case 17: (makers[number], parts[number]) = ([:], [:])
      case 18: try compare(contexts[number])
      default: try look(number)
      }
    }
    for context in contexts { try compare(context) }
  }

  // MARK: Finding

  /// The retained object of a context, however old it is, or the one that the context finds.
  private func maker(_ id: Int64, _ number: Int) throws -> Maker? {
    if let known = makers[number][id] { return known }
    let found = try contexts[number].existing(ObjectID<Maker>(rowID: id))
    if (found != nil) != (world.makers[id] != nil) { throw Mismatch("maker \(id): \(found == nil)") }
    makers[number][id] = found
    return found
  }

  private func part(_ id: Int64, _ number: Int) throws -> Part? {
    if let known = parts[number][id] { return known }
    let found = try contexts[number].existing(ObjectID<Part>(rowID: id))
    if (found != nil) != (world.parts[id] != nil) { throw Mismatch("part \(id): \(found == nil)") }
    parts[number][id] = found
    return found
  }

  private func look(_ number: Int) throws {
    for id in world.makers.keys.sorted() where dice.isOne(in: 2) { _ = try maker(id, number)?.size }
    for id in world.parts.keys.sorted() where dice.isOne(in: 2) { _ = try part(id, number)?.first }
  }

  // MARK: Changes

  private func insert(_ number: Int) throws {
    let context = contexts[number]
    nextKey += 1
    let maker = context.insert(Maker.self) { ($0.key, $0.code, $0.size) = (nextKey, nextKey, nextKey % 100) }
    let parts = (0..<dice.next(3)).map { place in
      context.insert(Part.self) { ($0.text, $0.first, $0.owner) = ("part", place, maker) }
    }
    try context.save()
    note("insert", detail: "maker \(maker.id.rowID) by \(number)")
    world.makers[maker.id.rowID] = maker.size
    makers[number][maker.id.rowID] = maker
    for part in parts {
      world.parts[part.id.rowID] = Row(text: part.first ?? -1, owner: maker.id.rowID)
      self.parts[number][part.id.rowID] = part
    }
    _ = changes.takeUndelivered()
  }

  private func changeMaker(_ number: Int) throws {
    let gone = makers[number].filter { $0.value.state == .invalid }.keys.sorted()
    let known = Set(world.makers.keys).union(makers[number].keys).sorted()
    guard let id = dice.isOne(in: 2) ? dice.pick(gone) ?? dice.pick(known) : dice.pick(known),
      let maker = try maker(id, number)
    else { return }
    let before = maker.size
    // A different value: writing the present value is no change and causes no conflict.
    let size = (before + 1 + dice.next(99)) % 100
    guard try isThere(maker, id: id, expected: world.makers[id] != nil, in: number) else { return }
    maker.size = size
    try save(in: number, maker, id: id, isThere: world.makers[id] != nil) {
      // No update is lost: a save succeeds only if the context had the stored value.
      if before != world.makers[id] { throw Mismatch("maker \(id) was \(before), and a save did not mind") }
      world.makers[id] = size
    } conflict: {
      if world.makers[id] != nil, maker.size != world.makers[id] {
        throw Mismatch("maker \(id) is not as in the file")
      }
      if world.makers[id] == nil, maker.size != before { throw Mismatch("maker \(id) is not what was read") }
    }
  }

  private func changePart(_ number: Int) throws {
    let known = Set(world.parts.keys).union(parts[number].keys).sorted()
    guard let id = dice.pick(known), let part = try part(id, number) else { return }
    let before = Row(text: part.first ?? -1, owner: part.owner?.id.rowID)
    guard try isThere(part, id: id, expected: world.parts[id] != nil, in: number) else { return }
    var wanted = Row(text: (before.text + 1 + dice.next(999)) % 1000, owner: before.owner)
    part.first = wanted.text
    if dice.isOne(in: 2), let owner = dice.pick(world.makers.keys.sorted()),
      let maker = try maker(owner, number), maker.state == .loaded || maker.state == .fault
    {
      wanted.owner = owner
      part.owner = maker
    }
    try save(in: number, part, id: id, isThere: world.parts[id] != nil) {
      if before != world.parts[id] { throw Mismatch("part \(id) was \(before), and a save did not mind") }
      world.parts[id] = wanted
    } conflict: {
      let now = Row(text: part.first ?? -1, owner: part.owner?.id.rowID)
      if let row = world.parts[id], now != row { throw Mismatch("part \(id) is \(now), not \(row)") }
      if world.parts[id] == nil, now.text != before.text { throw Mismatch("part \(id) is not what was read") }
    }
  }

  private func delete(_ number: Int) throws {
    guard let id = dice.pick(world.makers.keys.sorted()), let maker = try maker(id, number) else { return }
    let before = maker.size
    guard try isThere(maker, id: id, expected: true, in: number) else { return }
    contexts[number].delete(maker)
    let former = world
    try save(in: number, maker, id: id, isThere: true) {
      if before != world.makers[id] {
        throw Mismatch("maker \(id) was deleted, although its row had changed since it was read")
      }
      world.makers[id] = nil
      world.parts = world.parts.filter { $0.value.owner != id }
    } conflict: {
      if maker.size != world.makers[id] { throw Mismatch("maker \(id) is not as in the file") }
    }
    guard world != former else { return }
    // An object that its own context has deleted stays invalid.
    makers[number][id] = nil
    for part in former.parts.keys where world.parts[part] == nil { parts[number][part] = nil }
    guard case .committed(let set)? = changes.takeUndelivered().last else {
      throw Mismatch("no commit was reported")
    }
    deletions.append((set, former))
  }

  /// Undoes a deletion. Other changes may have followed it.
  private func undo() async throws {
    guard !deletions.isEmpty else { return }
    let (set, before) = deletions.remove(at: dice.next(deletions.count))
    try await store.apply(set.inverse)
    _ = changes.takeUndelivered()
    note("undo", detail: "\(set.deleted.map(\.rowID))")
    for row in set.deleted {
      if row.entity == "Maker" { world.makers[row.rowID] = before.makers[row.rowID] }
      if row.entity == "Part" { world.parts[row.rowID] = before.parts[row.rowID] }
    }
  }

  /// Whether an object has its row. An object that another context has deleted may be invalid or not, but
  /// never empty.
  private func isThere(_ object: ManagedObject, id: Int64, expected isThere: Bool, in number: Int) throws
    -> Bool
  {
    let context = contexts[number]
    guard object.state == .invalid else { return true }
    if !context.faultErrors.isEmpty { try? context.save() }
    if isThere {
      // The row was deleted and restored: loading finds it by its id.
      makers[number][id] = nil
      parts[number][id] = nil
      note("back", detail: "\(id)")
      do { try object.load() } catch { throw Mismatch("\(id) is not found again: \(error)") }
      return false
    }
    note("gone", detail: "\(id)")
    return false
  }

  private func save(
    in number: Int, _ object: ManagedObject, id: Int64, isThere: Bool, saved: () throws -> Void,
    conflict: () throws -> Void
  ) throws {
    let context = contexts[number]
    do { try context.save() } catch {
      switch error {
      case StoreError.conflicts, StoreError.validation, StoreError.objectGone: break
      default: throw Mismatch("a save of \(id) failed: \(error)")
      }
      note("conflict", detail: "\(id) in \(number): \(error)")
      context.rollback()
      if let error = context.faultErrors.first { throw Mismatch("a rollback noted \(error)") }
      if !isThere, object.state != .invalid { throw Mismatch("\(id) is gone, and \(object.state)") }
      try conflict()
      return
    }
    note("save", detail: "\(id) in \(number)")
    try saved()
    if object.state == .loaded { _ = changes.takeUndelivered() }
  }

  // MARK: Disturbances

  private func failReads(_ number: Int) throws {
    guard let id = dice.pick(world.makers.keys.sorted()), let maker = try maker(id, number) else { return }
    let context = contexts[number]
    context.refresh(maker)
    note("fail", detail: "reads of \(id) in \(number)")
    try store.whileReadsFail {
      _ = (maker.size, maker.parts.count, maker.boss?.size)
      if maker.state != .fault { throw Mismatch("\(id) is \(maker.state) after a failed read") }
    }
    guard !context.faultErrors.isEmpty, (try? context.save()) == nil else {
      throw Mismatch("no error was noted")
    }
    if maker.size != world.makers[id] { throw Mismatch("\(id) is \(maker.size) after a failed read") }
  }

  private func refresh(_ number: Int) throws {
    let context = contexts[number]
    for (id, maker) in makers[number].sorted(by: { $0.key < $1.key }) where dice.isOne(in: 2) {
      let (before, wasThere) = (maker.size, maker.state != .invalid)
      context.refresh(maker)
      let after = maker.size
      if let size = world.makers[id] {
        if after != size || maker.state != .loaded { throw Mismatch("maker \(id) is \(after), not \(size)") }
      } else {
        // Values that were read before can still be read, and the error is noted.
        if maker.state != .invalid || (wasThere && after != before) {
          throw Mismatch("maker \(id) is \(after)")
        }
        if context.faultErrors.isEmpty { throw Mismatch("maker \(id) is gone without a word") }
        try? context.save()
        note("lost", detail: "\(id) in \(number)")
      }
    }
  }

  func compare(_ context: ObjectContext) throws {
    let found = try context.fetch(Maker.self).all()
    let sizes = Dictionary(uniqueKeysWithValues: found.map { ($0.id.rowID, $0.size) })
    if sizes != world.makers { throw Mismatch("makers are \(sizes), not \(world.makers)") }
    let parts = Dictionary(
      uniqueKeysWithValues: try context.fetch(Part.self).all().map {
        ($0.id.rowID, Row(text: $0.first ?? -1, owner: $0.owner?.id.rowID))
      })
    if parts != world.parts { throw Mismatch("parts are \(parts), not \(world.parts)") }
    if let error = context.faultErrors.first { throw Mismatch("an error was noted: \(error)") }
  }
}
