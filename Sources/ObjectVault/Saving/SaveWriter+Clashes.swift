// When a save fails, finds all unique values that collide. For each it finds two objects: the one that
// was to get the value, and the one that has it. A row that collides is still written, without the value,
// so that later rows collide with its other values.

internal import CipherSQLite

/// The clashes found in a save.
struct UniqueClashes {
  fileprivate(set) var failures: [ValidationFailure] = []
  private var known: Set<ValidationFailure> = []
  /// The new objects, by the index of the table's root entity and by final id. Built for the first clash.
  fileprivate var newObjects: [Int: [Int64: ManagedObject]]?

  /// The slots of changed objects that were not written, because other objects have their values.
  private var setAside: [ManagedObject: SlotSet] = [:]

  /// Returns the slots of an object that were not written; nil if all were.
  fileprivate func slotsSetAside(of object: ManagedObject) -> SlotSet? { setAside[object] }

  mutating func didSetAside(_ slots: SlotSet, of object: ManagedObject) {
    setAside[object] = setAside[object]?.union(slots) ?? slots
  }

  fileprivate mutating func note(_ failure: ValidationFailure) {
    if known.insert(failure).inserted { failures.append(failure) }
  }
}

extension SaveWriter {
  /// Writes the rows, and notes all collisions of unique values.
  /// - Throws: ``StoreError/validation(_:)`` with each unique value that another object has; any other
  ///   error, if there is no such value, if the error is not about a rule, or if the engine has rolled
  ///   the transaction back. The caller must then roll back.
  func writeRowsNotingClashes() throws {
    collisions = .note
    do { try writeRows() } catch {
      let cause = (error as? UniqueCollision)?.error ?? error
      // If an object also breaks another rule, the next save reports that rule.
      guard !clashes.failures.isEmpty, Self.isRule(cause), !connection.hasLostTransaction else { throw cause }
    }
    guard clashes.failures.isEmpty else { throw StoreError.validation(clashes.failures) }
  }

  private static func isRule(_ error: any Error) -> Bool {
    if case SQLError.constraint = error { return true }
    return error is StoreError
  }

  /// Notes each unique value of an object that another object has.
  /// - Returns: The quoted columns of these values; empty if they are not known.
  func note(_ collision: UniqueCollision, of object: ManagedObject) throws -> Set<String> {
    guard let entity = object.entity, let overlay = plan.overlay(of: object) else { throw collision }
    let met = entity.storedSlots.filter { collision.columns.contains(entity.slots[$0].column) }
    let written = overlay.changed.subtracting(clashes.slotsSetAside(of: object))
    var taken: Set<Int> = []
    func note(_ key: [Int], _ holder: ValidationFailure.Holder?) {
      taken.formUnion(key)
      clashes.note(
        ValidationFailure(
          entity: entity.name, property: key.map { entity.slots[$0].name }.joined(separator: ", "),
          rowID: object.rowID, reason: ValidationFailure.uniqueness, holder: holder))
    }
    for key in entity.uniqueKeys where key.contains(where: written.contains) {
      if let holder = try holder(of: key, besides: object, entity) { note(key, holder) }
    }
    // The values of a raw index are noted without the object that has them: the index may cover only some
    // of the rows, so a query for the values could find another object.
    if !taken.isSuperset(of: met), met.contains(where: written.contains) { note(met, nil) }
    if taken.isEmpty {
      // A trigger or an index on an expression has reported the collision.
      taken.formUnion(entity.rawUniqueSlots.filter(written.contains))
      let names = taken.sorted().map { entity.slots[$0].name }.joined(separator: ", ")
      clashes.note(
        .refused(entity, property: names.isEmpty ? "id" : names, id: object.rowID, message: collision.message)
      )
    }
    return Set(taken.map { entity.slots[$0].column })
  }

  /// Inserts the row of a new object without the values that other objects have.
  func insert(_ object: ManagedObject, _ entity: EntityMapping, without columns: Set<String>) throws {
    let taken = entity.storedSlots.filter { columns.contains(entity.slots[$0].column) }
    guard !taken.isEmpty, let overlay = plan.overlay(of: object) else { return }
    let attributes = taken.filter { !entity.isToOne[$0] }
    let rest = Overlay(copy: overlay)
    for slot in attributes.isEmpty ? taken : attributes {
      rest[slot] = Self.valueSetAside(of: plan.ids.final(object.rowID))
    }
    plan.released[object] = rest
    collisions = .drop
    defer { collisions = .note }
    try insert([object], entity)
  }

  /// Returns the object that has the values of a unique key.
  /// - Returns: nil if no other object has these values, or one of the values is nil.
  private func holder(
    of key: [Int], besides object: ManagedObject, _ entity: EntityMapping
  ) throws -> ValidationFailure.Holder? {
    guard let id = try holderID(of: key, besides: object, entity) else { return nil }
    let found = newObject(id, entity) ?? maps[entity.index].find(id)
    let isPending = found.map { $0.state == .inserted || plan.hasOverlay($0) } ?? false
    let name = try found?.entity?.name ?? self.name(of: id, entity)
    return ValidationFailure.Holder(entity: name, rowID: found?.rowID ?? id, isPending: isPending)
  }

  /// Returns the id of the row that has the values of a unique key.
  private func holderID(of key: [Int], besides object: ManagedObject, _ entity: EntityMapping) throws
    -> Int64?
  {
    let values = key.map { slot -> SQLValue in
      guard let overlay = plan.overlay(of: object), overlay.changed.contains(slot) else {
        return object.rowValue(slot) ?? .null
      }
      return entity.isToOne[slot] ? plan.resolved(overlay[slot]) : overlay[slot]
    }
    let own = SQLValue.integer(plan.ids.final(object.rowID))
    return try connection.value(sql: entity.uniqueKeyHolderSQL(key), values + [own])?.int64
  }

  /// Returns the new object whose final id in a table is `id`.
  private func newObject(_ id: Int64, _ entity: EntityMapping) -> ManagedObject? {
    if clashes.newObjects == nil {
      var all: [Int: [Int64: ManagedObject]] = [:]
      for (entity, objects) in plan.inserted {
        for object in objects { all[entity.root.index, default: [:]][plan.ids.final(object.rowID)] = object }
      }
      clashes.newObjects = all
    }
    return clashes.newObjects?[entity.root.index]?[id]
  }

  /// Returns the name of the entity of a row, which may be any entity that shares the table.
  private func name(of id: Int64, _ entity: EntityMapping) throws -> String {
    guard entity.isInHierarchy else { return entity.name }
    let own = try ConnectionReader(connection: connection).entities(of: [id], entity.root).first?.entity
    return (own ?? entity).name
  }
}
