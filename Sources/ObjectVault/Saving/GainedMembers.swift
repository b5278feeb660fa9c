// Who became a member of whom, where nobody has asked for the members. Part of what is pending in a context.
//
// Most objects that are filled through the other end are never asked for their members before the save: a list of all such
// gains is kept for all of them, in place of a set for each. Who asks gets its own out of it, once.

/// The members that objects gained since the last save, of those whose members are in nobody's memory.
package struct GainedMembers {
  /// One object more among the members of another.
  package struct Gain {
    // Both are kept alive: what is in no set has to be there when the members are asked for.
    let owner: ManagedObject
    let slot: Int
    let member: ManagedObject
  }

  /// Those that have not been sorted by their owners.
  private var recent: [Gain] = []
  /// The others, by their owner. Each is sorted once, however many owners are asked one after the other.
  private var byOwner: [ObjectIdentifier: [Gain]] = [:]

  package var isEmpty: Bool { recent.isEmpty && byOwner.isEmpty }

  /// All of them.
  var all: [Gain] { byOwner.values.flatMap(\.self) + recent }

  @inline(__always) mutating func add(_ member: ManagedObject, to owner: ManagedObject, _ slot: Int) {
    recent.append(Gain(owner: owner, slot: slot, member: member))
  }

  /// Takes out what one relationship of an object gained, in its order.
  mutating func take(of owner: ManagedObject, _ slot: Int) -> [ManagedObject] {
    guard !isEmpty else { return [] }
    for gain in recent { byOwner[ObjectIdentifier(gain.owner), default: []].append(gain) }
    recent = []
    let gains = byOwner.removeValue(forKey: ObjectIdentifier(owner)) ?? []
    let others = gains.filter { $0.slot != slot }
    if !others.isEmpty { byOwner[ObjectIdentifier(owner)] = others }
    return gains.filter { $0.slot == slot }.map(\.member)
  }
}
