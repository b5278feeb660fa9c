// The base class of all entities: identity, state, and the path of a read. The path of a write is in
// ManagedObject+Writing, relationships are in ManagedObject+Relationships, and what a save does with an
// object is in Context/.

private import CVaultShims
public import CipherSQLite

/// The protocol of ``ManagedObject`` that gives each class ids of its own type.
public protocol Persistable: AnyObject {}

/// An object of an entity, whose row is fetched when it is first needed.
///
/// Declare an entity as a subclass whose properties have the wrappers ``Attribute``, ``ToOne`` or
/// ``ToMany``. Make the class final, unless other entities inherit from it (<doc:inheritance>). Create
/// objects with ``ObjectContext/insert(_:_:)``, or by an initializer and
/// ``ObjectContext/insert(_:)-(Object)``.
///
/// An object belongs to one context and is used only where its context is used. Neither is `Sendable`, so
/// the compiler keeps both in one task. To refer to an object elsewhere, use its ``id``.
@safe open class ManagedObject: Persistable {
  /// The state of an object.
  public enum State: UInt8, Sendable {
    /// Created by an initializer, and not inserted into a context yet: see
    /// ``ObjectContext/insert(_:)-(Object)``.
    case detached
    /// New, not yet saved.
    case inserted
    /// Its row has not been fetched, or could not be read. The next getter tries again.
    case fault
    /// Its row is in memory.
    case loaded
    /// The next save deletes it.
    case deleted
    /// Its row or its context no longer exists. Values that were read before can still be read, except on
    /// an object that its own context deleted. Its relationships are empty.
    ///
    /// A row can return with its id, for example when SQL inserts it again. The object is then loaded
    /// again by the operation that finds the row in the context: a fetch, a look-up by id, a to-one,
    /// ``ManagedObject/load()``. Only an object that its own context deleted stays invalid, and the row
    /// gets a new object.
    case invalid
  }

  // Unchecked exclusivity: none of these is ever passed inout, so accesses cannot overlap, and omitting
  // the checks is safe. They would cost a third of a fetch.

  // The packed row in `page`, which this object retains; nil if there is none.
  @usableFromInline @exclusivity(unchecked) package final var row: UnsafeRawPointer?
  // The setters and deinit release a replaced value: the property itself does not retain.
  @usableFromInline @safe @exclusivity(unchecked) private(set) final var attached = Attachment<
    ManagedObject, Overlay, Extras
  >.none
  @inlinable @inline(__always) final var extrasReference: Unmanaged<Extras>? { unsafe attached.extras }
  final var extras: Extras? {
    get { unsafe extrasReference?.takeUnretainedValue() }
    set {
      let former = attached
      // Extras have room for a target and an overlay.
      if let target = unsafe former.target {
        unsafe newValue?.hold(target.takeUnretainedValue(), Int(soleTargetSlot))
      }
      if let overlay = unsafe former.overlay { unsafe newValue?.overlay = overlay.takeUnretainedValue() }
      attached = newValue.map { Attachment(extras: $0) } ?? .none
      former.release()
    }
  }
  @safe @exclusivity(unchecked) package final var page: RowPage?
  // Refers to the context and the entity. Not retained: the context outlives this reference, because its
  // deinit clears the reference in every live object of its maps, and these contain all objects of the
  // context. Unmanaged, so that code which only reads from the map need not retain it.
  @safe @exclusivity(unchecked) private final var mapReference: Unmanaged<IdentityMap>?
  package final var map: IdentityMap? {
    @inline(__always) get { unsafe mapReference?.takeUnretainedValue() }
    @inline(__always) set { unsafe mapReference = newValue.map { unsafe Unmanaged.passUnretained($0) } }
  }
  @safe @exclusivity(unchecked) package final var rowID: Int64 = 0
  @safe @exclusivity(unchecked) package final var rowVersion: Int64 = 0
  // The slot of the target, if `attached` is only the target of a to-one.
  @safe @exclusivity(unchecked) private final var soleTargetSlot: UInt16 = 0
  // All flags are in one byte: with one more byte many objects would need a larger memory block.
  @usableFromInline @safe @exclusivity(unchecked) private(set) final var marks: UInt8 = 0
  package final var isRegistered: Bool {
    @inline(__always) get { marks & 1 != 0 }
    @inline(__always) set { marks = newValue ? marks | 1 : marks & ~1 }
  }
  /// Whether objects may have become its members before its members were read: see GainedMembers. A save
  /// does not clear the flag, because it would have to find all owners.
  final var mayHaveGained: Bool {
    @inline(__always) get { marks & 2 != 0 }
    @inline(__always) set { marks = newValue ? marks | 2 : marks & ~2 }
  }
  /// Whether cells of its row may be absent, because a fetch left them out: see ``FetchBuilder/only(_:)``
  /// and ``AttributeOption/lazy``.
  final var isPartial: Bool {
    @inline(__always) get { marks & 4 != 0 }
    @inline(__always) set { marks = newValue ? marks | 4 : marks & ~4 }
  }
  /// Whether the program has created it by an initializer and not inserted it yet.
  final var isDraft: Bool {
    @inline(__always) get { marks & 8 != 0 }
    @inline(__always) set { marks = newValue ? marks | 8 : marks & ~8 }
  }
  /// Whether its reads are registered for observers.
  @inlinable @inline(__always) final var isTracked: Bool { marks & 16 != 0 }
  /// Registers that a property is read, for observers.
  @usableFromInline @inline(never) final func noteRead(_ slot: Int) {
    // A deleted object has left its context, which may restore it.
    (host ?? extras?.former?.host)?.noteRead(of: self, slot)
  }
  final func setTracked(_ isTracked: Bool) { marks = isTracked ? marks | 16 : marks & ~16 }
  @usableFromInline @safe @exclusivity(unchecked) package final var state = State.detached
  /// The object's state. In a context that notifies observers, `hasChanges`, `isInserted`, `isUpdated` and
  /// `isDeleted` are observed, and this is not.
  public final var objectState: State { state }

