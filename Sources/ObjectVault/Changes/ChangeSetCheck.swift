// Checks whether a change set fits a store, before anything is written. ChangeWriter reports, while it
// writes, what only the engine can detect, such as unique values that are taken.

internal import CipherSQLite

/// Checks one change set against one file.
struct ChangeSetCheck {
  /// The change that the set makes to a row.
  private enum PlannedChange {
    case inserted(ChangeSet.Values)
    case updated(ChangeSet.Update)
    case deleted
  }

  private let names: ChangeNames
  private let connection: Connection
  private let changes: ChangeSet
  /// The changes by id, for each root entity by its index: ids are unique within an inheritance
  /// hierarchy.
  private var plannedChanges: [[Int64: (entity: EntityMapping, plannedChange: PlannedChange)]]
  /// For each entity, by its index: the ids that a look-up has found in the file.
  private var storeState: [Set<Int64>]

  /// Collects the rows of the set.
  /// - Throws: ``StoreError/changesDoNotFit(entity:rowID:properties:)`` for an object that is in the set
  ///   twice; ``StoreError/unknownEntity(name:)``.
  init(_ changes: ChangeSet, names: ChangeNames, on connection: Connection) throws(StoreError) {
    (self.changes, self.names, self.connection) = (changes, names, connection)
    plannedChanges = Array(repeating: [:], count: names.mapping.entities.count)
    storeState = Array(repeating: [], count: names.mapping.entities.count)
    for row in changes.inserted { try note(row.entity, rowID: row.rowID, as: .inserted(row.values)) }
    for row in changes.updated { try note(row.entity, rowID: row.rowID, as: .updated(row)) }
    for row in changes.deleted { try note(row.entity, rowID: row.rowID, as: .deleted) }
  }

  private mutating func note(_ entity: String, rowID: Int64, as plannedChange: PlannedChange)
    throws(StoreError)
  {
    let mapping = try names.entity(entity)
    guard plannedChanges[mapping.root.index].updateValue((mapping, plannedChange), forKey: rowID) == nil
    else {
      throw names.misfit(entity, rowID: rowID, properties: [])
    }
  }

  /// Returns the change that the set makes to a row of an entity or of one of its subentities; nil if
  /// there is none.
  private func plannedChange(_ rowID: Int64, _ entity: EntityMapping) -> PlannedChange? {
    guard let (own, plannedChange) = plannedChanges[entity.root.index][rowID], entity.includes(own) else {
      return nil
    }
    return plannedChange
  }

  /// Compares the old rows and values with the file, and checks that all new references will have a
  /// target.
  /// - Throws: ``StoreError/changesDoNotFit(entity:rowID:properties:)``,
  ///   ``StoreError/unknownEntity(name:)``.
  mutating func check() throws {
    for row in changes.inserted { try check(row) }
    for row in changes.updated { try check(row) }
    for row in changes.deleted {
      let entity = try names.entity(row.entity)
      let nils = entity.storedSlots.map { (entity.slots[$0].name, SQLValue.null) }
      try compare(entity, rowID: row.rowID, with: row.values.merging(nils) { value, _ in value })
    }
    for link in changes.linked { try check(link) }
    for placement in changes.placed { try check(placement) }
  }

  // MARK: Rows

  private mutating func check(_ row: ChangeSet.Row) throws {
    let entity = try names.entity(row.entity)
    // An id near the highest number would leave no ids for new objects.
    guard (1...RowIDs.highest).contains(row.rowID), try !isStored(entity.root, row.rowID) else {
      throw names.misfit(row.entity, rowID: row.rowID, properties: [])
    }
    let missing = entity.storedSlots.filter {
      entity.isRequired[$0] && row.values[entity.slots[$0].name] == nil
    }
    guard missing.isEmpty else {
      throw names.misfit(
        row.entity, rowID: row.rowID, properties: missing.map { entity.slots[$0].name }.sorted())
    }
    try checkValues(of: entity, rowID: row.rowID, values: row.values)
  }

  private mutating func check(_ row: ChangeSet.Update) throws {
    let entity = try names.entity(row.entity)
    let lone = Set(row.old.keys).symmetricDifference(row.new.keys)
    guard lone.isEmpty else { throw names.misfit(row.entity, rowID: row.rowID, properties: lone.sorted()) }
    try compare(entity, rowID: row.rowID, with: row.old)
    try checkValues(of: entity, rowID: row.rowID, values: row.new)
  }

  /// Checks that a row in the file has the given values.
  private func compare(_ entity: EntityMapping, rowID: Int64, with values: ChangeSet.Values) throws {
    let slots = try names.slots(of: entity, rowID: rowID, values: values)
    let found = try connection.query(
      sql: entity.valuesSQL(slots.map(\.slot), isBranch: false), [.integer(rowID)]
    ) { row in slots.indices.map { row.value($0) } }.first
    guard let found else { throw names.misfit(entity.name, rowID: rowID, properties: []) }
    let others = zip(slots, found).filter { !$0.value.isStored(as: $1) }.map(\.0.name)
    guard others.isEmpty else { throw names.misfit(entity.name, rowID: rowID, properties: others) }
  }

  // MARK: Values

  /// Checks that each property can hold its new value. A value of another type could not be read once
  /// stored, and no comparison would find it.
  private mutating func checkValues(
    of entity: EntityMapping, rowID: Int64, values: ChangeSet.Values
  ) throws {
    for (slot, name, value) in try names.slots(of: entity, rowID: rowID, values: values) {
      let fits =
        if value.isNull {
          !entity.isRequired[slot]
        } else if let attribute = entity.slots[slot].attribute {
          (try? attribute.type.stored(value))?.isStored(as: value) == true
        } else if let relationship = entity.slots[slot].relationship, case .integer(let id) = value {
          try willExist(relationship.destination, id)
        } else {
          false
        }
      guard fits else {
        throw names.misfit(entity.name, rowID: rowID, properties: [name])
      }
    }
  }

  // MARK: References

  private mutating func check(_ link: ChangeSet.Link) throws {
    let (entity, relationship) = try names.end(of: link)
    guard try willExist(entity, link.source), try willExist(relationship.destination, link.target) else {
      throw names.misfit(link.entity, rowID: link.source, properties: [link.relationship])
    }
  }

  /// Checks that the member has the old place of the placement in the file. ChangeWriter checks that the
  /// object is a member after the changes.
  private func check(_ placement: ChangeSet.Placement) throws {
    let relationship = try names.relationship(of: placement)
    let found = try connection.value(
      sql: relationship.placeValueSQL, [.integer(placement.member), .integer(placement.owner)])?.int64
    guard found == placement.old else {
      throw names.misfit(placement.entity, rowID: placement.owner, properties: [placement.relationship])
    }
  }

  /// Returns whether a row will exist after the changes.
  private mutating func willExist(_ entity: EntityMapping, _ rowID: Int64) throws -> Bool {
    switch plannedChange(rowID, entity) {
    case .inserted: return true
    case .deleted: return false
    case .updated, nil: break
    }
    if storeState[entity.index].contains(rowID) { return true }
    guard try isStored(entity, rowID) else { return false }
    storeState[entity.index].insert(rowID)
    return true
  }

  private func isStored(_ entity: EntityMapping, _ rowID: Int64) throws -> Bool {
    try connection.value(sql: entity.existenceSQL, [.integer(rowID)]) != nil
  }
}
