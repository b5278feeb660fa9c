// What was written to an object since it was fetched or saved. The committed row stays beside it.

internal import CipherSQLite
private import Foundation

/// What only objects in use have; one of these is made when the first of it is needed.
@safe @usableFromInline
final class Extras {
  // Retained here, and released in deinit and by the setter: a setter of the object, which only lends it, then counts nothing.
  @usableFromInline @safe @exclusivity(unchecked) private(set) var overlayReference: Unmanaged<Overlay>?
  var overlay: Overlay? {
    get { unsafe overlayReference?.takeUnretainedValue() }
    set {
      let former = overlayReference
      unsafe overlayReference = newValue.map { unsafe Unmanaged.passRetained($0) }
      unsafe former?.release()
    }
  }
  /// The members of relationships that have been read or changed, by slot.
  @safe @exclusivity(unchecked) var toMany: [Int: ToManyState] = [:]
  /// The targets of to-ones that have been read, kept alive: a loop over objects that share one fetches it once.
  @safe @exclusivity(unchecked) var targets: [(slot: Int, target: ManagedObject)] = []
  /// Whether other objects are kept alive.
  var holdsObjects: Bool { !toMany.isEmpty || !targets.isEmpty }
  /// The way to the context that an object has left, which is told what is written to it.
  var former: FormerHost?

  init(overlay: Overlay?) { self.overlay = overlay }

  deinit { unsafe overlayReference?.release() }

  /// Writes to an object that has been written to before, and was asked then whether it takes any.
  /// - Returns: Whether that was enough.
  @inline(__always) func put(_ value: SQLValue, _ slot: Int) -> Bool {
    unsafe overlayReference?._withUnsafeGuaranteedRef { overlay in
      guard overlay.refused == nil, overlay.run?.isCancelled != true else { return false }
      overlay[slot] = value
      overlay.changed.insert(slot)
      return true
    } ?? false
  }
}

/// Where an object was.
final class FormerHost {
  weak var host: (any ObjectHost)?
  /// The store, which an object's id is of wherever the object went.
  let store: StoreMark

  init(of store: StoreMark) { self.store = store }
}

/// The values that were written.
@usableFromInline
final class Overlay {
  // Unchecked exclusivity, for setters: like its object, the overlay is used by one task at a time, and putting a value in
  // leads to nobody else.
  /// One value for each slot; meaningful where `changed` says so.
  @safe @exclusivity(unchecked) var values: RowDraft
  @safe @exclusivity(unchecked) var changed: SlotSet
  /// Why slots hold nil although something else was written: it has no stored form. The save says so.
  @safe @exclusivity(unchecked) var refused: [Int: any Error]?
  /// The call that the object is used in, which may be cancelled. Here, and not reached through the context,
  /// because each setter asks.
  let run: CancellableRun?
  /// Set on prototypes only: their getters note what they are asked for.
  let recording: (any GetterProbe)?

  init(
    slotCount: Int, changed: SlotSet = SlotSet(), run: CancellableRun? = nil,
    recording: (any GetterProbe)? = nil, in page: RowPage? = nil
  ) {
    values = RowDraft(slotCount: slotCount, in: page)
    self.changed = changed
    self.run = run
    self.recording = recording
  }

  /// The same values, of its own.
  init(copy other: Overlay) {
    values = RowDraft(copy: other.values)
    changed = other.changed
    refused = other.refused
    run = other.run
    recording = other.recording
  }

  /// The value of a slot of its entity.
  subscript(slot: Int) -> SQLValue {
    get { values.cell(slot).value }
    set {
      guard !values.set(newValue, slot) else { return }
      refused = (refused ?? [:]).merging([slot: UnstorableValue.tooLarge]) { $1 }
    }
  }

  /// Whether a slot holds nil.
  func isNull(_ slot: Int) -> Bool { values.cell(slot).isNull }

  /// The integer that a slot holds, such as the id of a to-one's target.
  func int64(_ slot: Int) -> Int64? { values.cell(slot).int64 }
}

/// The members of a to-many, as far as they are known, and what changed since the last save.
final class ToManyState {
  /// All members, with the changes; nil while they have not been fetched. Who was added or removed then may have been
  /// a member before, or not: the last word counts.
  var members: Set<ManagedObject>?
  var added: Set<ManagedObject> = []
  var removed: Set<ManagedObject> = []
  /// `members` without the deleted ones, as the typed set that the getter returns.
  var typed: TypedMembers?
  /// The count of ``ObjectHost/deletionCount`` when `typed` was made or corrected.
  var seenDeletions = 0

  func insert(_ object: ManagedObject) {
    typed?.insert(object)
    members?.insert(object)
    removed.remove(object)
    added.insert(object)
  }

  func remove(_ object: ManagedObject) {
    typed?.remove(object)
    members?.remove(object)
    added.remove(object)
    removed.insert(object)
  }

  /// The store holds what memory holds, but for what concerns objects that were left out of the save.
  func didSave(but leftOut: Set<ManagedObject> = []) {
    added = leftOut.isEmpty || added.isEmpty ? [] : added.intersection(leftOut)
    removed = leftOut.isEmpty || removed.isEmpty ? [] : removed.intersection(leftOut)
  }

  /// Back to not being fetched.
  func forget() {
    members = nil
    typed = nil
    didSave()
  }
}

/// The set that a getter returns, kept up to date member by member: making it anew at each change would make
/// `parent.children.insert(child)` in a loop quadratic twice over.
class TypedMembers {
  func insert(_ object: ManagedObject) {}
  func remove(_ object: ManagedObject) {}
}

final class Members<Target: ManagedObject>: TypedMembers {
  var set: Set<Target>
  init(_ set: Set<Target>) { self.set = set }

  override func insert(_ object: ManagedObject) {
    if let object = object as? Target { set.insert(object) }
  }
  override func remove(_ object: ManagedObject) {
    if let object = object as? Target { set.remove(object) }
  }
}

extension Overlay {
  /// What a new object holds: the defaults, computed now.
  convenience init(initial entity: EntityMapping, _ run: CancellableRun?, in page: RowPage) {
    self.init(slotCount: entity.slotCount, changed: entity.allStored, run: run, in: page)
    for slot in entity.slotsWithInitialValue {
      if let make = entity.slots[slot].initialValue, let value = try? make() { self[slot] = value }
    }
  }
}