  /// Creates an object that is in no context until ``ObjectContext/insert(_:)-(Object)``. Its properties can
  /// be set before.
  ///
  /// The store calls it, too, for each row that it fetches: an overriding initializer must not use
  /// properties. Give them defaults, or declare a `convenience init` with parameters.
  public required init() {
    // The property wrappers of the subclass have taken their numbers. The next object counts from 0
    // again. Only the wrappers of an object that the program creates have numbers from 0.
    let count = vault_reset_slots()
    if count >= 0, count < recordingBase { becomeDraft(count: Int(count)) }
  }

  deinit {
    leaveMap()
    // Checked first: most objects carry nothing.
    guard !attached.isEmpty else { return }
    if isDraft { extras?.draft?.release() }
    // Most targets carry nothing: releasing such a target releases no further objects.
    if let target = unsafe attached.target, unsafe target._withUnsafeGuaranteedRef({ $0.attached.isEmpty }) {
      attached = .none
      unsafe target.release()
      return
    }
    defer { extras = nil }
    // Related objects are released from a list. Otherwise each object of a chain would release the next
    // one in its own deinit, and a long chain would overflow the stack.
    guard let host = map?.host else { return }
    if let target = unsafe attached.target {
      unsafe host.releasing.append(target.takeUnretainedValue())
    } else if extras?.holdsObjects == true {
      host.releasing.append(extras)
    }
    extras = nil
    host.releaseExtras()
  }

  // Removes the object from its context's identity map.
  @inline(__always) final func leaveMap() {
    unsafe mapReference?._withUnsafeGuaranteedRef { $0.remove(rowID, self) }
  }

  /// The id that other code sees: the final id that a new object was assigned before its row is written,
  /// otherwise `rowID`.
  final var visibleRowID: Int64 {
    rowID < 0 && state == .inserted ? host?.visibleID(of: self) ?? rowID : rowID
  }

  final var host: (any ObjectHost)? { withMap { $0.host } ?? nil }
  /// Calls `body` with the object's map, unretained: code that runs in the object's context keeps the
  /// object and the map alive.
  @inline(__always) final func withMap<Result>(_ body: (IdentityMap) -> Result) -> Result? {
    unsafe mapReference?._withUnsafeGuaranteedRef { body($0) }
  }
  @inline(__always) final func isIn(_ map: IdentityMap) -> Bool {
    unsafe mapReference?.toOpaque() == Unmanaged.passUnretained(map).toOpaque()
  }
  /// Whether it is in a context. An object that left its context never enters another one.
  @inline(__always) final var isInContext: Bool { unsafe mapReference != nil }
  package final var entity: EntityMapping? { map?.entity }
  /// The entity by which properties are found by name. Objects without classes keep theirs when they leave
  /// the context.
  var origin: EntityMapping? { entity }

  /// Whether its row is in memory.
  @inline(__always) final var hasRow: Bool { unsafe row != nil }
  /// Whether its row must be read before use: it is not in memory, or did not exist when it was last
  /// read.
  @inline(__always) final var isUnread: Bool { state == .fault || state == .invalid }

