// Objects that belong to no context: where errors of their use are reported.

extension ManagedObject {
  /// The entity's name for messages, in or out of a context; the class's name for an object that was
  /// never in one.
  final var nameOfEntity: String {
    origin?.name ?? "\(type(of: self))"
  }

  /// The error for deleting an object in a context that it is not in.
  final var strayDeletion: StoreError {
    if isInContext { return .foreignDeletion(entity: nameOfEntity, rowID: rowID) }
    guard extras?.former?.host == nil else { return .objectGone(entity: nameOfEntity, rowID: rowID) }
    return .noContext(entity: nameOfEntity, property: "delete")
  }

  /// Reports a write to an object that belongs to no context: to its former context if that still exists.
  final func tellStrayWrite(_ slot: Int) {
    guard let former = extras?.former?.host else { return tellStray(slot) }
    former.note(StoreError.objectGone(entity: nameOfEntity, rowID: rowID))
  }

  /// Reports the use of a property on an object that belongs to no context.
  final func tellStray(_ slot: Int) {
    // While a class is recorded, its description does not exist yet; its schema reports the use.
    if DeclarationRecorder.noteUse(of: self, slot) { return }
    // The program itself created the object, so its slots may be numbered differently than in the class
    // description: the names come from the object.
    let property = DeclarationRecorder.names(of: self)[slot]?.name ?? "?"
    ContextlessErrors.tell(unreachable(property))
  }

  /// Reports the use of a relationship of an object whose row no longer exists: its value is empty. Not an
  /// error of the next save, which does not depend on it.
  final func tellIfGone() {
    if state == .invalid, host != nil {
      ContextlessErrors.tell(.objectGone(entity: nameOfEntity, rowID: rowID))
    }
  }
}
