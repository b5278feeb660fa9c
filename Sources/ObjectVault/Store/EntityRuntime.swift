// A schema made ready to run: slots, column lists and relationship ends, resolved once per store.

internal import CipherSQLite

// Safe to share: set up by SchemaRuntime before anyone else has it, never changed afterwards.
/// An entity with its Swift class and its SQL.
final class EntityRuntime: @unchecked Sendable {
  let index: Int
  let description: EntityDescription
  let type: ManagedObject.Type
  let table: String
  fileprivate(set) var slots: [SlotRuntime] = []
  /// The slots that have a column: attributes and to-ones, in the order of the column list.
  fileprivate(set) var storedSlots: [Int] = []
  /// By slot: whether it is a to-one, whose value may be a temporary id.
  fileprivate(set) var isToOne: [Bool] = []
  fileprivate(set) var hasToOne = false
  /// By slot: whether nil is refused.
  fileprivate(set) var isRequired: [Bool] = []
  fileprivate(set) var slotsWithInitialValue: [Int] = []
  fileprivate(set) var allStored = SlotSet()
  /// The slots with rules of their own.
  fileprivate(set) var checkedSlots: [Int] = []
  /// To-ones of any entity that lead here and have no inverse: nobody but us sets them to nil on deletion.
  fileprivate(set) var danglingReferrers: [RelationshipRuntime] = []
  /// Whether objects may be members of a many-to-many, and so stand in sets that they do not know.
  fileprivate(set) var isInJoins = false
  /// The slots whose values together are unique, one array for each index.
  fileprivate(set) var uniqueKeys: [[Int]] = []
  fileprivate(set) var insertSQL = ""
  /// `id`, the version and all stored columns of the table, which is called `t0`.
  fileprivate(set) var objectColumns = ""
  let plans = FetchPlans()

  var name: String { description.name }

  fileprivate init(index: Int, description: EntityDescription, type: ManagedObject.Type) {
    self.index = index
    self.description = description
    self.type = type
    table = quoted(description.name)
  }

  func slot(named name: String) -> Int? { slots.firstIndex { $0.name == name } }

  /// What a new object holds: the defaults, computed now.
  func initialOverlay(_ run: CancellableRun?) -> Overlay {
    let overlay = Overlay(slotCount: slots.count, changed: allStored, run: run)
    for slot in slotsWithInitialValue {
      if let make = slots[slot].initialValue, let value = try? make() { overlay.values[slot] = value }
    }
    return overlay
  }
}

/// A property with what the store needs of it.
struct SlotRuntime {
  let name: String
  /// The quoted column; empty for a to-many.
  let column: String
  let attribute: AttributeDescription?
  let initialValue: (() throws -> SQLValue)?
  let checks: [CheckRule]
  let relationship: RelationshipRuntime?
}

// Safe to share: as EntityRuntime.
/// One end of a relationship.
final class RelationshipRuntime: @unchecked Sendable {
  let name: String
  let slot: Int
  let isToMany: Bool
  let isRequired: Bool
  let deleteRule: DeleteRule
  unowned let owner: EntityRuntime
  unowned let destination: EntityRuntime
  let inverseSlot: Int?
  let inverseIsToMany: Bool
  /// The join table of a many-to-many, and whether this end is its source.
  let join: (table: JoinTable, isSource: Bool)?

  fileprivate init(
    _ relationship: RelationshipDescription, slot: Int, owner: EntityRuntime, destination: EntityRuntime,
    inverse: (slot: Int, isToMany: Bool)?, join: (JoinTable, Bool)?
  ) {
    name = relationship.name
    self.slot = slot
    isToMany = relationship.isToMany
    isRequired = relationship.isRequired
    deleteRule = relationship.deleteRule
    self.owner = owner
    self.destination = destination
    inverseSlot = inverse?.slot
    inverseIsToMany = inverse?.isToMany ?? true
    self.join = join.map { ($0.0, $0.1) }
  }

  /// The quoted column of a to-one.
  var column: String { quoted("\(name)_id") }
  /// The quoted column at the other end of a one-to-many.
  var inverseColumn: String? { inverseSlot.map { destination.slots[$0].column } }
}

// Safe to share: as EntityRuntime.
/// All entities of a store.
final class SchemaRuntime: @unchecked Sendable {
  let schema: Schema
  let entities: [EntityRuntime]
  private let byType: [ObjectIdentifier: EntityRuntime]
  private let byName: [String: EntityRuntime]

