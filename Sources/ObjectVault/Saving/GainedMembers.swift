// Who became a member of whom, where nobody has asked for the members. Part of what is pending in a context.
//
// Most objects that are filled through the other end are never asked for their members before the save: a list of all such
// gains is kept for all of them, in place of a set for each. Who asks gets its own out of it, once.

/// The members that objects gained since the last save, of those whose members are in nobody's memory.
package struct GainedMembers {
  /// One object more among the members of another.
  package struct Gain {
    // Both are kept alive: what is in nobody's set has to be there when somebody asks.
    let owner: ManagedObject
    let slot: Int
    let member: ManagedObject
    /// Rises with each gain.
    let number: Int
  }

  /// Those that nobody has looked through yet.
  private var recent: [Gain] = []
  /// The others, by their owner: each is looked at once, however many owners are asked one after the other.
  private var byOwner: [ObjectIdentifier: [Gain]] = [:]
  /// Those of members that a flush has left out, by these: a half-filled object that thousands gain is asked for once.
  private var waiting: [ManagedObject: [Gain]] = [:]
  private var count = 0

  package var isEmpty: Bool { recent.isEmpty && byOwner.isEmpty && waiting.isEmpty }

  /// All of them.
  var all: [Gain] { byOwner.values.flatMap(\.self) + waiting.values.flatMap(\.self) + recent }

  @inline(__always) mutating func add(_ member: ManagedObject, to owner: ManagedObject, _ slot: Int) {
    recent.append(Gain(owner: owner, slot: slot, member: member, number: count))
    count += 1
  }

  /// Takes out what one relationship of an object gained, in its order.
  mutating func take(of owner: ManagedObject, _ slot: Int) -> [ManagedObject] {
    guard !isEmpty else { return [] }
    for gain in waiting.values.joined() { byOwner[ObjectIdentifier(gain.owner), default: []].append(gain) }
    for gain in recent { byOwner[ObjectIdentifier(gain.owner), default: []].append(gain) }
    (recent, waiting) = ([], [:])
    guard let gains = byOwner.removeValue(forKey: ObjectIdentifier(owner)) else { return [] }
    let others = gains.filter { $0.slot != slot }
    if !others.isEmpty { byOwner[ObjectIdentifier(owner)] = others }
    return gains.filter { $0.slot == slot }.sorted { $0.number < $1.number }.map(\.member)
  }

  /// Forgets all but those of members that are not saved.
  /// - Parameter isUnsaved: Whether a member is; nil where all are saved.
  mutating func keep(where isUnsaved: ((ManagedObject) -> Bool)?) {
    guard let isUnsaved else { return self = GainedMembers() }
    for member in waiting.keys.filter({ !isUnsaved($0) }) { waiting[member] = nil }
    for gain in byOwner.values.joined() where isUnsaved(gain.member) {
      waiting[gain.member, default: []].append(gain)
    }
    for gain in recent where isUnsaved(gain.member) { waiting[gain.member, default: []].append(gain) }
    (recent, byOwner) = ([], [:])
  }
}
