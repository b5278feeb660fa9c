// The invariants of an ObjectTable between two calls. Tests check them after each step.

extension ObjectTable {
  /// Returns the broken invariants as sentences; empty if the table is sound. Reads every place of the
  /// table.
  package func brokenInvariants() -> [String] {
    var broken = Broken()
    checkCounts(&broken)
    let firsts = checkBlocks(&broken)
    checkLast(of: firsts, &broken)
    return broken.texts
  }

  /// Collects the broken invariants.
  private struct Broken {
    var texts: [String] = []

    mutating func check(_ holds: Bool, _ text: @autoclosure () -> String) {
      if !holds { texts.append(text()) }
    }
  }

  private func checkCounts(_ broken: inout Broken) {
    let state = unsafe table.pointee
    let capacity = state.capacity
    broken.check(capacity >= 8 && capacity & (capacity - 1) == 0, "\(capacity) places are not a power of two")
    let dense = state.dense
    let taken = (0..<Int64(dense.capacity)).count { unsafe dense.find($0) != nil }
    broken.check(
      taken == dense.count, "\(taken) ids have objects at their places, but \(dense.count) are counted")
    broken.check(
      dense.capacity <= UInt64(clamping: state.count) &* 8,
      "\(dense.capacity) ids have places, but there are only \(state.count) objects")
    unsafe broken.check(
      state.count == taken + blocks.reduce(0) { unsafe $0 + Int($1.pointee.header & 7) + 1 },
      "\(state.count) objects are counted in all")
  }

  /// Checks the hash table's places and each block.
  /// - Returns: The first ids of all blocks.
  private func checkBlocks(_ broken: inout Broken) -> Set<Int64> {
    let state = unsafe table.pointee
    var (places, tombs) = (0, 0)
    var firsts: Set<Int64> = []
    for index in 0..<state.capacity {
      guard let block = unsafe state.blocks[index] else { continue }
      places += 1
      guard unsafe block != state.removed else {
        tombs += 1
        continue
      }
      let first = unsafe block.pointee.first
      broken.check(firsts.insert(first).inserted, "there are two blocks of \(first)")
      broken.check(!state.dense.covers(first), "the ids of the block of \(first) have places of their own")
      unsafe check(block, of: first, &broken)
    }
    broken.check(places == state.used, "\(places) places are in use, but \(state.used) are counted")
    // A search that finds nothing must end at a free place.
    broken.check(state.used * 4 <= state.capacity * 3, "\(state.used) of \(state.capacity) places are in use")
    broken.check(
      places - tombs == firsts.count, "\(places - tombs) blocks stand for \(firsts.count) of them")
    return firsts
  }

  private func check(_ block: Pointer, of first: Int64, _ broken: inout Broken) {
    unsafe broken.check(steps(to: first, from: block) != nil, "no key finds the block of \(first)")
    let count = (0..<8).count { unsafe slot(block, $0).pointee != nil }
    broken.check(count > 0, "the block of \(first) is empty")
    unsafe broken.check(
      count == Int(block.pointee.header & 7) + 1,
      unsafe "the block of \(first) has \(count) objects, but counts \(block.pointee.header & 7) and one")
  }

  /// Checks the cached blocks.
  private func checkLast(of firsts: Set<Int64>, _ broken: inout Broken) {
    let state = unsafe table.pointee
    if let last = unsafe state.last {
      unsafe broken.check(
        firsts.contains(last.pointee.first), "the block of the last look-up is not in the table")
      unsafe broken.check(
        search(last.pointee.first) == last, "the block of the last look-up is not the one that is found")
    }
    broken.check(
      !firsts.contains(state.missed), "the block that the last search did not find is in the table")
    unsafe broken.check(
      state.spare == nil || state.spare != state.last, "the spare block is the one of the last look-up")
  }

  /// Returns the number of places that a search visits before it finds a block; nil if it does not find
  /// it.
  private func steps(to first: Int64, from block: Pointer) -> Int? {
    var probe = unsafe Probe(first, table.pointee.capacity)
    // Each step of a Probe uses up five bits of the block's number. After at most 13 steps none is left,
    // and from then on the Probe visits every place once in as many steps as there are places. There are
    // at least eight places, so this limit is high enough.
    for step in unsafe 0..<table.pointee.capacity * 16 {
      guard let found = unsafe table.pointee.blocks[probe.index] else { return nil }
      if unsafe found == block { return step }
      probe.advance()
    }
    return nil
  }

  /// The number of ids that have a place in the dense part.
  package var densePlaces: Int { unsafe Int(table.pointee.dense.capacity) }

  /// The number of places of the table, and the number of those that removed blocks still occupy.
  package var places: (all: Int, removed: Int) {
    unsafe (table.pointee.capacity, table.pointee.used - blocks.count)
  }
}
