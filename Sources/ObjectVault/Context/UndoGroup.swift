// What one undo or redo changes back: the former values, members, orders and objects.

internal import CipherSQLite

/// The former value of a property. A to-one is kept as an object, because the ids of new objects change.
enum FormerValue {
  case stored(SQLValue)
  case target(ManagedObject)

  /// The memory that it takes, in bytes, about.
  var byteCount: Int {
    switch self {
    case .stored(.text(let text)): 48 + text.utf8.count
    case .stored(.blob(let data)): 48 + data.count
    default: 48
    }
  }

  func isEqual(to other: FormerValue) -> Bool {
    switch (self, other) {
    case (.stored(let one), .stored(let two)): one.isStored(as: two)
    case (.target(let one), .target(let two)): one === two
    case (.stored, .target), (.target, .stored): false
    }
  }

  /// Whether an object has this value in a slot now.
  func isPresent(in object: ManagedObject, _ slot: Int) -> Bool {
    let present = object.storedValue(slot) ?? .null
    switch self {
    case .stored(let value): return present.isStored(as: value)
    case .target(let target): return present.int64 == target.rowID
    }
  }
}

/// An object that was deleted, with all that is needed to insert it again.
struct RemovedObject {
  let object: ManagedObject
  let map: IdentityMap
  /// The values by slot.
  let values: [(slot: Int, value: FormerValue)]
  /// The links of its many-to-manys, and those of others to it.
  let links: [UndoGroup.Link]
}

/// The changes that are undone together.
final class UndoGroup {
  struct Value {
    let object: ManagedObject
    let slot: Int
    let former: FormerValue
    /// The value at the end of the group; nil until then.
    var latest: FormerValue?
  }

  struct Link {
    let owner: ManagedObject
    let member: ManagedObject
    let relationship: RelationshipMapping
    let isAdded: Bool
  }

  struct Order {
    let owner: ManagedObject
    let slot: Int
    let members: [ManagedObject]
    let isRearranged: Bool
    /// The number of saves before.
    let saveCount: Int
  }

  struct Place: Hashable {
    let object: ObjectIdentifier
    let slot: Int

    init(_ object: ManagedObject, _ slot: Int) { (self.object, self.slot) = (ObjectIdentifier(object), slot) }
  }

  var name: String?
  private(set) var inserted: [ManagedObject] = []
  /// The objects that were inserted and deleted again in this group, retained so that no other object has
  /// their identity.
  private var dismissed: [ManagedObject] = []
  private var isInserted: Set<ObjectIdentifier> = []
  private(set) var removed: [RemovedObject] = []
  private(set) var values: [Value] = []
  private(set) var links: [Link] = []
  private(set) var orders: [Order] = []
  // Each value and each order is kept once, as it was before the first change.
  private var known: Set<Place> = []
  private var knownOrders: Set<Place> = []
  /// The values that hooks of a save have written. They may differ after each save, so others are not
  /// blamed for that.
  private(set) var hookPlaces: Set<Place> = []
  /// Whether the hooks of a save write now.
  private var isJoined = false
  private(set) var byteCount = 0

  init() {}

  /// Creates a copy that records the changes of hooks, too.
  init(copy other: UndoGroup) {
    (name, inserted, isInserted, removed) = (other.name, other.inserted, other.isInserted, other.removed)
    (values, links, orders) = (other.values, other.links, other.orders)
    (hookPlaces, byteCount, isJoined) = (other.hookPlaces, other.byteCount, true)
    known = Set(values.map { Place($0.object, $0.slot) })
    knownOrders = Set(orders.map { Place($0.owner, $0.slot) })
  }

  /// Creates the group that records how a group is changed back.
  init(reversing other: UndoGroup) { (name, hookPlaces) = (other.name, other.hookPlaces) }

  var isEmpty: Bool {
    inserted.isEmpty && removed.isEmpty && values.isEmpty && links.isEmpty && orders.isEmpty
  }

  func didInsert(_ object: ManagedObject) {
    inserted.append(object)
    isInserted.insert(ObjectIdentifier(object))
    byteCount += 64
  }

  /// Whether the group has inserted an object. Its values need not be kept: undoing removes it.
  func hasInserted(_ object: ManagedObject) -> Bool { isInserted.contains(ObjectIdentifier(object)) }

  /// Notes that an object is about to be deleted.
  func willRemove(_ object: ManagedObject, _ capture: () -> RemovedObject?) {
    if isInserted.remove(ObjectIdentifier(object)) != nil {
      dismissed.append(object)
    } else if let removed = capture() {
      self.removed.append(removed)
      byteCount += removed.values.reduce(256) { $0 + $1.value.byteCount }
    }
  }

  /// Forgets the insertion of an object, which failed.
  func didDismiss(_ object: ManagedObject) {
    if isInserted.remove(ObjectIdentifier(object)) != nil { dismissed.append(object) }
  }

  func willWrite(_ object: ManagedObject, _ slot: Int, former: () -> FormerValue?) {
    guard !hasInserted(object) else { return }
    if isJoined { hookPlaces.insert(Place(object, slot)) }
    guard known.insert(Place(object, slot)).inserted, let former = former() else { return }
    values.append(Value(object: object, slot: slot, former: former, latest: nil))
    byteCount += 64 + former.byteCount
  }

  func didLink(_ link: Link) {
    // The links of an object that the group has inserted are noted when it is removed.
    guard !hasInserted(link.owner), !hasInserted(link.member) else { return }
    links.append(link)
    byteCount += 96
  }

  func willOrder(_ owner: ManagedObject, _ slot: Int, former: () -> Order?) {
    if hasInserted(owner) { return }
    guard knownOrders.insert(Place(owner, slot)).inserted, let former = former() else { return }
    orders.append(former)
    byteCount += 64 + 8 * former.members.count
  }

  /// Ends the group: notes the present values, by which the undo recognizes changes of other writers, and
  /// drops what has not changed.
  func close(_ value: (ManagedObject, Int) -> FormerValue?) {
    if !dismissed.isEmpty {
      let gone = Set(dismissed.map(ObjectIdentifier.init))
      inserted.removeAll { gone.contains(ObjectIdentifier($0)) }
      dismissed = []
    }
    for index in values.indices { values[index].latest = value(values[index].object, values[index].slot) }
    values.removeAll { $0.latest.map($0.former.isEqual) == true }
    // If objects were deleted, the lists in memory may still have them.
    orders.removeAll { order in
      guard removed.isEmpty, let state = order.owner.toMany[order.slot], let present = state.order else {
        return false
      }
      return state.isRearranged == order.isRearranged && present.objects == order.members
    }
    (known, knownOrders) = ([], [])
    isJoined = false
  }
}
