// Decides which new objects can be deleted. They have no rows, so their delete rules are applied in
// memory alone.

/// New objects that are to be deleted together, and the objects that their cascades delete. The save
/// decides whether saved objects may be deleted.
struct NewDeletions {
  /// The reason why an object cannot be deleted: a member of a relationship whose delete rule is deny.
  struct Denial {
    let object: ManagedObject
    let relationship: RelationshipMapping
    let member: ManagedObject

    /// Whether the member still prevents the deletion.
    var stands: Bool {
      object.state == .inserted && NewDeletions.mayDeny(member)
        && object.isRelated(to: member, by: relationship)
    }
  }

  private struct Entry {
    let object: ManagedObject
    /// Whether the object can be deleted.
    var goes = true
    /// The reason why the object, or one that its cascades delete, cannot be deleted.
    var hold: Denial?
    /// The entries that its cascades delete.
    var taken: [Int] = []
    /// The entries whose cascades delete it.
    var cascadingEntries: [Int] = []
    /// How many of `cascadingEntries` can be deleted.
    var deletedTakers = 0
    /// The entries that cannot be deleted while this one stays.
    var denied: [(entry: Int, relationship: RelationshipMapping)] = []
  }

  /// In this order: `wanted` and `taken`, the arguments of the initializer; the objects that these
  /// cascade to.
  private var entries: [Entry] = []
  private var indexes: [ManagedObject: Int] = [:]
  private var wantedCount = 0
  private var rootCount = 0

  /// Finds the largest set of objects that can be deleted together: every member of a deny relationship
  /// of an object in the set is in the set, too.
  /// - Parameters:
  ///   - wanted: The objects to delete.
  ///   - taken: Other objects that the save deletes, new and saved ones.
  ///   - denied: Known denials. The cascades of a denied object are not followed.
  init(
    _ wanted: [ManagedObject], with taken: [ManagedObject] = [],
    denied: DeniedDeletions = DeniedDeletions()
  ) {
    for object in wanted { _ = index(of: object) }
    wantedCount = entries.count
    for object in taken { _ = index(of: object) }
    rootCount = entries.count
    addCascades(denied)
    noteDenials()
    refuse(entries.indices.filter { entries[$0].hold != nil })
  }

  func goes(_ object: ManagedObject) -> Bool { indexes[object].map { entries[$0].goes } == true }

  /// The objects to delete that cannot be deleted.
  var refused: [ManagedObject] { entries[..<wantedCount].filter { !$0.goes }.map(\.object) }

  /// The reasons why objects cannot be deleted, both for the refused objects and for those that they
  /// cascade to.
  var holds: [(object: ManagedObject, hold: Denial)] {
    entries.compactMap { entry in entry.hold.map { (entry.object, $0) } }
  }

  /// The error for the first of ``refused``; nil if there is none.
  var denial: StoreError? {
    guard let hold = entries[..<wantedCount].first(where: { !$0.goes })?.hold, let entity = hold.object.entity
    else { return nil }
    let holding = hold.object.related(by: hold.relationship).count { member in
      Self.mayDeny(member) && !goes(member)
    }
    return .deleteDenied(
      entity: entity.name, rowID: hold.object.visibleRowID, property: hold.relationship.name, count: holding)
  }

  private static func mayDeny(_ member: ManagedObject) -> Bool {
    member.state != .deleted && member.state != .invalid
  }

  private mutating func index(of object: ManagedObject) -> Int {
    if let index = indexes[object] { return index }
    indexes[object] = entries.count
    entries.append(Entry(object: object))
    return entries.count - 1
  }

  /// Adds the objects that the entries cascade to, recursively.
  private mutating func addCascades(_ denied: DeniedDeletions) {
    var next = 0
    while next < entries.count {
      let object = entries[next].object
      entries[next].hold = denied.hold(of: object)
      if entries[next].hold == nil, object.state == .inserted {
        for relationship in object.entity?.relationships ?? [] where relationship.deleteRule == .cascade {
          for other in object.related(by: relationship) {
            let index = index(of: other)
            entries[next].taken.append(index)
            entries[index].cascadingEntries.append(next)
            entries[index].deletedTakers += 1
          }
        }
      }
      next += 1
    }
  }

