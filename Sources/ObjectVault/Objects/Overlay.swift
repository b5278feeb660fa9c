// What was written to an object since it was fetched or saved. The committed row stays beside it.

internal import CipherSQLite

/// What only objects in use have; one of these is made when the first of it is needed.
@usableFromInline
final class Extras {
  @usableFromInline @exclusivity(unchecked) var overlay: Overlay?
  /// The members of relationships that have been read or changed, by slot.
  @exclusivity(unchecked) var toMany: [Int: ToManyState] = [:]

  init(overlay: Overlay?) { self.overlay = overlay }
}

/// The values that were written.
@usableFromInline
final class Overlay {
  // Unchecked exclusivity: written one element at a time, by one function.
  /// One value for each slot; meaningful where `changed` says so.
  @exclusivity(unchecked) var values: [SQLValue]
  @exclusivity(unchecked) var changed = SlotSet()
  /// Set on prototypes only: their getters note what they are asked for.
  let recording: Recording?

  /// Stands for the object's id where slots are noted.
  static let idSlot = -1

  init(slotCount: Int) {
    values = [SQLValue](repeating: .null, count: slotCount)
    recording = nil
  }

  init(values: [SQLValue], changed: SlotSet) {
    self.values = values
    self.changed = changed
    recording = nil
  }

  init(recording: Recording) {
    values = []
    self.recording = recording
  }
}

/// The members of a to-many, as far as they are known, and what changed since the last save. For a to-one it
/// only keeps the target alive.
final class ToManyState {
  /// All members, with the changes; nil while they have not been fetched.
  var members: Set<ManagedObject>?
  var added: Set<ManagedObject> = []
  var removed: Set<ManagedObject> = []
  /// `members` as the typed set that the getter returns; dropped when they change.
  var typed: Any?

  func insert(_ object: ManagedObject) {
    typed = nil
    members?.insert(object)
    if removed.remove(object) == nil { added.insert(object) }
  }

  func remove(_ object: ManagedObject) {
    typed = nil
    members?.remove(object)
    if added.remove(object) == nil { removed.insert(object) }
  }

  /// The store holds what memory holds.
  func didSave() {
    added = []
    removed = []
  }

  /// Back to not being fetched.
  func forget() {
    members = nil
    typed = nil
    didSave()
  }
}
