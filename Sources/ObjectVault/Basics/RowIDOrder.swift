// Ids in the order in which their rows lie, and the way back to the order in which they were given.

/// Ids that are sorted for the time in which their rows are read.
package struct RowIDOrder {
  /// The ids, each once.
  package let rising: [Int64]
  private let given: [Int64]
  private let first: Int64
  /// A bit for each number from the lowest id on.
  private let bits: [UInt64]
  /// How many ids stand before each word of bits.
  private let ranks: [Int32]

  /// - Returns: Nil where the ids lie so far apart that their rows share no pages: marking would take more memory than they do.
  package init?(_ ids: [Int64]) {
    guard let (first, last) = Self.ends(ids), Self.isNarrow(first, last, ids.count) else { return nil }
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

  /// Where one of the ids stands in ``rising``.
  package func place(of id: Int64) -> Int {
    let offset = Int(id - first)
    let below = bits[offset >> 6] & ((1 << UInt64(offset & 63)) - 1)
    return Int(ranks[offset >> 6]) + below.nonzeroBitCount
  }

  /// Brings what was read in the order of ``rising`` into that of the ids which were given, none of them twice.
  ///
  /// By moving each to its place: a copy would count a reference to each, which waits for the memory of all of them.
  /// - Returns: Whether there is one element for each id, and no id twice; else they are left as they are.
  package func putBack<Element>(_ elements: inout [Element]) -> Bool {
    guard elements.count == given.count, given.count == rising.count else { return false }
    var sources = given.map { Int32(truncatingIfNeeded: place(of: $0)) }
    // Safe: the places of ids that are each there once are a permutation of the elements' own, so that a cycle ends where it
    // began, and every element is taken out of one place and put into one. Nothing in between can throw or ask for memory.
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

  /// About how many rows lie on one page.
  private static let pageRows: Int64 = 64

  /// Whether reading rows in the order in which they are given comes to other pages more than twice as often as reading them in
  /// that of their ids. Of ids that rise it never does.
  package static func isScattered(_ ids: some Collection<Int64>) -> Bool {
    guard var former = ids.first, let (lowest, highest) = ends(ids),
      isNarrow(lowest, highest, ids.count)
    else { return false }
    var jumps: Int64 = 0
    for id in ids {
      // Without overflow, as all of them lie close enough to each other.
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

  /// Whether there are about as many ids as pages between the lowest one and the highest, or more.
  private static func isNarrow(_ lowest: Int64, _ highest: Int64, _ count: Int) -> Bool {
    let (span, isTooWide) = highest.subtractingReportingOverflow(lowest)
    return !isTooWide && span / pageRows <= count && count <= Int32.max
  }
}