  /// Notes which entries prevent the deletion of other entries, and which entries cannot be deleted
  /// because of objects without an entry.
  private mutating func noteDenials() {
    for index in entries.indices where entries[index].hold == nil && entries[index].object.state == .inserted
    {
      let object = entries[index].object
      for relationship in object.entity?.relationships ?? [] where relationship.deleteRule == .deny {
        for member in object.related(by: relationship) where Self.mayDeny(member) {
          if let other = indexes[member] {
            entries[other].denied.append((index, relationship))
          } else if entries[index].hold == nil {
            entries[index].hold = Denial(object: object, relationship: relationship, member: member)
          }
        }
      }
    }
  }

  /// Marks the given entries as not deleted, and all entries that therefore cannot be deleted either.
  private mutating func refuse(_ held: [Int]) {
    var waiting = held
    repeat {
      while let index = waiting.popLast() {
        guard entries[index].goes else { continue }
        for taker in entries[index].cascadingEntries where entries[taker].goes {
          entries[taker].hold = entries[taker].hold ?? entries[index].hold
          waiting.append(taker)
        }
        keep(index, &waiting)
      }
      // A cycle of cascades stays when no deleted object outside of it cascades to a member of the cycle.
      let reached = reachedByDeletions()
      for index in entries.indices where !reached[index] { keep(index, &waiting) }
    } while !waiting.isEmpty
  }

  /// Marks an entry as one that is not deleted, and with it the entries that only its deletion would have
  /// deleted.
  /// - Parameter waiting: Collects the entries that cannot be deleted because of the marked ones.
  private mutating func keep(_ index: Int, _ waiting: inout [Int]) {
    var staying = [index]
    while let index = staying.popLast() {
      guard entries[index].goes else { continue }
      entries[index].goes = false
      waiting += entriesDenied(by: index)
      for other in entries[index].taken {
        entries[other].deletedTakers -= 1
        if other >= rootCount, entries[other].deletedTakers == 0 { staying.append(other) }
      }
    }
  }

  /// Sets the reason for the entries that cannot be deleted because one entry is not deleted.
  /// - Returns: Those entries.
  private mutating func entriesDenied(by staying: Int) -> [Int] {
    entries[staying].denied.filter { entries[$0.entry].goes }.map { denied in
      let index = denied.entry
      entries[index].hold =
        entries[index].hold
        ?? Denial(
          object: entries[index].object, relationship: denied.relationship, member: entries[staying].object)
      return index
    }
  }

  private func reachedByDeletions() -> [Bool] {
    var reached = [Bool](repeating: false, count: entries.count)
    var waiting = (0..<rootCount).filter { entries[$0].goes }
    while let index = waiting.popLast() {
      guard !reached[index] else { continue }
      reached[index] = true
      waiting += entries[index].taken.filter { entries[$0].goes }
    }
    return reached
  }
}

/// New objects whose deletion was denied. These objects are unchanged until the next save, which decides
/// about all of them together.
struct DeniedDeletions {
  private(set) var objects: [ManagedObject] = []
  /// The reasons that were found. A reason may no longer apply at the save, which decides again.
  private var holds: [ManagedObject: NewDeletions.Denial] = [:]

  var isEmpty: Bool { objects.isEmpty }

  /// Returns the known reason why an object cannot be deleted, without following its cascades; nil if
  /// none is known or it no longer applies.
  func hold(of object: ManagedObject) -> NewDeletions.Denial? {
    holds[object].flatMap { $0.stands ? $0 : nil }
  }

  /// Adds the objects that cannot be deleted, with the reasons.
  mutating func add(_ deletions: NewDeletions) {
    objects += deletions.refused
    for (object, hold) in deletions.holds { holds[object] = hold }
  }
}
