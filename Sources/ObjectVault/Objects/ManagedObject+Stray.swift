// Objects that belong to no context: where what is done with them is told.

extension ManagedObject {
  /// The entity's name, for messages, wherever the object went; of one that never had a context, the class.
  final var nameOfEntity: String {
    entity?.name ?? (self as? DynamicObject)?.origin?.name ?? "\(type(of: self))"
  }

  /// Why an object that is not in a context cannot be deleted there.
  final var strayDeletion: StoreError {
    if isInContext { return .foreignDeletion(entity: nameOfEntity, rowID: rowID) }
    guard extras?.former?.host == nil else { return .objectGone(entity: nameOfEntity, rowID: rowID) }
    return .noContext(entity: nameOfEntity, property: "delete")
  }

  /// Says that something was written to an object that belongs to no context: to the one that it belonged to.
  final func tellStrayWrite(_ slot: Int) {
    guard let former = extras?.former?.host else { return tellStray(slot) }
    former.note(StoreError.objectGone(entity: nameOfEntity, rowID: rowID))
  }

  /// Says that a property was used of an object that belongs to no context.
  final func tellStray(_ slot: Int) {
    // A class whose declarations are being recorded cannot be looked up; its schema tells.
    if DeclarationRecorder.noteUse(of: self, slot) { return }
    // Of an object that somebody else made, the class does not say which property has which slot.
    let property = DeclarationRecorder.names(of: self)[slot]?.name ?? "?"
    StrayErrors.tell(StoreError.noContext(entity: "\(type(of: self))", property: property))
  }
}
