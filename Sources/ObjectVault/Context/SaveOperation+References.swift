// References: those that a deleted object had last, and those that lead to rows which somebody else deleted.

internal import CipherSQLite

extension SaveOperation {
  /// A deleted object's last references are written too: what its delete rules reach follows from them.
  func writeLastReferences() throws {
    for object in context.deleted {
      guard let entity = object.entity, entity.hasToOne, let overlay = object.overlay else { continue }
      for slot in entity.storedSlots where entity.isToOne[slot] && overlay.changed.contains(slot) {
        let value = resolved(overlay.values[slot])
        // A new target that goes too gets no row; who was referred to before it is not reached all the same.
        let isRow = if case .integer(let id) = value { id > 0 } else { false }
        guard isRow || !entity.isRequired[slot] else { continue }
        try connection.execute(
          sql: entity.overwriteSQL([slot]), [isRow ? value : .null, .integer(object.rowID)])
      }
    }
  }

  /// Finds references to rows that somebody else deleted, while the object can still be named: the commit would
  /// only say that there is one.
  ///
  /// What a flush leaves out counts as being there: its row comes with the save.
  func checkReferences() throws {
    guard connection.hasUnresolvedReferences else { return }
    var failures: [ValidationFailure] = []
    for (entity, objects) in inserted + updated where entity.hasToOne {
      for object in objects {
        guard let overlay = object.overlay else { continue }
        for slot in entity.storedSlots where entity.isToOne[slot] && overlay.changed.contains(slot) {
          guard let relationship = entity.slots[slot].relationship,
            case .integer(let id) = resolved(overlay.values[slot]),
            try isGone(relationship.destination, id)
          else { continue }
          failures.append(missing(relationship, object, id))
        }
      }
    }
    for (key, link) in context.links
    where link.isAdded && link.isLive && link.source.state != .deleted && link.target.state != .deleted {
      guard let source = link.source.entity, let target = link.target.entity else { continue }
      let end = source.slots.compactMap(\.relationship).first { $0.join?.table.name == key.table }
      let other = target.slots.compactMap(\.relationship).first { $0.join?.table.name == key.table }
      if let end, try isGone(target, finalID(link.target.rowID)) {
        failures.append(missing(end, link.source, link.target.rowID))
      } else if let other, try isGone(source, finalID(link.source.rowID)) {
        failures.append(missing(other, link.target, link.source.rowID))
      } else if let end, try isGone(source, finalID(link.source.rowID)) {
        throw StoreError.objectGone(entity: end.owner.name, rowID: link.source.rowID)
      }
    }
    guard failures.isEmpty else { throw StoreError.validation(failures) }
    guard !isPartial else { return }
    throw SQLError.constraint(
      message: "a reference leads to a row that is gone", extendedCode: 787, sql: "COMMIT")
  }

  private func isGone(_ entity: EntityMapping, _ id: Int64) throws -> Bool {
    if isPartial {
      // Also one that is to be deleted, as long as its deletion waits.
      if context.maps[entity.index].find(id)?.isUnwritten == true { return false }
      if leftOut.contains(where: { $0.entity === entity && finalID($0.rowID) == id }) { return false }
    }
    return try connection.value(sql: entity.existenceSQL, [.integer(id)]) == nil
  }

  private func missing(
    _ relationship: RelationshipMapping, _ object: ManagedObject, _ id: Int64
  ) -> ValidationFailure {
    ValidationFailure(
      entity: relationship.owner.name, property: relationship.name, rowID: object.rowID,
      reason: "leads to \(relationship.destination.name) \(id), which somebody else deleted")
  }
}
