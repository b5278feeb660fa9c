// Objects that a program creates by an initializer of their class, before they are inserted into a context.
// Their attributes are in an overlay, as those of other new objects, and their relationships in the extras.

internal import CipherSQLite

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

  /// Returns a value of a draft.
  final func draftValue(_ slot: Int) -> SQLValue {
    let values = draftValues
    return values.changed.contains(slot) ? values[slot] : .null
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
