// Whether a commit can matter to what was read.

internal import CipherSQLite

/// The tables and columns that a read has used, to be compared with commits.
struct ObservedRegion: Sendable {
  private var region: ReadRegion
  let mapping: SchemaMapping

  /// Creates the region of a read. Ignores tables outside the model: bookkeeping tables and lists of values.
  init(_ region: ReadRegion, mapping: SchemaMapping) {
    let tables = mapping.entities.map(\.root.name) + mapping.relationships.compactMap(\.join?.table.name)
    (self.region, self.mapping) = (region.limited(to: Set(tables)), mapping)
  }

  mutating func formUnion(_ other: ObservedRegion) { region.formUnion(other.region) }

  /// Whether only one table was read.
  var hasOneTable: Bool { region.columns.count <= 1 && !region.isUnknown }

  /// Whether a change may have changed what was read.
  func isTouched(by change: StoreChange) -> Bool {
    guard case .committed(let changes) = change, !region.isUnknown else { return true }
    return changes.inserted.contains { hasTable(of: $0.entity) }
      || changes.deleted.contains { hasTable(of: $0.entity) }
      || changes.updated.contains(where: isTouched(by:))
      || isTouchedByLinks(of: changes)
      || changes.changedBySQL.contains(where: hasTable(of:))
  }

  /// Whether a change concerns links, or tables other than the one of an entity.
  func isTouched(by changes: ChangeSet, beyond root: EntityMapping) -> Bool {
    if region.columns.keys.contains(where: { $0 != root.name }) {
      return isTouched(by: .committed(changes))
    }
    return region.isUnknown || isTouchedByLinks(of: changes)
      || changes.changedBySQL.contains(where: hasTable(of:))
  }

  private func isTouchedByLinks(of changes: ChangeSet) -> Bool {
    (changes.linked + changes.unlinked).contains { hasLinks(of: $0.relationship, in: $0.entity) }
      || changes.placed.contains { hasLinks(of: $0.relationship, in: $0.entity) }
  }

  /// Whether the table of an entity was read.
  func hasTable(of entity: String) -> Bool {
    guard let entity = mapping.entity(named: entity) else { return true }
    return region.columns[entity.root.name] != nil
  }

  private func isTouched(by update: ChangeSet.Update) -> Bool {
    guard let entity = mapping.entity(named: update.entity) else { return true }
    guard let columns = region.columns[entity.root.name] else { return false }
    return update.new.keys.contains { name in
      guard let slot = entity.slot(named: name), let column = entity.slots[slot].columnName else {
        return true
      }
      return columns.contains { SQLName($0) == column }
    }
  }

  /// Whether the links or the order of a relationship were read.
  private func hasLinks(of name: String, in entity: String) -> Bool {
    guard let entity = mapping.entity(named: entity), let slot = entity.slot(named: name),
      let relationship = entity.slots[slot].relationship
    else { return true }
    if let join = relationship.join { return region.columns[join.table.name] != nil }
    guard let order = relationship.order else { return true }
    return region.columns[relationship.destination.root.name]?.contains { SQLName($0) == order } == true
  }
}
