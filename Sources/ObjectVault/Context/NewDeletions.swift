// Which new objects can be deleted. They have no rows, so memory alone says what their delete rules allow.

/// New objects that are to be deleted together, and the objects that their delete rules take along. Whether a saved object may be
/// deleted is decided by the save.
struct NewDeletions {
  /// What keeps an object from being deleted: a member of a relationship whose delete rule is deny.
  struct Hold {
    let object: ManagedObject
    let relationship: RelationshipMapping
    let member: ManagedObject

    /// Whether it still does.
    var stands: Bool {
      object.state == .inserted && NewDeletions.mayHold(member)
        && object.isRelated(to: member, by: relationship)
    }
  }

  private struct Entry {
    let object: ManagedObject
    /// Whether it can go.
    var goes = true
    /// Why it cannot, or why one cannot that would go along.
    var hold: Hold?
    /// The entries that it takes along.
    var taken: [Int] = []
    /// Those that take it along.
    var takers: [Int] = []
    /// The entries that cannot go while it stays.
    var denied: [(entry: Int, relationship: RelationshipMapping)] = []
  }

  /// Those that are to be deleted come first.
  private var entries: [Entry] = []
  private var indexes: [ManagedObject: Int] = [:]
  private let wantedCount: Int

  /// Finds the largest set that can be deleted: no member of a deny relationship of any of them stays.
  init(_ wanted: [ManagedObject]) {
    for object in wanted { _ = Self.index(of: object, in: &entries, &indexes) }
    wantedCount = entries.count
    takeAlong()
    refuse(findHolds())
  }

  func goes(_ object: ManagedObject) -> Bool { indexes[object].map { entries[$0].goes } == true }

  /// Those that cannot go, of the ones that are to be deleted.
  var refused: [ManagedObject] { entries[..<wantedCount].filter { !$0.goes }.map(\.object) }

  /// What holds each object that cannot go, those included that would go along.
  var holds: [(object: ManagedObject, hold: Hold)] {
    entries.compactMap { entry in entry.hold.map { (entry.object, $0) } }
  }

  /// Why the first of those that cannot go cannot; nil where all can.
  var denial: StoreError? {
    guard let hold = entries[..<wantedCount].first(where: { !$0.goes })?.hold, let entity = hold.object.entity
    else { return nil }
    let holding = hold.object.related(by: hold.relationship).count { member in
      Self.mayHold(member) && !goes(member)
    }
    return .deleteDenied(
      entity: entity.name, rowID: hold.object.knownRowID, property: hold.relationship.name, count: holding)
  }

  private static func mayHold(_ member: ManagedObject) -> Bool {
    member.state != .deleted && member.state != .invalid
  }

  /// The relationships of a new object that have a delete rule.
  private static func relationships(of object: ManagedObject, _ rule: DeleteRule) -> [RelationshipMapping] {
    guard object.isNewWithoutID else { return [] }
    return object.entity?.relationships.filter { $0.deleteRule == rule } ?? []
  }

  private static func index(
    of object: ManagedObject, in entries: inout [Entry], _ indexes: inout [ManagedObject: Int]
  ) -> Int {
    if let index = indexes[object] { return index }
    indexes[object] = entries.count
    entries.append(Entry(object: object))
    return entries.count - 1
  }

  /// Adds the objects that the delete rules take along, theirs, and so on.
  private mutating func takeAlong() {
    var next = 0
    while next < entries.count {
      let object = entries[next].object
      for relationship in Self.relationships(of: object, .cascade) {
        for other in object.related(by: relationship) {
          let index = Self.index(of: other, in: &entries, &indexes)
          entries[next].taken.append(index)
          entries[index].takers.append(next)
        }
      }
      next += 1
    }
  }

  /// Notes which entries deny the deletion of which.
  /// - Returns: The entries that cannot go whatever becomes of the others.
  private mutating func findHolds() -> [Int] {
    for (index, entry) in entries.enumerated() {
      for relationship in Self.relationships(of: entry.object, .deny) {
        for member in entry.object.related(by: relationship) where Self.mayHold(member) {
          if let other = indexes[member] {
            entries[other].denied.append((index, relationship))
          } else if entries[index].hold == nil {
            entries[index].hold = Hold(object: entry.object, relationship: relationship, member: member)
          }
        }
      }
    }
    return entries.indices.filter { entries[$0].hold != nil }
  }

  /// Marks entries that cannot go, and all that cannot go because of these.
  private mutating func refuse(_ held: [Int]) {
    var waiting = held
    repeat {
      while let index = waiting.popLast() {
        guard entries[index].goes else { continue }
        entries[index].goes = false
        for taker in entries[index].takers where entries[taker].goes {
          entries[taker].hold = entries[taker].hold ?? entries[index].hold
          waiting.append(taker)
        }
        waiting += deny(because: index)
      }
      // An object stays, too, if nothing that goes takes it along.
      let reached = reachedByGoing()
      for index in entries.indices where entries[index].goes && !reached[index] {
        entries[index].goes = false
        waiting += deny(because: index)
      }
    } while !waiting.isEmpty
  }

  /// - Returns: The entries that cannot go because one stays.
  private mutating func deny(because staying: Int) -> [Int] {
    entries[staying].denied.filter { entries[$0.entry].goes }.map { denied in
      let index = denied.entry
      entries[index].hold =
        entries[index].hold
        ?? Hold(
          object: entries[index].object, relationship: denied.relationship, member: entries[staying].object)
      return index
    }
  }

  private func reachedByGoing() -> [Bool] {
    var reached = [Bool](repeating: false, count: entries.count)
    var waiting = (0..<wantedCount).filter { entries[$0].goes }
    while let index = waiting.popLast() {
      guard !reached[index] else { continue }
      reached[index] = true
      waiting += entries[index].taken.filter { entries[$0].goes }
    }
    return reached
  }
}

/// New objects whose deletion was denied. They stay as they are until the next save or flush, which judges all of them together.
struct DeniedDeletions {
  private(set) var objects: [ManagedObject] = []
  /// What was found to hold objects. An object may be let go meanwhile: the save finds that out.
  private var holds: [ManagedObject: NewDeletions.Hold] = [:]

  var isEmpty: Bool { objects.isEmpty }

  /// Whether an object is known to be held, without a look at what would go along.
  func isHeld(_ object: ManagedObject) -> Bool { holds[object]?.stands == true }

  mutating func add(_ object: ManagedObject) { objects.append(object) }

  /// Adds those that cannot go.
  mutating func add(_ deletions: NewDeletions) {
    objects += deletions.refused
    for (object, hold) in deletions.holds { holds[object] = hold }
  }
}
