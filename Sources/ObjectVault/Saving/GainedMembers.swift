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
    /// Rises with each gain.
    let number: Int
  }

  /// Those since the last flush that have not been looked through.
  private var recent: [Gain] = []
  /// The others since then, by their owner: each is looked at once, however many owners are asked one after the other.
  private var byOwner: [ObjectIdentifier: [Gain]] = [:]
  // Those of members that flushes have left out, by the two ends and by their numbers: a flush looks at those of the members
  // that it saves, and a getter at those of its owner, and neither at all of them.
  private var waitingByMember: [ManagedObject: [Int: Gain]] = [:]
  private var waitingByOwner: [ObjectIdentifier: [Int: Gain]] = [:]
  private var count = 0

  package var isEmpty: Bool { recent.isEmpty && byOwner.isEmpty && waitingByMember.isEmpty }
  /// Whether any waits for a member that a flush has left out.
  var hasWaiting: Bool { !waitingByMember.isEmpty }

  /// All of them.
  var all: [Gain] { byOwner.values.flatMap(\.self) + waiting + recent }

  /// Those that wait.
  var waiting: [Gain] { waitingByMember.values.flatMap(\.values) }
  func isWaiting(for member: ManagedObject) -> Bool { waitingByMember[member] != nil }

  /// All but those that wait.
  var withoutWaiting: GainedMembers {
    var copy = self
    (copy.waitingByMember, copy.waitingByOwner) = ([:], [:])
    return copy
  }

  @inline(__always) mutating func add(_ member: ManagedObject, to owner: ManagedObject, _ slot: Int) {
    recent.append(Gain(owner: owner, slot: slot, member: member, number: count))
    count += 1
  }

  /// Takes out what one relationship of an object gained, in its order.
  mutating func take(of owner: ManagedObject, _ slot: Int) -> [ManagedObject] {
    guard !isEmpty else { return [] }
    for gain in recent { byOwner[ObjectIdentifier(gain.owner), default: []].append(gain) }
    recent = []
    let waiting = waitingByOwner.removeValue(forKey: ObjectIdentifier(owner)) ?? [:]
    for gain in waiting.values { Self.remove(gain.number, of: gain.member, &waitingByMember) }
    let gains = (byOwner.removeValue(forKey: ObjectIdentifier(owner)) ?? []) + waiting.values
    let others = gains.filter { $0.slot != slot }
    if !others.isEmpty { byOwner[ObjectIdentifier(owner)] = others }
    return gains.filter { $0.slot == slot }.sorted { $0.number < $1.number }.map(\.member)
  }

  /// Forgets those of members that a flush has saved.
  /// - Parameters:
  ///   - saved: Who was looked at by the flush and is saved.
  ///   - isUnsaved: Whether a member is not, of those that were gained since the last flush.
  /// - Returns: What waited for the saved ones.
  mutating func didFlush(_ saved: [ManagedObject], but isUnsaved: (ManagedObject) -> Bool) -> [Gain] {
    var settled: [Gain] = []
    for member in hasWaiting ? saved : [] {
      for gain in (waitingByMember.removeValue(forKey: member) ?? [:]).values {
        Self.remove(gain.number, of: ObjectIdentifier(gain.owner), &waitingByOwner)
        settled.append(gain)
      }
    }
    for gain in [byOwner.values.flatMap(\.self), recent].joined() where isUnsaved(gain.member) {
      waitingByMember[gain.member, default: [:]][gain.number] = gain
      waitingByOwner[ObjectIdentifier(gain.owner), default: [:]][gain.number] = gain
    }
    (recent, byOwner) = ([], [:])
    return settled
  }

  private static func remove<End>(_ number: Int, of end: End, _ waiting: inout [End: [Int: Gain]]) {
    waiting[end]?[number] = nil
    if waiting[end]?.isEmpty == true { waiting[end] = nil }
  }
}
