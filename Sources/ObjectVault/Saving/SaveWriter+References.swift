// Finds references to rows that another connection deleted.

internal import CipherSQLite

extension SaveWriter {
  /// Throws errors for references to rows that another connection deleted. At this point the referring
  /// objects can still be named; the commit would report only that there is such a reference.
  func checkReferences() throws {
    guard connection.hasUnresolvedReferences else { return }
    var failures: [ValidationFailure] = []
    for (entity, objects) in plan.inserted + plan.updated where entity.hasToOne {
      for object in objects {
        guard let overlay = plan.overlay(of: object) else { continue }
        for slot in entity.storedSlots where entity.isToOne[slot] && overlay.changed.contains(slot) {
          guard let relationship = entity.slots[slot].relationship,
            case .integer(let id) = plan.resolved(overlay[slot]),
            try isGone(relationship.destination, id)
          else { continue }
          failures.append(missing(relationship, of: object, id: id))
        }
      }
    }
    for planned in plan.links {
      let link = planned.link
      guard link.isAdded, link.source.state != .deleted, link.target.state != .deleted else { continue }
      guard let source = link.source.entity, let target = link.target.entity else { continue }
      let end = source.relationships.first { $0.join?.table.name == link.join.name }
      let other = target.relationships.first { $0.join?.table.name == link.join.name }
      if let end, try isGone(target, planned.target) {
        failures.append(missing(end, of: link.source, id: link.target.rowID))
      } else if let other, try isGone(source, planned.source) {
        failures.append(missing(other, of: link.target, id: link.source.rowID))
      } else if end != nil, try isGone(source, planned.source) {
        throw StoreError.objectGone(entity: source.name, rowID: link.source.rowID)
      }
    }
    guard failures.isEmpty else { throw StoreError.validation(failures) }
    throw SQLError.constraint(
      message: "a reference to a missing row", extendedCode: 787, sql: "COMMIT")
  }

  private func isGone(_ entity: EntityMapping, _ id: Int64) throws -> Bool {
    return try connection.value(sql: entity.existenceSQL, [.integer(id)]) == nil
  }

  private func missing(
    _ relationship: RelationshipMapping, of object: ManagedObject, id: Int64
  ) -> ValidationFailure {
    ValidationFailure(
      entity: object.entity?.name ?? relationship.owner.name, property: relationship.name,
      rowID: object.rowID,
      reason: "refers to \(relationship.destination.name) \(id), which another writer has deleted")
  }
}
