// Chooses the places of members in an ordered relationship, so that as few members as possible get a new
// place. Pure.
//
// A place is a number. Members are ordered by their places, and there is room between these numbers. A
// member that moves gets a number between those of its new neighbours, so only its row is written. If
// there is no room left, all members get new numbers. Members without a number come first, by id: those
// that SQL inserted, and all members of a relationship that became ordered.

/// The place of a member among the members of its owner, as stored in the file.
package struct MemberPlace: Hashable {
  package let owner: Int64
  package let member: Int64
  package let place: Int64?

  package init(owner: Int64, member: Int64, place: Int64?) {
    (self.owner, self.member, self.place) = (owner, member, place)
  }
}

/// Finds the places that put members into a given order.
package enum MemberOrdering {
  /// The distance between neighbouring new places. A member can be inserted in the middle sixteen times
  /// in a row.
  package static let gap: Int64 = 1 << 16

  /// Returns places for `count` members after the place `last`; nil if the numbers would overflow.
  package static func places(_ count: Int, after last: Int64?) -> [Int64]? {
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

  /// Returns the new places, by member, that put members into the wanted order.
  ///
  /// Takes O(n log n) steps. Members in the file that are not in `wanted` keep their neighbours, unless
  /// these move.
  /// - Parameters:
  ///   - wanted: The ids of the members in the wanted order, each once: stored members and new ones.
  ///   - stored: The members in the file in their order there, without those that are deleted or removed.
  package static func changes(_ wanted: [Int64], _ stored: [(member: Int64, place: Int64?)]) -> [Int64: Int64]
  {
    let ranks = Dictionary(uniqueKeysWithValues: stored.enumerated().map { ($1.member, $0) })
    // The indexes in `wanted` of the members that keep their places: as many as possible.
    let staying = longestRisingSubsequence(wanted.map { ranks[$0] })
    return fitted(wanted, stored: stored, staying: staying) ?? renumbered(wanted, stored)
  }

  /// Returns the indexes of a longest rising subsequence of a list. Elements that are nil are not in it.
  package static func longestRisingSubsequence(_ ranks: [Int?]) -> [Int] {
    // For each length, the index of the lowest possible last element of a rising subsequence of that
    // length.
    var ends: [Int] = []
    // For each element, the index of the element before it in the longest subsequence that ends with it.
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

  /// Returns places for the other members between those of the members that stay; nil if there is no
  /// room.
  /// - Parameter staying: The indexes in `wanted` of the members that keep their places.
  private static func fitted(
    _ wanted: [Int64], stored: [(member: Int64, place: Int64?)], staying: [Int]
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
          places = Self.places(end - start, after: last)
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

  /// Returns equally spaced places between `low` and `high`; before `high` if `low` is nil. nil if there
  /// is no room.
  private static func places(_ count: Int, from low: Int64?, to high: Int64) -> [Int64]? {
    guard let low else {
      let (room, isLarge) = gap.multipliedReportingOverflow(by: Int64(count))
      let (first, overflows) = high.subtractingReportingOverflow(room)
      return isLarge || overflows ? nil : (0..<Int64(count)).map { first + $0 * gap }
    }
    let (room, overflows) = high.subtractingReportingOverflow(low)
    // If SQL has set places so far apart that the difference overflows, all members get new places.
    let step = overflows ? 0 : room / Int64(count + 1)
    return step > 0 ? (1...Int64(count)).map { low + $0 * step } : nil
  }

  /// Numbers all members anew, and returns the places that change.
  private static func renumbered(_ wanted: [Int64], _ stored: [(member: Int64, place: Int64?)]) -> [Int64:
    Int64]
  {
    let isWanted = Set(wanted)
    // A member that is not in `wanted` stays after the same neighbour.
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
