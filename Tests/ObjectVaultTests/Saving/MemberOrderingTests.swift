// The places that members get, chosen without a store. The order must be right, and as few places as
// possible are written.

import ObjectVault
import Testing

@Suite(.tags(.pure)) struct MemberOrderings {
  /// Sorts members as a file does: by their places, and then by their ids.
  private static func sorted(_ places: [Int64: Int64?]) -> [Int64] {
    places.sorted { left, right in
      ((left.value ?? Int64.min, left.key) < (right.value ?? Int64.min, right.key))
    }.map(\.key)
  }

  private static func stored(_ places: [Int64: Int64?]) -> [(member: Int64, place: Int64?)] {
    sorted(places).map { ($0, places[$0] ?? nil) }
  }

  @Test func `moving a member writes only its own place`() {
    let places: [Int64: Int64?] = [1: 100, 2: 200, 3: 300, 4: 400]
    #expect(MemberOrdering.changes([1, 2, 3, 4], Self.stored(places)) == [:])
    #expect(MemberOrdering.changes([4, 1, 2, 3], Self.stored(places)) == [4: 100 - MemberOrdering.gap])
    #expect(MemberOrdering.changes([1, 4, 2, 3], Self.stored(places)) == [4: 150])
    #expect(MemberOrdering.changes([2, 3, 4, 1], Self.stored(places)) == [1: 400 + MemberOrdering.gap])
    #expect(MemberOrdering.changes([1, 9, 8, 2, 3, 4], Self.stored(places)) == [9: 133, 8: 166])
  }

  @Test func `if there is no room between two places, all members get new places`() {
    let places: [Int64: Int64?] = [1: 1, 2: 2, 3: 900]
    let gap = MemberOrdering.gap
    #expect(
      MemberOrdering.changes([1, 9, 2, 3], Self.stored(places)) == [
        1: gap, 9: 2 * gap, 2: 3 * gap, 3: 4 * gap,
      ])
    // A member that is unknown here stays after the same neighbour.
    let found = MemberOrdering.changes([1, 9, 3], Self.stored([1: 1, 2: 2, 3: 2]))
    #expect(found == [1: gap, 2: 2 * gap, 9: 3 * gap, 3: 4 * gap])
  }

  @Test func `members without places come first, by id, and get places if the order requires it`() {
    let places: [Int64: Int64?] = [3: nil, 5: nil, 4: 10]
    #expect(Self.sorted(places) == [3, 5, 4])
    #expect(MemberOrdering.changes([3, 5, 4, 9], Self.stored(places)) == [9: 10 + MemberOrdering.gap])
    #expect(MemberOrdering.changes([3, 5, 9, 4], Self.stored(places)) == [9: 10 - MemberOrdering.gap])
    // No place is before a member without a place.
    #expect(MemberOrdering.changes([5, 3, 4], Self.stored(places)).count == 3)
    #expect(MemberOrdering.changes([9, 3, 5, 4], Self.stored(places)).count == 4)
    #expect(MemberOrdering.places(2, after: nil) == [MemberOrdering.gap, 2 * MemberOrdering.gap])
  }

  @Test func `places at the ends of the integer range are replaced`() {
    #expect(MemberOrdering.places(2, after: .max - MemberOrdering.gap) == nil)
    let ends: [Int64: Int64?] = [1: Int64.min, 2: Int64.max]
    for wanted: [Int64] in [[9, 1, 2], [1, 9, 2], [1, 2, 9], [2, 1]] {
      var places = ends
      for (member, place) in MemberOrdering.changes(wanted, Self.stored(ends)) {
        places[member] = .some(place)
      }
      #expect(Self.sorted(places) == wanted)
    }
  }

  @Test(arguments: 1...UInt64(200))
  func `the changes of places give any wanted order, and a second run changes nothing`(_ seed: UInt64) {
    var dice = Dice(seed)
    var places: [Int64: Int64?] = [:]
    // Few different numbers, so that many are equal or adjacent.
    for member in 1...Int64(1 + dice.next(8)) {
      places[member] = .some(dice.isOne(in: 4) ? nil : Int64(dice.next(12)) * (dice.isOne(in: 2) ? 1 : 1000))
    }
    var wanted = Self.sorted(places)
    for _ in 0..<dice.next(4) { wanted.append(wanted.remove(at: dice.next(wanted.count))) }
    if dice.isOne(in: 2) { wanted.insert(99, at: dice.next(wanted.count + 1)) }
    let changes = MemberOrdering.changes(wanted, Self.stored(places))
    for (member, place) in changes { places[member] = .some(place) }
    #expect(Self.sorted(places) == wanted)
    #expect(MemberOrdering.changes(wanted, Self.stored(places)).isEmpty)
  }

  @Test func `longestRisingSubsequence finds the longest ascending sequence`() {
    #expect(MemberOrdering.longestRisingSubsequence([]) == [])
    #expect(MemberOrdering.longestRisingSubsequence([nil, 3, nil]) == [1])
    #expect(MemberOrdering.longestRisingSubsequence([3, 0, 1, nil, 2, 0]) == [1, 2, 4])
    #expect(MemberOrdering.longestRisingSubsequence([4, 3, 2, 1, 0]).count == 1)
  }
}
