// Sets of row ids, for saves and fetches. Related rows were mostly made together, so their ids are close
// together. A sorted list with a bit set over its range then costs a fraction of a hash set, and
// statements need the ids sorted anyway.

/// A set of row ids, iterated in ascending order.
package struct RowIDSet: Sendable, Equatable, Sequence {
  /// The ids in ascending order.
  package private(set) var ids: [Int64]
  /// A bit set: bit n is set if the lowest id plus n is in the set. Empty if the ids are few, or too far
  /// apart.
  private var bits: [UInt64] = []

  package init() { ids = [] }

  package init(_ ids: some Sequence<Int64>) {
    var ids = Array(ids)
    if !Self.isRising(ids) {
      // Building a bit set, and reading the ids from it, takes less time than sorting them.
      let first = ids.min() ?? 0
      if let bits = Self.marked(ids, from: first, to: ids.max() ?? 0) {
        self.init(rising: Self.read(bits, from: first, capacity: ids.count), bits)
        return
      }
      ids.sort()
      Self.removeRepeated(&ids)
    }
    self.init(rising: ids)
  }

  private init(rising ids: [Int64]) {
    self.init(rising: ids, Self.marked(ids, from: ids.first ?? 0, to: ids.last ?? 0) ?? [])
  }

  private init(rising ids: [Int64], _ bits: [UInt64]) { (self.ids, self.bits) = (ids, bits) }

  package static func == (one: RowIDSet, other: RowIDSet) -> Bool { one.ids == other.ids }

  package var isEmpty: Bool { ids.isEmpty }
  package var count: Int { ids.count }
  package func makeIterator() -> IndexingIterator<[Int64]> { ids.makeIterator() }

  /// The ids above zero: final ids, not the temporary ids of new objects.
  package var rows: ArraySlice<Int64> { ids[place(of: 1)...] }

  /// Returns whether an id is in the set. Takes constant time if there is a bit set, otherwise
  /// logarithmic time.
  package func contains(_ id: Int64) -> Bool {
    guard let first = ids.first, id >= first, let last = ids.last, id <= last else { return false }
    if bits.isEmpty {
      let place = place(of: id)
      return place < ids.count && ids[place] == id
    }
    let offset = Int(id - first)
    return bits[offset >> 6] & (1 << UInt64(offset & 63)) != 0
  }

  /// Returns the ids that satisfy a condition.
  package func filter(_ isIncluded: (Int64) throws -> Bool) rethrows -> RowIDSet {
    RowIDSet(rising: try ids.filter(isIncluded))
  }

  package func union(_ other: RowIDSet) -> RowIDSet {
    guard !isEmpty else { return other }
    guard !other.isEmpty else { return self }
    if let last = ids.last, let first = other.ids.first, last < first {
      return RowIDSet(rising: ids + other.ids)
    }
    return RowIDSet(rising: Self.merged(ids, with: other.ids))
  }

  package mutating func formUnion(_ other: RowIDSet) {
    if !other.isEmpty { self = union(other) }
  }

  // MARK: Order

  private static func isRising(_ ids: [Int64]) -> Bool {
    ids.indices.dropFirst().allSatisfy { ids[$0 - 1] < ids[$0] }
  }

  /// Removes duplicates from a sorted list.
  private static func removeRepeated(_ ids: inout [Int64]) {
    var kept = 0
    for place in ids.indices where place == 0 || ids[place] != ids[kept - 1] {
      ids[kept] = ids[place]
      kept += 1
    }
    ids.removeLast(ids.count - kept)
  }

  private static func merged(_ one: [Int64], with other: [Int64]) -> [Int64] {
    var result: [Int64] = []
    result.reserveCapacity(one.count + other.count)
    var (left, right) = (0, 0)
    while left < one.count, right < other.count {
      if one[left] == other[right] {
        right += 1
      } else if one[left] < other[right] {
        result.append(one[left])
        left += 1
      } else {
        result.append(other[right])
        right += 1
      }
    }
    result += one[left...]
    result += other[right...]
    return result
  }

  /// Returns the index of the first id that is not less than the given one.
  private func place(of id: Int64) -> Int {
    var (low, high) = (0, ids.count)
    while low < high {
      let middle = (low + high) / 2
      if ids[middle] < id { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Returns the bit set of some ids; nil if they are too few or too far apart for one.
  private static func marked(_ ids: [Int64], from first: Int64, to last: Int64) -> [UInt64]? {
    // A few ids are found as fast without a bit set. The bit set may take as much memory as the ids, not
    // more.
    guard ids.count > 16 else { return nil }
    let (span, isTooWide) = last.subtractingReportingOverflow(first)
    guard !isTooWide, span / 64 <= Int64(ids.count) else { return nil }
    var bits = [UInt64](repeating: 0, count: Int(span / 64) + 1)
    for id in ids {
      let offset = Int(id - first)
      bits[offset >> 6] |= 1 << UInt64(offset & 63)
    }
    return bits
  }

  /// Returns the ids that are marked in a bit set, in ascending order.
  private static func read(_ bits: [UInt64], from first: Int64, capacity: Int) -> [Int64] {
    var ids: [Int64] = []
    ids.reserveCapacity(capacity)
    for (place, word) in bits.enumerated() {
      var rest = word
      while rest != 0 {
        ids.append(first + Int64(place &* 64 &+ rest.trailingZeroBitCount))
        rest &= rest &- 1
      }
    }
    return ids
  }
}

/// A set of ids that grows by many small unions: a cascade through 25,000 levels of objects makes 25,000
/// unions.
package struct RowIDAccumulator: Sendable {
  // Each part has more than twice as many ids as the next one, so that there are few parts.
  private var parts: [RowIDSet] = []

  package init() {}

  package var isEmpty: Bool { parts.isEmpty }
  package var partCount: Int { parts.count }

  package func contains(_ id: Int64) -> Bool { parts.contains { $0.contains(id) } }

  package mutating func formUnion(_ ids: RowIDSet) {
    guard !ids.isEmpty else { return }
    var ids = ids
    while let last = parts.last, last.count <= 2 * ids.count {
      parts.removeLast()
      ids = last.union(ids)
    }
    parts.append(ids)
  }

  /// All ids as one set.
  package var all: RowIDSet { parts.reversed().reduce(RowIDSet()) { $0.union($1) } }
}
