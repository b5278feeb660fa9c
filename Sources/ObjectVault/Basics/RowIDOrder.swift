// Sorts row ids by the order of their rows in the file. After the rows are read, restores the order in
// which the ids were given.

/// Ids sorted for reading their rows in file order, with the order in which they were given.
package struct RowIDOrder {
  /// The ids in ascending order, each once.
  package let rising: [Int64]
  private let given: [Int64]
  private let first: Int64
  /// A bit set: bit n is set if the lowest id plus n is one of the ids.
  private let bits: [UInt64]
  /// For each word of ``bits``: how many ids come before it.
  private let ranks: [Int32]

  /// Sorts ids by marking them in a bit set.
  /// - Returns: nil for an empty list. Also nil if the ids are so far apart that their rows share no
  ///   pages: the bit set would take more memory than the ids.
  package init?(_ ids: [Int64]) {
    guard let (first, last) = Self.ends(ids), Self.isNarrow(from: first, to: last, count: ids.count) else {
      return nil
    }
    var bits = [UInt64](repeating: 0, count: Int(last - first) / 64 + 1)
    for id in ids {
      let offset = Int(id - first)
      bits[offset >> 6] |= 1 << UInt64(offset & 63)
    }
    var (rising, ranks): ([Int64], [Int32]) = ([], [])
    rising.reserveCapacity(ids.count)
    ranks.reserveCapacity(bits.count)
    for (place, word) in bits.enumerated() {
      ranks.append(Int32(rising.count))
      var rest = word
      while rest != 0 {
        rising.append(first + Int64(place &* 64 &+ rest.trailingZeroBitCount))
        rest &= rest &- 1
      }
    }
    (self.rising, given, self.first, self.bits, self.ranks) = (rising, ids, first, bits, ranks)
  }

  /// Returns the index of an id in ``rising``. The id has to be one of them.
  package func place(of id: Int64) -> Int {
    let offset = Int(id - first)
    let below = bits[offset >> 6] & ((1 << UInt64(offset & 63)) - 1)
    return Int(ranks[offset >> 6]) + below.nonzeroBitCount
  }

  /// Reorders elements that were read in the order of ``rising`` into the order in which the ids were
  /// given.
  ///
  /// Elements are moved, not copied. A copy of an object's reference would change the reference count,
  /// and so access the memory of every object.
  /// - Returns: Whether the elements were reordered. They are unchanged if an id occurs twice, or if
  ///   there is not exactly one element for each id.
  package func restoreGivenOrder<Element>(_ elements: inout [Element]) -> Bool {
    guard elements.count == given.count, given.count == rising.count else { return false }
    var sources = given.map { Int32(truncatingIfNeeded: place(of: $0)) }
    // Safe: as the ids are distinct, `sources` is a permutation of the elements' indices. Each cycle ends
    // where it began, and every element is moved out of one index and into one. Nothing in between can
    // throw or allocate.
    unsafe elements.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return }
      for start in sources.indices where Int(sources[start]) != start {
        let first = unsafe (base + start).move()
        var hole = start
        while Int(sources[hole]) != start {
          let source = Int(sources[hole])
          unsafe (base + hole).moveInitialize(from: base + source, count: 1)
          sources[hole] = Int32(hole)
          hole = source
        }
        unsafe (base + hole).initialize(to: first)
        sources[hole] = Int32(hole)
      }
    }
    return true
  }

  /// The approximate number of rows on a page.
  private static let pageRows: Int64 = 64

  /// Returns whether reading rows in the given order moves to another page more than twice as often as
  /// reading them in ascending order. False for ids that are so far apart that their rows share no pages.
  /// Ascending ids are never scattered.
  package static func isScattered(_ ids: some Collection<Int64>) -> Bool {
    guard var former = ids.first, let (lowest, highest) = ends(ids),
      isNarrow(from: lowest, to: highest, count: ids.count)
    else { return false }
    var jumps: Int64 = 0
    for id in ids {
      // Cannot overflow: `isNarrow` limits the distance between the ids.
      if abs(id - former) > pageRows { jumps += 1 }
      former = id
    }
    return jumps / 2 > (highest - lowest) / pageRows
  }

  private static func ends(_ ids: some Collection<Int64>) -> (lowest: Int64, highest: Int64)? {
    guard let first = ids.first else { return nil }
    var (lowest, highest) = (first, first)
    for id in ids {
      lowest = min(lowest, id)
      highest = max(highest, id)
    }
    return (lowest, highest)
  }

  /// Returns whether there are at least about as many ids as pages between the lowest and the highest id.
  private static func isNarrow(from lowest: Int64, to highest: Int64, count: Int) -> Bool {
    let (span, isTooWide) = highest.subtractingReportingOverflow(lowest)
    return !isTooWide && span / pageRows <= count && count <= Int32.max
  }
}
