// The numbers of the entities and properties of an open store, by which a save names them in the history.

internal import CipherSQLite

// Safe to share: never changed after it was made.
/// The numbers of one mapping.
final class HistoryNumbers: Sendable {
  /// What is recorded of each entity, by its index; nil for an entity without a history.
  let details: [HistoryDetail?]
  /// The numbers of the entities, by their indexes.
  private let entities: [UInt64]
  /// The numbers of the properties, by the entity's index and the slot; 0 for those without a number.
  private let slots: [[UInt64]]
  /// The numbers of the relationships of join tables, by the table; nil if neither end has a history.
  private let links: [String: UInt64]

  /// Reads the numbers.
  /// - Throws: ``StoreError/bookkeepingDamaged(file:place:reason:)`` if one is missing.
  init(_ mapping: SchemaMapping, _ connection: Connection) throws {
    let names = try RecordedNames(connection)?.numbers ?? [:]
    func damage(_ name: String) -> StoreError {
      .bookkeepingDamaged(
        file: connection.path, place: RecordedNamesTable.name, reason: "has no number for \(name)")
    }
    details = mapping.entities.map(\.description.history)
    var (entities, slots): ([UInt64], [[UInt64]]) = ([], [])
    for entity in mapping.entities {
      guard let numbers = names[entity.name], numbers.entity > 0 else { throw damage(entity.name) }
      entities.append(numbers.entity)
      slots.append(entity.slots.map { numbers.properties[$0.name] ?? 0 })
      guard entity.description.history != nil else { continue }
      for slot in entity.storedSlots where slots[entity.index][slot] == 0 {
        throw damage("\(entity.name).\(entity.slots[slot].name)")
      }
    }
    (self.entities, self.slots) = (entities, slots)
    var links: [String: UInt64] = [:]
    for relationship in mapping.relationships {
      guard let (table, isSource) = relationship.join, isSource,
        [relationship.owner, relationship.destination].contains(where: { end in
          end.branch.contains { $0.description.history != nil }
        })
      else { continue }
      let number = slots[relationship.owner.index][relationship.slot]
      guard number > 0 else { throw damage("\(relationship.owner.name).\(relationship.name)") }
      links[table.name] = number
    }
    self.links = links
  }

  func detail(_ entity: EntityMapping) -> HistoryDetail? { details[entity.index] }
  func number(_ entity: EntityMapping) -> UInt64 { entities[entity.index] }
  func number(_ entity: EntityMapping, slot: Int) -> UInt64 { slots[entity.index][slot] }
  func number(of table: JoinTable) -> UInt64? { links[table.name] }

  /// Returns the number of an ordered relationship; nil if neither its owner nor its members have a history.
  func number(of relationship: RelationshipMapping) -> UInt64? {
    let ends = relationship.owner.branch + relationship.destination.branch
    guard ends.contains(where: { details[$0.index] != nil }) else { return nil }
    let number = slots[relationship.owner.index][relationship.slot]
    return number > 0 ? number : nil
  }
}
