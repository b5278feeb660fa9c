// New members of owners whose members were not read. Part of the pending changes of a context.
//
// The members of most objects that gain members through the inverse are not read before the save. One
// list of all gains replaces a set per owner. When the members of an owner are read, its gains are taken
// out of the list.

/// The members gained since the last save by owners whose members are not in memory.
package struct GainedMembers {
  /// One member gained by one owner.
  package struct Gain {
    // Owner and member are kept alive: they are in no set yet, and must exist when the members are read.
    let owner: ManagedObject
    let slot: Int
    let member: ManagedObject
  }

  /// The gains that are not yet grouped by owner.
  private var recent: [Gain] = []
  /// The other gains, by owner. Each gain is grouped only once, even if many owners are read one after
  /// the other.
  private var byOwner: [ObjectIdentifier: [Gain]] = [:]

  package var isEmpty: Bool { recent.isEmpty && byOwner.isEmpty }

  /// The number of gains that are not yet grouped by owner.
  var recentCount: Int { recent.count }

  /// Returns whether an owner has gained a member since ``recentCount`` was `count`. After a regrouping,
  /// which a read of members makes, it is unknown, and the result is false.
  func hasGained(_ owner: ManagedObject, since count: Int) -> Bool {
    recent.count > count && recent[count...].contains { $0.owner === owner }
  }

  /// All gains.
  var all: [Gain] { byOwner.values.flatMap(\.self) + recent }

  @inline(__always) mutating func add(_ member: ManagedObject, to owner: ManagedObject, _ slot: Int) {
    recent.append(Gain(owner: owner, slot: slot, member: member))
  }

  /// Removes and returns the members that one relationship of an owner has gained, in the order in which
  /// they were added.
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
