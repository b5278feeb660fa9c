// The base class of all entities: identity, state, and the path of a read; that of a write is in ManagedObject+Writing.
// Relationships are in ManagedObject+Relationships; what a save does with an object in Context/.

private import CVaultShims
public import CipherSQLite

/// What ``ManagedObject`` conforms to so that each class has ids of its own type.
public protocol Persistable: AnyObject {}

/// An object of an entity, with its row fetched when first needed.
///
/// Declare an entity by a subclass whose properties carry ``Attribute``, ``ToOne`` or ``ToMany``: a final one, unless other
/// entities are to stand below it (<doc:inheritance>). Make objects with ``ObjectContext/insert(_:_:)``. An object belongs to one context and is used where its context
/// is used; neither is `Sendable`, so the compiler keeps them in one task. What may leave is its ``id``.
@safe open class ManagedObject: Persistable {
  /// Where an object stands.
  public enum State: UInt8, Sendable {
    /// Made without a context: it holds nothing.
    case detached
    /// New, not yet saved.
    case inserted
    /// Its row has not been fetched, or could not be read: the next getter tries again.
    case fault
    /// Its row is in memory.
    case loaded
    /// It will be deleted by the next save.
    case deleted
    /// Its row, or its context, is gone. What was read before can still be read, but of an object that its own context deleted;
    /// relationships are empty.
    ///
    /// A row can come back with its id, as when a deletion is undone. Whatever finds it then in the context fills the object
    /// anew: a fetch, a look-up by the id, a to-one, ``ManagedObject/load()``. Only an object that its own context has deleted
    /// stays invalid, and the row gets a new object.
    case invalid
  }

  // Unchecked exclusivity: none of these is ever passed inout, so accesses cannot overlap; the checks would
  // cost a third of a fetch. That is what makes them safe.

  // The packed row of `page`, which this object keeps alive; nil while there is none.
  @usableFromInline @exclusivity(unchecked) package final var row: UnsafeRawPointer?
  // What is replaced is released here, in deinit and by the setters, as a setter of a property only lends it.
  @usableFromInline @safe @exclusivity(unchecked) private(set) final var attached = Attachment<
    ManagedObject, Overlay, Extras
  >.none
  @inlinable @inline(__always) final var extrasReference: Unmanaged<Extras>? { unsafe attached.extras }
  final var extras: Extras? {
    get { unsafe extrasReference?.takeUnretainedValue() }
    set {
      let former = attached
      // They have room for both.
      if let target = unsafe former.target {
        unsafe newValue?.hold(target.takeUnretainedValue(), Int(soleSlot))
      }
      if let overlay = unsafe former.overlay { unsafe newValue?.overlay = overlay.takeUnretainedValue() }
      attached = newValue.map { Attachment(extras: $0) } ?? .none
      former.release()
    }
  }
  @safe @exclusivity(unchecked) package final var page: RowPage?
  // Leads to the context and the entity. Not retained: the context outlives this reference, as its deinit sets
  // it to nil in every live object, which its maps know. Unmanaged, so that what only asks the map need not retain it.
  @safe @exclusivity(unchecked) private final var mapReference: Unmanaged<IdentityMap>?
  package final var map: IdentityMap? {
    @inline(__always) get { unsafe mapReference?.takeUnretainedValue() }
    @inline(__always) set { unsafe mapReference = newValue.map { unsafe Unmanaged.passUnretained($0) } }
  }
  @safe @exclusivity(unchecked) package final var rowID: Int64 = 0
  @safe @exclusivity(unchecked) package final var rowVersion: Int64 = 0
  // Of the relationship whose target is kept without extras.
  @safe @exclusivity(unchecked) private final var soleSlot: UInt16 = 0
  // Two in one byte: with one byte more many an object would need a larger piece of memory.
  @safe @exclusivity(unchecked) private final var marks: UInt8 = 0
  package final var isRegistered: Bool {
    @inline(__always) get { marks & 1 != 0 }
    @inline(__always) set { marks = newValue ? marks | 1 : marks & ~1 }
  }
  /// Whether others may have become members of it while nobody asked for its members: see GainedMembers. A save does not take
  /// the mark away, as it would have to look for all owners.
  final var mayHaveGained: Bool {
    @inline(__always) get { marks & 2 != 0 }
    @inline(__always) set { marks = newValue ? marks | 2 : marks & ~2 }
  }
  /// Where the object stands.
  @safe @exclusivity(unchecked) public package(set) final var state = State.detached

