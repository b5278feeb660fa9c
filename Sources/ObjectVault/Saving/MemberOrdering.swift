// Which places members of an ordered relationship get: as few new ones as put them into the wanted order. Pure.
//
// A place is a number, and the order is that of the numbers, with room between them: a member that moves gets a number
// between those of its new neighbours, and its row alone is written. Where there is no room left, all members get new numbers.
// Who has no number stands first, by id: as members do whom SQL made, and all members of a relationship that was made ordered.

/// A member of an object, as the file has it.
package struct MemberPlace: Hashable {
  package let owner: Int64
  package let member: Int64
  package let place: Int64?

  package init(owner: Int64, member: Int64, place: Int64?) {
    (self.owner, self.member, self.place) = (owner, member, place)
  }
}

/// Finds the places that put members into an order.
package enum MemberOrdering {
  /// From one member to the next: sixteen times something can be put between two of them, always in the middle.
  package static let gap: Int64 = 1 << 16

  /// The places of so many members behind the last one; nil where the numbers come to an end.
  package static func places(_ count: Int, behind last: Int64?) -> [Int64]? {
    var place = last ?? 0
    var places: [Int64] = []
    places.reserveCapacity(count)
    for _ in 0..<count {
      let (next, overflows) = place.addingReportingOverflow(gap)
      guard !overflows else { return nil }
      places.append(next)
      place = next
    }
    return places
  }

  /// The new places, by member, that put members into an order.
  ///
  /// Takes n log n steps. Members that the file has and nobody here knows of keep their neighbours as far as these stay.
  /// - Parameters:
  ///   - wanted: The ids of members, each once: stored ones, and new ones.
  ///   - stored: The members in the file, in their order there, but for those that go.
  package static func changes(_ wanted: [Int64], _ stored: [(member: Int64, place: Int64?)]) -> [Int64: Int64]
  {
    let ranks = Dictionary(uniqueKeysWithValues: stored.enumerated().map { ($1.member, $0) })
    let staying = longestRise(wanted.map { ranks[$0] })
    return fitted(wanted, stored, staying) ?? renumbered(wanted, stored)
  }

  /// The places in the longest part of a list that rises; those that hold nothing are in no part.
  package static func longestRise(_ ranks: [Int?]) -> [Int] {
    // By length, the place of the lowest end of a part of that length.
    var ends: [Int] = []
    var former = [Int?](repeating: nil, count: ranks.count)
    for (place, rank) in ranks.enumerated() {
      guard let rank else { continue }
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if let end = ranks[ends[middle]], end < rank { low = middle + 1 } else { high = middle }
      }
      former[place] = low > 0 ? ends[low - 1] : nil
      if low < ends.count { ends[low] = place } else { ends.append(place) }
    }
    var rise: [Int] = []
    var last = ends.last
    while let place = last {
      rise.append(place)
      last = former[place]
    }
    return rise.reversed()
  }

  /// Places between those that stay; nil where there is no room.
  private static func fitted(
    _ wanted: [Int64], _ stored: [(member: Int64, place: Int64?)], _ staying: [Int]
  ) -> [Int64: Int64]? {
    let present = Dictionary(uniqueKeysWithValues: stored.map { ($0.member, $0.place) })
    let last = stored.lazy.compactMap(\.place).max()
    var changes: [Int64: Int64] = [:]
    var (start, below): (Int, Int64?) = (0, nil)
    for end in staying + [wanted.count] {
      let above = end < wanted.count ? present[wanted[end]] ?? nil : nil
      if start < end {
        let places: [Int64]?
        if end == wanted.count {
          places = Self.places(end - start, behind: last)
        } else {
          places = above.flatMap { Self.places(end - start, from: below, to: $0) }
        }
        guard let places else { return nil }
        for (member, place) in zip(wanted[start..<end], places) { changes[member] = place }
      }
      (start, below) = (end + 1, above)
    }
    return changes
  }

  /// Places between two, at the same distance from each other; before the first one where there is no lower one.
  private static func places(_ count: Int, from low: Int64?, to high: Int64) -> [Int64]? {
    guard let low else {
      let (room, isLarge) = gap.multipliedReportingOverflow(by: Int64(count))
      let (first, overflows) = high.subtractingReportingOverflow(room)
      return isLarge || overflows ? nil : (0..<Int64(count)).map { first + $0 * gap }
    }
    let (room, overflows) = high.subtractingReportingOverflow(low)
    // Numbers that SQL has put so far apart get others.
    let step = overflows ? 0 : room / Int64(count + 1)
    return step > 0 ? (1...Int64(count)).map { low + $0 * step } : nil
  }

  /// New places for all members, where they are not those that they have.
  private static func renumbered(_ wanted: [Int64], _ stored: [(member: Int64, place: Int64?)]) -> [Int64:
    Int64]
  {
    let isWanted = Set(wanted)
    // Who is not among the wanted ones stays behind the same neighbour.
    var followers: [Int64?: [Int64]] = [:]
    var neighbour: Int64?
    for (member, _) in stored {
      if isWanted.contains(member) {
        neighbour = member
      } else {
        followers[neighbour, default: []].append(member)
      }
    }
    let all = (followers[nil] ?? []) + wanted.flatMap { [$0] + (followers[$0] ?? []) }
    let present = Dictionary(uniqueKeysWithValues: stored.map { ($0.member, $0.place) })
    var changes: [Int64: Int64] = [:]
    for (index, member) in all.enumerated() {
      let place = Int64(index + 1) * gap
      if present[member] != .some(place) { changes[member] = place }
    }
    return changes
  }
}