  /// - Throws: ``StoreError/invalidSchema(_:)``, ``StoreError/entityWithoutClass(entity:)``.
  init(_ schema: Schema) throws {
    try schema.validate()
    self.schema = schema
    entities = try schema.entities.enumerated().map { index, description in
      guard let binding = schema.bindings[description.name] else {
        throw StoreError.entityWithoutClass(entity: description.name)
      }
      return EntityRuntime(index: index, description: description, type: binding.description.type)
    }
    byType = Dictionary(uniqueKeysWithValues: entities.map { (ObjectIdentifier($0.type), $0) })
    byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    for entity in entities { connect(entity) }
    for entity in entities {
      let referrers = entity.slots.compactMap(\.relationship).filter { !$0.isToMany && $0.inverseSlot == nil }
      for relationship in referrers { relationship.destination.danglingReferrers.append(relationship) }
      for relationship in entity.slots.compactMap(\.relationship) where relationship.join != nil {
        relationship.destination.isInJoins = true
      }
    }
  }

  /// Compares values with what the Swift types can read.
  var typeCheck: TypeCheck {
    var check = TypeCheck(model: schema)
    for entity in entities {
      for property in schema.bindings[entity.name]?.description.properties ?? [] {
        check.readers["\(entity.name).\(property.name)"] = property.reader
      }
    }
    return check
  }

  func entity(of type: ManagedObject.Type) -> EntityRuntime? { byType[ObjectIdentifier(type)] }
  func entity(named name: String) -> EntityRuntime? { byName[name] }

  private func connect(_ entity: EntityRuntime) {
    guard let binding = schema.bindings[entity.name] else { return }
    for property in binding.description.properties.sorted(by: { $0.slot < $1.slot }) {
      entity.slots.append(slot(of: property, in: entity, binding))
    }
    entity.storedSlots = entity.slots.indices.filter { !entity.slots[$0].column.isEmpty }
    entity.isToOne = entity.slots.map { $0.relationship?.isToMany == false }
    entity.hasToOne = entity.isToOne.contains(true)
    entity.isRequired = entity.slots.map {
      $0.attribute.map { !$0.isOptional } ?? $0.relationship?.isRequired ?? false
    }
    entity.slotsWithInitialValue = entity.storedSlots.filter { entity.slots[$0].initialValue != nil }
    for slot in entity.storedSlots { entity.allStored.insert(slot) }
    entity.checkedSlots = entity.slots.indices.filter { !entity.slots[$0].checks.isEmpty }
    entity.uniqueKeys =
      entity.description.attributes.filter(\.isUnique).compactMap { entity.slot(named: $0.name).map { [$0] } }
      + entity.description.indexes.filter(\.isUnique).map { $0.properties.compactMap(entity.slot(named:)) }
    entity.objectColumns = "t0.\"id\", t0.\"_version\""
    for slot in entity.storedSlots { entity.objectColumns += ", t0." + entity.slots[slot].column }
    let columns = entity.storedSlots.map { entity.slots[$0].column }
    let marks = [String](repeating: "?", count: columns.count + 1).joined(separator: ", ")
    entity.insertSQL =
      "INSERT INTO \(entity.table) (\((["\"id\""] + columns).joined(separator: ", "))) VALUES (\(marks))"
  }

  private func slot(of property: PropertyDeclaration, in entity: EntityRuntime, _ binding: ClassBinding)
    -> SlotRuntime
  {
    switch property.kind {
    case .attribute(_, _, let initial, _, _):
      return SlotRuntime(
        name: property.name, column: quoted(property.name),
        attribute: entity.description.attribute(named: property.name), initialValue: initial,
        checks: binding.checks[property.name] ?? [], relationship: nil)
    case .relationship:
      let relationship = entity.description.relationship(named: property.name)
      return SlotRuntime(
        name: property.name, column: relationship?.isToMany == false ? quoted("\(property.name)_id") : "",
        attribute: nil, initialValue: nil, checks: [],
        relationship: relationship.flatMap { end($0, slot: property.slot, of: entity) })
    }
  }

  private func end(
    _ relationship: RelationshipDescription, slot: Int, of entity: EntityRuntime
  ) -> RelationshipRuntime? {
    guard let destination = byName[relationship.destination] else { return nil }
    let inverse = relationship.inverse.flatMap { name -> (slot: Int, isToMany: Bool)? in
      guard
        let back = schema.bindings[destination.name]?.description.properties.first(where: { $0.name == name }
        ),
        let description = destination.description.relationship(named: name)
      else { return nil }
      return (back.slot, description.isToMany)
    }
    return RelationshipRuntime(
      relationship, slot: slot, owner: entity, destination: destination, inverse: inverse,
      join: schema.joinTable(of: relationship, in: entity.description))
  }
}