  /// Called by the store. Use ``ObjectContext/insert(_:_:)``: an object made otherwise belongs to no context,
  /// holds nothing, and cannot be saved.
  public required init() {
    // The property wrappers of the subclass have taken their numbers; the next object counts from 0 again.
    vault_reset_slots()
  }

  deinit {
    leaveMap()
    // Asked first: most objects have none.
    guard !attached.isEmpty else { return }
    // Most targets keep nothing alive themselves.
    if let target = unsafe attached.target, unsafe target._withUnsafeGuaranteedRef({ $0.attached.isEmpty }) {
      attached = .none
      unsafe target.release()
      return
    }
    defer { extras = nil }
    // What is related is released from a list: each object of a chain would else release the next one from
    // inside its own deinit, and a long chain overflow the stack.
    guard let host = map?.host else { return }
    if let target = unsafe attached.target {
      unsafe host.releasing.append(target.takeUnretainedValue())
    } else if extras?.holdsObjects == true {
      host.releasing.append(extras)
    }
    extras = nil
    host.releaseExtras()
  }

  // Takes the object out of its context's identity map.
  @inline(__always) final func leaveMap() {
    unsafe mapReference?._withUnsafeGuaranteedRef { $0.remove(rowID, self) }
  }

  /// The id by which others know the object: that of its row, also where the row is written later.
  final var knownRowID: Int64 { rowID < 0 && state == .inserted ? host?.givenID(of: self) ?? rowID : rowID }

  final var host: (any ObjectHost)? { withMap { $0.host } ?? nil }
  /// Calls `body` with its map, which is not retained: whoever is in the object's context has both.
  @inline(__always) final func withMap<Result>(_ body: (IdentityMap) -> Result) -> Result? {
    unsafe mapReference?._withUnsafeGuaranteedRef { body($0) }
  }
  @inline(__always) final func isIn(_ map: IdentityMap) -> Bool {
    unsafe mapReference?.toOpaque() == Unmanaged.passUnretained(map).toOpaque()
  }
  /// Whether it is in a context; an object that left one never comes into another.
  @inline(__always) final var isInContext: Bool { unsafe mapReference != nil }
  package final var entity: EntityMapping? { map?.entity }

  /// Whether its row is in memory.
  @inline(__always) final var hasRow: Bool { unsafe row != nil }
  /// Whether its row is to be read by whoever asks for it: it was never read, or was gone when it last was.
  @inline(__always) final var isUnread: Bool { state == .fault || state == .invalid }

  // The page of the row lives as long as the object has it, and a slot is the entity's, which the row was packed for.
  /// What a slot of its row holds; nil while the row is not in memory.
  @inline(__always) final func rowValue(_ slot: Int) -> SQLValue? {
    unsafe row.map { unsafe RowCell(row: $0, slot: slot).value }
  }

  // As above.
  /// The cell of a slot of its row; nil while the row is not in memory.
  @inline(__always) final func rowCell(_ slot: Int) -> RowCell? {
    unsafe row.map { unsafe RowCell(row: $0, slot: slot) }
  }

  // Safe: a row belongs to one object, which has its page, and is read by the object's own task alone.
  /// Puts what was written into its row, which is read by nobody meanwhile.
  /// - Parameter slots: Those that were written.
  /// - Returns: Whether it has one, and there was room; if not, the row is as it was.
  @inline(__always) final func putIntoRow(_ overlay: Overlay, _ slots: [Int]) -> Bool {
    unsafe row.map { unsafe overlay.values.put(slots, into: $0) } ?? false
  }

