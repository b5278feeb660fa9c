// What a program asks an object about its state, its changes and its row.

public import CipherSQLite

extension ManagedObject {
  /// Whether the object differs from its row. Inside ``Store/write(_:)`` also whether the write has
  /// changed the row and not yet committed it.
  public final var hasChanges: Bool {
    noteReadOfState()
    return isPending || host?.isUncommitted(self) == true
  }
  /// Whether the next save writes any of its values or deletes it.
  final var isPending: Bool { state == .inserted || state == .deleted || (overlay != nil && !isDraft) }
  /// Whether it is new and not yet saved.
  public final var isInserted: Bool {
    noteReadOfState()
    return state == .inserted
  }
  /// Whether it was saved, and attributes or to-ones were set since.
  public final var isUpdated: Bool {
    noteReadOfState()
    return state == .loaded && overlay != nil
  }
  /// Whether the next save deletes it.
  public final var isDeleted: Bool {
    noteReadOfState()
    return state == .deleted
  }
  /// Whether its row has not been fetched.
  public final var isFault: Bool { state == .fault }

  /// The names of the attributes and to-ones that were written since the last save, with the values to be
  /// stored. Inside ``Store/write(_:)``: since the write began, whether or not a save has written them to
  /// the file.
  public final var changedValues: [String: SQLValue] {
    guard let host, let entity else { return [:] }
    noteReadOfState()
    var values = host.uncommittedValues(of: self)
    guard let overlay else { return values }
    for slot in entity.storedSlots where overlay.changed.contains(slot) {
      values[entity.slots[slot].name] = entity.isToOne[slot] ? host.known(overlay[slot]) : overlay[slot]
    }
    return values
  }

  /// The stored values of the attributes and to-ones as they were last fetched or saved, without changes that
  /// are not saved; empty for a new object. Fetches the row of a fault; lazy attributes that were not read
  /// are left out.
  public final var committedValues: [String: SQLValue] {
    noteReadOfState()
    guard let entity, state != .inserted else { return [:] }
    if isUnread { host?.fire(self) }
    var values: [String: SQLValue] = [:]
    for slot in entity.storedSlots {
      if let cell = packedCell(slot), !cell.isAbsent { values[entity.slots[slot].name] = cell.value }
    }
    return values
  }

  /// Fetches the row now, if it is not in memory or only partly, and throws errors that a getter cannot
  /// throw. A row that did not exist before is read again. Lazy attributes are not read:
  /// see ``AttributeOption/lazy``.
  /// - Throws: ``StoreError/objectGone(entity:rowID:)`` if the row does not exist;
  ///   ``StoreError/noContext(entity:property:)`` if the object was not inserted, or its context was
  ///   released; ``SQLError``.
  public final func load() throws {
    guard isUnread || state == .detached || isPartial else { return }
    try load(for: nil)
  }

  /// Fetches the row now, or the values that a slot needs.
  /// - Parameter slot: The slot of which a value is absent; nil for all that are read with a row.
  final func load(for slot: Int?) throws {
    guard let host else { throw unreachable("load") }
    if isPartial, !isUnread { try host.complete(self, for: slot) } else { try host.load(self) }
  }
}
