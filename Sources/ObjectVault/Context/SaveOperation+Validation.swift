// The rules of the schema, checked in memory before anything is written; all broken ones are reported.

internal import CipherSQLite

extension SaveOperation {
  /// Decides what is written.
  func validate() throws {
    inserted = grouped(those(of: context.inserted) { $0.state == .inserted })
    updated = grouped(those(of: context.updated) { $0.state == .loaded && $0.overlay != nil })
    let all = inserted + updated
    for (entity, objects) in all where entity.hasToOne {
      for object in objects { releaseForgotten(object, entity) }
    }
    var failures: [ValidationFailure] = []
    for (entity, objects) in all { check(objects, entity, &failures) }
    guard isPartial || failures.isEmpty else { throw StoreError.validation(failures) }
    guard !leftOut.isEmpty else { return }
    inserted = grouped(inserted.flatMap(\.objects).filter { !leftOut.contains($0) })
  }

  /// The objects that `belongs` holds for: mostly all of them, which then need no array of their own.
  func those(of objects: [ManagedObject], _ belongs: (ManagedObject) -> Bool) -> [ManagedObject] {
    objects.allSatisfy(belongs) ? objects : objects.filter(belongs)
  }

  /// A to-one whose new target was deleted before it was saved is nil.
  private func releaseForgotten(_ object: ManagedObject, _ entity: EntityMapping) {
    guard let overlay = object.overlay else { return }
    for slot in entity.storedSlots where entity.isToOne[slot] {
      guard case .integer(let id) = overlay.values[slot], id < 0, overlay.changed.contains(slot),
        let destination = entity.slots[slot].relationship?.destination
      else { continue }
      if context.maps[destination.index].find(id)?.state != .inserted { release(object, slot) }
    }
  }

  private func check(
    _ objects: [ManagedObject], _ entity: EntityMapping, _ failures: inout [ValidationFailure]
  ) {
    let (stored, isRequired) = (entity.storedSlots, entity.isRequired)
    for object in objects {
      guard let overlay = object.overlay else { continue }
      for slot in stored {
        guard case .null = overlay.values[slot], overlay.changed.contains(slot) else { continue }
        if let error = overlay.refused?[slot] {
          fail(object, entity, slot, "cannot be stored: \(error)", &failures)
        } else if isRequired[slot] {
          fail(object, entity, slot, "is required", &failures)
        }
      }
      for slot in entity.checkedSlots where overlay.changed.contains(slot) && !overlay.values[slot].isNull {
        for rule in entity.slots[slot].checks where !rule.holds(overlay.values[slot]) {
          fail(object, entity, slot, rule.text, &failures)
        }
      }
    }
  }

  private func fail(
    _ object: ManagedObject, _ entity: EntityMapping, _ slot: Int, _ reason: String,
    _ failures: inout [ValidationFailure]
  ) {
    failures.append(
      ValidationFailure(
        entity: entity.name, property: entity.slots[slot].name, rowID: object.rowID, reason: reason))
    guard isPartial else { return }
    if object.state == .inserted {
      leftOut.insert(object)
    } else {
      heldBack[object, default: SlotSet()].insert(slot)
    }
  }

  /// SQLite's constraint messages name table and columns: `UNIQUE constraint failed: User.name, User.city`.
  /// - Parameter object: The object whose row was being written.
  func translated(_ message: String, _ code: Int, _ sql: String, _ object: ManagedObject?) -> any Error {
    // SQLITE_CONSTRAINT_UNIQUE and _PRIMARYKEY, _NOTNULL.
    let isUnique = code == 2067 || code == 1555
    guard isUnique || code == 1299, let (entity, columns) = brokenColumns(message) else {
      return SQLError.constraint(message: message, extendedCode: code, sql: sql)
    }
    let reason =
      isUnique
      ? "must be unique, and another \(entity.name) has the same value\(columns.count > 1 ? "s" : "")"
      : object == nil ? "is required, and what it leads to is deleted" : "is required"
    let error = StoreError.validation([
      ValidationFailure(
        entity: entity.name, property: columns.map(\.property).joined(separator: ", "),
        rowID: object?.rowID ?? 0, reason: reason)
    ])
    guard isUnique, object != nil else { return error }
    return UniqueCollision(error: error, columns: columns.map(\.column))
  }

  /// What a constraint's message is about, the columns quoted; nil when one of them is no property's: somebody else's
  /// trigger may write to a table of its own.
  private func brokenColumns(_ message: String) -> (EntityMapping, [(property: String, column: String)])? {
    let names = message.split(separator: ": ", maxSplits: 1).last?.split(separator: ", ").map {
      $0.split(separator: ".", maxSplits: 1).map(String.init)
    }
    guard let names, let table = names.first?.first, let entity = core.mapping.entity(named: table) else {
      return nil
    }
    let columns = names.compactMap { name -> (property: String, column: String)? in
      guard name.count == 2, name[0] == table else { return nil }
      let column = quoted(name[1])
      if name[1] == "id" { return ("id", column) }
      return entity.slots.first { $0.column == column }.map { ($0.name, column) }
    }
    return columns.count == names.count ? (entity, columns) : nil
  }
}