  /// Forgets its row.
  final func dropRow() {
    unsafe row = nil
    page = nil
  }

  // Safe, here and below: the row lies in the page that goes with it.
  /// Forgets its row until it is read again, or found to be gone.
  final func setRowAside() {
    guard let cells = unsafe row, let page else { return }
    if extras == nil { extras = Extras(overlay: nil) }
    extras?.lastRow = unsafe LastRow(cells: cells, page: page)
    dropRow()
  }

  /// Makes an object invalid whose row is gone. What it had in memory before can be read.
  final func loseRow() {
    state = .invalid
    guard !hasRow, let last = extras?.lastRow else { return }
    unsafe row = unsafe last.cells
    page = last.page
  }

  /// Lets the row go that was in memory before the present one.
  @inline(__always) final func dropLastRow() {
    guard !attached.isEmpty, unsafe extrasReference?._withUnsafeGuaranteedRef({ $0.lastRow != nil }) == true
    else {
      return
    }
    extras?.lastRow = nil
    if let extras, extras.isEmpty { self.extras = nil }
  }

  // What was written and not yet saved; nil when nothing was.
  package final var overlay: Overlay? {
    get { unsafe overlayReference?.takeUnretainedValue() }
    set {
      if let extras {
        extras.overlay = newValue
        if newValue == nil, extras.isEmpty { self.extras = nil }
      } else if !attached.isTarget {
        let former = attached
        attached = newValue.map { Attachment(overlay: $0) } ?? .none
        former.release()
      } else if let newValue {
        extras = Extras(overlay: newValue)
      }
    }
  }

  /// The same, not retained.
  @inlinable @inline(__always) final var overlayReference: Unmanaged<Overlay>? {
    if attached.isEmpty { return nil }
    if let sole = unsafe attached.overlay { return unsafe sole }
    return unsafe extrasReference?._withUnsafeGuaranteedRef { $0.overlayReference }
  }

  // For loops over all objects of a save, which would else count each reference up and down.
  /// Calls `body` with what was written, which the object has for as long; nil when nothing was.
  @inline(__always) final func withOverlay<Result>(_ body: (Overlay) throws -> Result) rethrows -> Result? {
    guard let overlay = unsafe overlayReference else { return nil }
    return try unsafe overlay._withUnsafeGuaranteedRef { try body($0) }
  }

  // The members of relationships that have been read or changed, by slot.
  final var toMany: MemberStates { extras?.toMany ?? MemberStates() }

  final func setMembers(_ state: ToManyState, _ slot: Int) {
    if extras == nil { extras = Extras(overlay: nil) }
    extras?.toMany.add(state, slot)
  }

  /// Notes where the object was, which it is no more.
  final func remember(_ former: FormerHost) {
    if extras == nil { extras = Extras(overlay: nil) }
    extras?.former = former
  }

  /// Keeps the target of a to-one alive.
  final func hold(_ target: ManagedObject, _ slot: Int) {
    if attached.isEmpty {
      soleSlot = UInt16(truncatingIfNeeded: slot)
      attached = Attachment(target: target)
      return
    }
    if extras == nil { extras = Extras(overlay: nil) }
    extras?.hold(target, slot)
  }

  /// The target of a to-one that is kept alive.
  @inline(__always) final func heldTarget(_ slot: Int) -> ManagedObject? {
    if let target = unsafe attached.target {
      return soleSlot == slot ? unsafe target.takeUnretainedValue() : nil
    }
    return extras?.target(slot)
  }

  /// Keeps no target of a to-one alive any more.
  private final func releaseTargets() {
    if attached.isTarget { extras = nil } else { extras?.releaseTargets() }
  }

  /// Forgets what was fetched of its relationships, but for members with changes.
  /// - Parameter keepsOrders: Whether lists stay whose order alone was changed.
  final func forgetFetchedMembers(keepsOrders: Bool = true) {
    toMany.forEach { state in
      if !state.isChanged, !keepsOrders || !state.isRearranged { state.forget() }
    }
    releaseTargets()
  }