  // Safe: the object retains the page of its row. The slot belongs to the entity that the row was packed
  // for.
  /// Returns the value of a slot in its row; nil if the row is not in memory.
  @inline(__always) final func rowValue(_ slot: Int) -> SQLValue? { rowCell(slot)?.value }

  // Safe as above.
  /// Returns the cell of a slot in its row; nil if the row is not in memory. Reads a value that was not
  /// fetched, which ``packedCell(_:)`` does not; nil if that fails.
  @inline(__always) final func rowCell(_ slot: Int) -> RowCell? {
    guard let cell = packedCell(slot) else { return nil }
    return cell.isAbsent ? completedCell(slot) : cell
  }

  // Safe as above.
  /// Returns the cell of a slot in its row as it is in memory.
  @inline(__always) final func packedCell(_ slot: Int) -> RowCell? {
    unsafe row.map { unsafe RowCell(row: $0, slot: slot) }
  }

  /// Whether its row lacks values that are read with a row, because a fetch left them out.
  final var lacksFetched: Bool {
    isPartial && entity?.fetchedSlots.contains { packedCell($0)?.isAbsent == true } == true
  }

  @inline(never) private final func completedCell(_ slot: Int) -> RowCell? {
    guard let host else { return nil }
    do { try host.complete(self, for: slot) } catch { host.note(error) }
    return packedCell(slot).flatMap { $0.isAbsent ? nil : $0 }
  }

  // Safe: a row belongs to one object, which retains its page, and only the object's own task reads it.
  /// Copies written values into its row, which no other code reads meanwhile.
  /// - Parameter slots: The slots that were written.
  /// - Returns: Whether it has a row with enough room. If not, the row is unchanged.
  @inline(__always) final func putIntoRow(_ overlay: Overlay, _ slots: [Int]) -> Bool {
    unsafe row.map { unsafe overlay.values.put(slots, into: $0) } ?? false
  }

  /// Discards its row.
  final func dropRow() {
    unsafe row = nil
    page = nil
  }

  // Safe, here and below: `page` contains the row, and both are kept together.
  /// Moves its row to the extras, where it stays until the row is read again or found not to exist.
  final func setRowAside() {
    guard let cells = unsafe row, let page else { return }
    if extras == nil { extras = Extras(overlay: nil) }
    extras?.lastRow = unsafe LastRow(cells: cells, page: page)
    dropRow()
  }

  /// Makes the object invalid, because its row no longer exists. The values that it had in memory can
  /// still be read.
  final func loseRow() {
    if state != .deleted, state != .invalid { host?.didLoseRow(of: self) }
    state = .invalid
    guard !hasRow, let last = extras?.lastRow else { return }
    unsafe row = unsafe last.cells
    page = last.page
  }

  /// Discards the row that was in memory before the present one.
  @inline(__always) final func dropLastRow() {
    guard !attached.isEmpty, unsafe extrasReference?._withUnsafeGuaranteedRef({ $0.lastRow != nil }) == true
    else {
      return
    }
    extras?.lastRow = nil
    if let extras, extras.isEmpty { self.extras = nil }
  }

  // The values that were written and not yet saved; nil if there are none.
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

  /// The overlay, unretained.
  @inlinable @inline(__always) final var overlayReference: Unmanaged<Overlay>? {
    if attached.isEmpty { return nil }
    if let sole = unsafe attached.overlay { return unsafe sole }
    return unsafe extrasReference?._withUnsafeGuaranteedRef { $0.overlayReference }
  }

  // For loops over all objects of a save, which would otherwise retain and release each overlay.
  /// Calls `body` with the overlay, which the object retains meanwhile; returns nil if there is none.
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

  /// Records the context that the object has left.
  final func remember(_ former: FormerHost) {
    if extras == nil { extras = Extras(overlay: nil) }
    extras?.former = former
  }

  /// Keeps the target of a to-one alive.
  final func hold(_ target: ManagedObject, _ slot: Int) {
    if attached.isEmpty {
      soleTargetSlot = UInt16(truncatingIfNeeded: slot)
      attached = Attachment(target: target)
      return
    }
    if extras == nil { extras = Extras(overlay: nil) }
    extras?.hold(target, slot)
  }

  /// Returns the target of a to-one, if it is kept alive.
  @inline(__always) final func heldTarget(_ slot: Int) -> ManagedObject? {
    if let target = unsafe attached.target {
      return soleTargetSlot == slot ? unsafe target.takeUnretainedValue() : nil
    }
    return extras?.target(slot)
  }

  /// Releases all targets of to-ones.
  private final func releaseTargets() {
    if attached.isTarget { extras = nil } else { extras?.releaseTargets() }
  }

