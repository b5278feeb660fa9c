// Inserting objects that the program has created by initializers of their classes.

internal import CipherSQLite

extension ObjectContext {
  /// Inserts an object that was created by an initializer of its class, with the values that it was given.
  ///
  /// ```swift
  /// let user = User()
  /// user.name = "Ann"
  /// let status = Status()
  /// (status.text, status.user) = ("Hello", user)
  /// context.insert(status)
  /// ```
  ///
  /// Objects that it refers to and that are in no context are inserted as well. Until the insertion, a
  /// relationship has what it was set to, and its inverse is not set. A class may have initializers of its
  /// own, which call `self.init()`: `convenience init(name: String)`. Objects that refer to each other and
  /// are never inserted keep each other alive. The members of a `Set` get their ids in no particular order.
  ///
  /// It cannot throw. The error is in ``faultErrors`` for an object of another context, for a deleted one,
  /// and for one whose class is not in the schema. The same applies to a class that inherits from another
  /// entity: create its objects by ``insert(_:_:)``. An object that is in this context already stays as it
  /// is.
  /// - Parameter object: The object.
  /// - Returns: The same object.
  @discardableResult
  public func insert<Object: ManagedObject>(_ object: Object) -> Object {
    undoable { insertDrafts([object]) }
    return object
  }

  /// Inserts objects, and those that they refer to.
  func insertDrafts(_ objects: [ManagedObject]) {
    var (waiting, added): ([ManagedObject], [(ManagedObject, Draft)]) = (objects.reversed(), [])
    while let object = waiting.popLast() {
      if object.context === self, object.isPending || object.hasRow || object.state == .fault { continue }
      guard object.isDraft, let map = unsafe map(of: type(of: object)) else {
        note(refusal(of: object))
        continue
      }
      guard acceptsChanges else { continue }
      let draft = object.extras?.draft
      unsafe map._withUnsafeGuaranteedRef { add(draft: object, in: $0) }
      guard let draft else { continue }
      added.append((object, draft))
      waiting += draft.related.flatMap(\.objects).filter(\.isDraft).reversed()
    }
    for (object, draft) in added {
      for related in draft.related { relate(object, related.slot, to: related.objects) }
    }
  }

  private func add(draft object: ManagedObject, in map: IdentityMap) {
    let values = object.overlay
    object.isDraft = false
    object.extras = nil
    object.map = map
    object.state = .inserted
    object.rowID = pending.makeTemporaryID(table: map.table)
    let overlay =
      values == nil
      ? Overlay(initial: map.entity, run, in: page(map))
      : Overlay(slotCount: map.entity.slotCount, changed: map.entity.allStored, run: run, in: page(map))
    if let values {
      for slot in map.entity.storedSlots where values.changed.contains(slot) { overlay[slot] = values[slot] }
      overlay.refused = values.refused
    }
    object.overlay = overlay
    map.insert(object, for: object.rowID)
    pending.didInsert(object)
    if recordsChanges {
      overlay.isObserved = true
      recordInsertion(of: object)
    }
    if map.hooks.contains(.awakeFromInsert) { object.awakeFromInsert() }
  }

  /// Sets a relationship of an inserted object to what its draft had.
  private func relate(_ object: ManagedObject, _ slot: Int, to others: [ManagedObject]) {
    guard let relationship = object.entity?.slots[slot].relationship else { return }
    guard relationship.isToMany else { return object.writeToOne(others.first, UInt16(slot)) }
    for other in others { object.addMember(other, relationship) }
    if relationship.isOrdered { object.arrangeDraft(others, relationship) }
  }

  func refusal(ofDraft object: ManagedObject) -> StoreError? {
    unsafe map(of: type(of: object)) == nil ? refusal(of: object) : nil
  }

  /// Returns why an object cannot be inserted.
  private func refusal(of object: ManagedObject) -> StoreError {
    let name = object.nameOfEntity
    if core.entity(of: type(of: object)) == nil { return .unknownEntity(name: name) }
    if object.context === self || object.extras?.former?.host === self {
      return .cannotInsert(entity: name, reason: "it was deleted or rolled back")
    }
    if object.isInContext { return .cannotInsert(entity: name, reason: "it belongs to another context") }
    if object.extras?.former != nil {
      return .cannotInsert(entity: name, reason: "it was deleted, or its context was released")
    }
    return .cannotInsert(
      entity: name,
      reason: "its class inherits properties, or one of its stored properties makes another object; use "
        + "insert(\(name).self)")
  }
}
