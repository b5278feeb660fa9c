// Looks up the entities and properties that a change set names, and makes the error for changes that do
// not fit.

internal import CipherSQLite

struct ChangeNames {
  let mapping: SchemaMapping

  func entity(_ name: String) throws(StoreError) -> EntityMapping {
    guard let entity = mapping.entity(named: name) else { throw .unknownEntity(name: name) }
    return entity
  }

  /// Returns the slots of the named values, sorted by name.
  func slots(of entity: EntityMapping, rowID: Int64, values: ChangeSet.Values) throws(StoreError)
    -> [(slot: Int, name: String, value: SQLValue)]
  {
    var slots: [(slot: Int, name: String, value: SQLValue)] = []
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      guard let slot = entity.slot(named: name), entity.slots[slot].columnName != nil else {
        throw misfit(entity.name, rowID: rowID, properties: [name])
      }
      slots.append((slot, name, value))
    }
    return slots
  }

  /// Returns the entity and the many-to-many relationship that a link names.
  func end(of link: ChangeSet.Link) throws(StoreError) -> (EntityMapping, RelationshipMapping) {
    let entity = try entity(link.entity)
    guard let slot = entity.slot(named: link.relationship),
      let relationship = entity.slots[slot].relationship,
      relationship.join != nil
    else { throw misfit(link.entity, rowID: link.source, properties: [link.relationship]) }
    return (entity, relationship)
  }

  /// Returns the ordered relationship of a placement.
  func relationship(of placement: ChangeSet.Placement) throws(StoreError) -> RelationshipMapping {
    let entity = try entity(placement.entity)
    guard let slot = entity.slot(named: placement.relationship),
      let relationship = entity.slots[slot].relationship, relationship.isOrdered
    else { throw misfit(placement.entity, rowID: placement.owner, properties: [placement.relationship]) }
    return relationship
  }

  func misfit(_ entity: String, rowID: Int64, properties: [String]) -> StoreError {
    .changesDoNotFit(entity: entity, rowID: rowID, properties: properties)
  }
}
