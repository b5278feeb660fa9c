// A set of small integers, such as slot numbers. Members below 64 need no allocation; higher ones need an
// array.

package struct SlotSet: Hashable, Sendable {
  private var low: UInt64 = 0
  private var high: [UInt64] = []

  package init() {}

  var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }

  /// Returns the members that are not in another set; nil counts as the empty set.
  func subtracting(_ other: SlotSet?) -> SlotSet {
    guard let other else { return self }
    var rest = self
    rest.low &= ~other.low
    for word in rest.high.indices where word < other.high.count { rest.high[word] &= ~other.high[word] }
    return rest
  }

  func union(_ other: SlotSet) -> SlotSet {
    var all = self
    all.low |= other.low
    if all.high.count < other.high.count {
      all.high += Array(repeating: 0, count: other.high.count - all.high.count)
    }
    for word in other.high.indices { all.high[word] |= other.high[word] }
    return all
  }

  func intersection(_ other: SlotSet) -> SlotSet {
    var both = self
    both.low &= other.low
    for word in both.high.indices { both.high[word] &= word < other.high.count ? other.high[word] : 0 }
    return both
  }

  @inline(__always) package func contains(_ slot: Int) -> Bool {
    slot < 64 ? low & (1 &<< UInt64(truncatingIfNeeded: slot)) != 0 : high(contains: slot)
  }

  private func high(contains slot: Int) -> Bool {
    let word = slot / 64 - 1
    return word < high.count && high[word] & (1 << UInt64(slot % 64)) != 0
  }

  // Inlined, because each property's setter inserts its slot.
  @inline(__always) package mutating func insert(_ slot: Int) {
    if slot < 64 { low |= 1 &<< UInt64(truncatingIfNeeded: slot) } else { insertHigh(slot) }
  }

  private mutating func insertHigh(_ slot: Int) {
    let word = slot / 64 - 1
    while high.count <= word { high.append(0) }
    high[word] |= 1 << UInt64(slot % 64)
  }

  mutating func remove(_ slot: Int) {
    if slot < 64 {
      low &= ~(1 << UInt64(slot))
    } else if slot / 64 - 1 < high.count {
      high[slot / 64 - 1] &= ~(1 << UInt64(slot % 64))
    }
  }
}

extension SlotSet: ExpressibleByArrayLiteral {
  package init(arrayLiteral slots: Int...) { for slot in slots { insert(slot) } }
}