  final func forgetMembers() {
    extras?.toMany = MemberStates()
    releaseTargets()
    if unsafe overlayReference == nil { extras = nil }
  }

  /// Whether the object differs from its row; inside ``Store/write(_:)`` also whether the write has changed the row, and not
  /// yet committed it.
  public final var hasChanges: Bool { isPending || host?.isUncommitted(self) == true }
  /// Whether the next save writes something of it, or deletes it.
  final var isPending: Bool { state == .inserted || state == .deleted || overlay != nil }
  /// Whether it is new and not yet saved.
  public final var isInserted: Bool { state == .inserted }
  /// Whether the next save deletes it.
  public final var isDeleted: Bool { state == .deleted }
  /// Whether its row has not been fetched.
  public final var isFault: Bool { state == .fault }

  /// The names of the attributes and to-ones written since the last save, with the values to be stored; inside
  /// ``Store/write(_:)`` since the write began, whether a save has put them into the file or not.
  public final var changedValues: [String: SQLValue] {
    guard let host, let entity else { return [:] }
    var values = host.uncommittedValues(of: self)
    guard let overlay else { return values }
    for slot in entity.storedSlots where overlay.changed.contains(slot) {
      values[entity.slots[slot].name] = entity.isToOne[slot] ? host.known(overlay[slot]) : overlay[slot]
    }
    return values
  }

  /// Fetches the row now, if it has not been: the throwing way to do what a getter does. Where the row was gone it is asked for
  /// again.
  /// - Throws: ``StoreError/objectGone(entity:rowID:)`` when the row is gone; ``SQLError``.
  public final func load() throws {
    guard isUnread || state == .detached else { return }
    guard let host else { throw StoreError.objectGone(entity: nameOfEntity, rowID: rowID) }
    try host.load(self)
  }

  // MARK: Attributes

  /// Whether something was written that is not saved.
  @inlinable @inline(__always) final var isOverlaid: Bool { unsafe overlayReference != nil }

  // @inlinable, so that a read of an Int is a test, a load and a return.
  /// The value of an attribute; `property` is its key path, which only prototypes ask for.
  @inlinable
  final func readAttribute<Value: AttributeValue>(_ slot: UInt16, _ property: () -> AnyKeyPath) -> Value {
    if let row = unsafe row, !isOverlaid,
      let value = unsafe Value.read(RowCell(row: row, slot: Int(slot)))
    {
      return value
    }
    return readSlowly(slot, property)
  }

  @usableFromInline
  final func readSlowly<Value: AttributeValue>(_ slot: UInt16, _ property: () -> AnyKeyPath) -> Value {
    if let recording = extras?.recording { return recording.attribute(of: self, Int(slot), property) }
    if let overlay, overlay.changed.contains(Int(slot)),
      let value = Value.read(overlay.values.cell(Int(slot)))
    {
      return value
    }
    guard let stored = storedValue(Int(slot)) else {
      if host == nil, overlay == nil { tellStray(Int(slot)) }
      return Value.placeholder
    }
    if stored.isNull, !Value.isOptionalAttribute { return Value.placeholder }
    if let value = Value(stored: stored) { return value }
    host?.noteUnreadable(
      StoreError.unreadableValue(
        entity: entity?.name ?? "", property: entity?.slots[Int(slot)].name ?? "", rowID: rowID,
        expected: Value.attributeType.rawValue))
    return Value.placeholder
  }

  /// The stored form of an attribute or to-one as it is in memory; nil when there is none.
  final func storedValue(_ slot: Int) -> SQLValue? {
    if let overlay {
      if overlay.changed.contains(slot) { return overlay[slot] }
    }
    if !hasRow, state == .fault { host?.fire(self) }
    return rowValue(slot)
  }
}

extension ManagedObject: Hashable {
  /// The same object.
  public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }
  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
