// Objects that a program creates by an initializer of their class, before they are inserted into a context.
// Their attributes are in an overlay, as those of other new objects, and their relationships here.

internal import CipherSQLite

/// The relationships of an object that is not in a context yet.
final class Draft {
  struct Related {
    let slot: Int
    /// At most one object for a to-one.
    var objects: [ManagedObject]
    /// The objects of a to-many to which single ones are added.
    var known: Set<ObjectIdentifier>
  }

  /// The values of relationships, in the order in which they were set.
  private(set) var related: [Related] = []

  subscript(slot: Int) -> [ManagedObject] {
    get { related.first { $0.slot == slot }?.objects ?? [] }
    set {
      let former = related
      related = related.filter { $0.slot != slot }
      // Without a value, the relationship is what its inverse sets.
      if !newValue.isEmpty {
        related.append(Related(slot: slot, objects: newValue, known: Set(newValue.map(ObjectIdentifier.init))))
      }
      withExtendedLifetime(former) {}
    }
  }

  func add(_ object: ManagedObject, _ slot: Int) {
    guard let place = related.firstIndex(where: { $0.slot == slot }) else { return self[slot] = [object] }
    if related[place].known.insert(ObjectIdentifier(object)).inserted {
      related[place].objects.append(object)
    }
  }

  /// Releases the objects one after the other: a chain of drafts would otherwise overflow the stack.
  func release() {
    var waiting = related.flatMap(\.objects)
    related = []
    while var object = waiting.popLast() {
      guard isKnownUniquelyReferenced(&object), let draft = object.extras?.draft else { continue }
      waiting += draft.related.flatMap(\.objects)
      draft.related = []
    }
  }
}

extension ManagedObject {
  /// Makes an object a draft, if its wrappers have the slots of its class: those of a class that inherits
  /// properties are numbered differently when the program creates the object.
  /// - Parameter count: How many wrappers were initialized.
  @inline(never) final func becomeDraft(count: Int) {
    let type = type(of: self)
    guard type != DynamicObject.self else { return }
    let description = ClassDescription.of(type)
    isDraft = description.countsFromZero && description.properties.count == count
  }

  /// Returns the overlay of a draft, which has the defaults of the class.
  final var draftValues: Overlay {
    if let overlay { return overlay }
    let properties = ClassDescription.of(type(of: self)).properties
    let overlay = Overlay(slotCount: properties.count)
    for property in properties {
      guard case .attribute(_, _, let initial?, _) = property.kind, let value = try? initial() else {
        continue
      }
      overlay[property.slot] = value
      overlay.changed.insert(property.slot)
    }
    self.overlay = overlay
    return overlay
  }

  final func writeDraft(_ value: SQLValue, _ slot: Int, error: (any Error)? = nil) {
    let overlay = draftValues
    overlay.refused?[slot] = nil
    overlay[slot] = value
    overlay.changed.insert(slot)
    if let error { overlay.refused = (overlay.refused ?? [:]).merging([slot: error]) { $1 } }
  }

  /// The relationships of a draft.
  final var draft: Draft {
    if let draft = extras?.draft { return draft }
    let draft = Draft()
    if extras == nil { extras = Extras(overlay: nil) }
    extras?.draft = draft
    return draft
  }

  /// Adds an object to a to-many of a draft, or removes it.
  final func changeDraft(_ object: ManagedObject, _ slot: Int, isAdded: Bool) {
    if isAdded { draft.add(object, slot) } else { draft[slot] = draft[slot].filter { $0 !== object } }
  }
}