  /// Discards the fetched members and targets of its relationships. To-manys with changes keep their
  /// members.
  /// - Parameter keepsOrders: Whether a to-many also keeps its members if only their order was changed.
  final func forgetFetchedMembers(keepsOrders: Bool = true) {
    toMany.forEach { state in
      if !state.isChanged, !keepsOrders || !state.isRearranged { state.forget() }
    }
    releaseTargets()
  }

  final func forgetMembers() {
    extras?.toMany = MemberStates()
    releaseTargets()
    if unsafe overlayReference == nil { dropExtras() }
  }

  /// Discards the extras, except for the observers.
  final func dropExtras() {
    let observed = extras?.observed
    extras = observed == nil ? nil : Extras(overlay: nil)
    extras?.observed = observed
  }

  // MARK: Hooks

  // In the class itself, because methods of extensions cannot be overridden. ClassHooks finds out which
  // of them a class overrides: the others are never called.

  /// Called after the object was inserted into its context and has its defaults, and before the closure
  /// of ``ObjectContext/insert(_:_:)``. Not called when a row is fetched. See <doc:hooks>.
  open func awakeFromInsert() {}

  /// Called after a row was read into the object: by a fetch, a getter of a fault, or when a later fetch
  /// finds a newer row. The row is in memory then, also its relationships can be used.
  ///
  /// Called at the end of the read, for all objects that it has read. Lazy attributes are not in memory.
  open func awakeFromFetch() {}

  /// Called by ``ObjectContext/save()`` before the checks, if the save inserts or updates the object. It may
  /// change this object and others.
  ///
  /// Objects that it changes, inserts or deletes are part of the same save, and their `willSave` is called
  /// as well. It is called again if other code changes the object meanwhile, and not for its own changes, so
  /// it can set a modification date each time. After a hundred rounds the save throws
  /// ``StoreError/hookFailed(entity:rowID:hook:reason:)``. A save of only the links of a many-to-many does
  /// not update the object.
  open func willSave() {}

  /// Called after a save has inserted or updated the object. Inside ``Store/write(_:)`` that is before
  /// the commit, which can still fail; at its end, changes here are an error, because nothing would save
  /// them.
  open func didSave() {}

  /// Called before the object is deleted: by ``ObjectContext/delete(_:)-(ManagedObject)``, while the object
  /// still has its relationships, and by the save for each object that a delete rule deletes. For such
  /// objects the save reads the rows, if their class overrides this method. A save that is repeated after an
  /// error calls it again.
  open func prepareForDeletion() {}

  /// Called by a save that inserts the object, after ``willSave()``. Throw what is wrong with the values:
  /// see ``Persistable/failure(of:reason:)``. The save reports the failures of all objects together.
  open func validateForInsert() throws {}

  /// Called by a save that updates the object, as ``validateForInsert()``.
  open func validateForUpdate() throws {}

  /// Called by a save that deletes the object, also because of a delete rule, as ``validateForInsert()``.
  open func validateForDelete() throws {}

  // MARK: Attributes

  /// Whether values were written that are not saved.
  @inlinable @inline(__always) final var isOverlaid: Bool { unsafe overlayReference != nil }

  // @inlinable, so that reading an Int is a test, a load and a return.
  /// Returns the value of an attribute. `property` is its key path, which only prototypes need.
  @inlinable
  final func readAttribute<Value: AttributeValue>(_ slot: UInt16, _ property: () -> AnyKeyPath) -> Value {
    if isTracked { noteRead(Int(slot)) }
    if let row = unsafe row, !isOverlaid {
      let cell = unsafe RowCell(row: row, slot: Int(slot))
      if !cell.isAbsent, let value = Value.read(cell) { return value }
    }
    return readSlowly(slot, property)
  }

  @usableFromInline
  final func readSlowly<Value: AttributeValue>(_ slot: UInt16, _ property: () -> AnyKeyPath) -> Value {
    if let recording = extras?.recording { return recording.attribute(of: self, slot: Int(slot), property) }
    if isDraft { _ = draftValues }
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

  /// Returns the stored form of an attribute or to-one, after fetching the row of a fault; nil if there
  /// is no row.
  final func storedValue(_ slot: Int) -> SQLValue? {
    if let overlay {
      if overlay.changed.contains(slot) { return overlay[slot] }
    }
    if !hasRow, state == .fault { host?.fire(self) }
    return rowValue(slot)
  }
}

extension ManagedObject: Hashable {
  /// Whether both are the same object.
  public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }
  /// Hashes the object's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
