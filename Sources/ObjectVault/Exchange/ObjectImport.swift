// Applies decoded JSON objects to a context: finds the objects that exist, inserts the others, sets
// attributes and then relationships.

internal import CipherSQLite

/// One import.
struct ObjectImport {
  private let context: ObjectContext
  private let reading: JSONReading
  /// All JSON objects, each before those that it contains.
  private var all: [DecodedObject] = []
  /// The identities of the JSON objects; nil for those that have none.
  private var identities: [ObjectIdentifier: KeyValues] = [:]
  /// The objects by their identities: stored, pending, and inserted ones.
  private var known: [IdentityKey: [KeyValues: ManagedObject]] = [:]
  /// The objects of the JSON objects.
  private var made: [ObjectIdentifier: ManagedObject] = [:]
  /// The objects that were found, and their former values.
  private var found: [(object: ManagedObject, former: ObjectValues)] = []
  /// The objects that were found or inserted.
  private var seen: Set<ObjectIdentifier> = []
  private var report = ImportReport()

  /// Attributes that are the identity of objects, and the entity at whose table they are unique.
  private struct IdentityKey: Hashable {
    let owner: Int
    let slots: [Int]
    init(_ key: UniqueKey) { (owner, slots) = (key.owner.index, key.slots) }
  }

  init(_ context: ObjectContext, _ reading: JSONReading) { (self.context, self.reading) = (context, reading) }

  /// Applies the JSON objects.
  /// - Returns: The objects of the topmost level, and the report.
  mutating func run(_ roots: [DecodedObject]) throws -> (objects: [ManagedObject], report: ImportReport) {
    collect(roots)
    // Whatever can be refused is refused before anything changes.
    try findIdentities()
    try checkFound()
    try readMembers()
    for each in all { try setValues(of: each) }
    for each in all { try setRelationships(of: each) }
    for (object, former) in found {
      if former.differ(from: object, in: context) { report.updated += 1 } else { report.unchanged += 1 }
    }
    report.inserted = seen.count - found.count
    report.unknownKeys = reading.unknownKeys
    return (roots.compactMap { made[ObjectIdentifier($0)] }, report)
  }

  private mutating func collect(_ roots: [DecodedObject]) {
    // Not recursive: JSON may be deep.
    var open: [DecodedObject] = roots.reversed()
    while let next = open.popLast() {
      all.append(next)
      for case .object(let object) in next.others.reversed() { open.append(object) }
    }
  }

  // MARK: Identities

  /// Finds the stored and pending objects with the identities in the JSON.
  /// - Throws: ``StoreError/jsonRefused(place:reason:)`` for an identity that neither an object of the store
  ///   nor one of the JSON has.
  private mutating func findIdentities() throws {
    var wanted: [IdentityKey: (key: UniqueKey, values: Set<KeyValues>, new: Set<KeyValues>)] = [:]
    var references: [(values: KeyValues, key: UniqueKey, place: String)] = []
    func want(_ values: KeyValues, _ key: UniqueKey) throws {
      let place = IdentityKey(key)
      if wanted[place] == nil { wanted[place] = (try UniqueKey(key.names, of: key.owner), [], []) }
      wanted[place]?.values.insert(values)
    }
    for each in all {
      if let key = try reading.identity(of: each.entity),
        let stored = each.values.last(where: { $0.slot == key.slots[0] }),
        let values = KeyValues([stored.value], of: key)
      {
        identities[ObjectIdentifier(each)] = values
        try want(values, key)
        wanted[IdentityKey(key)]?.new.insert(values)
      }
      for case .identity(let value, let entity, let place) in each.others {
        guard let key = try reading.identity(of: entity), let values = KeyValues([value], of: key) else {
          continue
        }
        try want(values, key)
        references.append((values, key, place))
      }
    }
    for (place, entry) in wanted { known[place] = try objects(with: entry.values, entry.key) }
    for (values, key, place) in references
    where known[IdentityKey(key)]?[values] == nil && wanted[IdentityKey(key)]?.new.contains(values) != true {
      throw StoreError.jsonRefused(
        place: place,
        reason: "no \(key.entity.name) has this \(key.names[0]), neither in the store nor in the JSON")
    }
  }

  /// Checks that the objects that were found can be changed, and that all have the entities that the JSON
  /// needs.
  private func checkFound() throws {
    if let refusal = context.refusal { throw refusal }
    // The entities of the objects that will be inserted.
    var new: [IdentityKey: [KeyValues: EntityMapping]] = [:]
    func check(_ values: KeyValues, _ key: UniqueKey, place: String, changes: Bool) throws {
      let identity = IdentityKey(key)
      if let object = known[identity]?[values] {
        _ = try KeyLookup(key, in: context).checked(object)
        if changes { try object.requireChangeable(key.names[0]) }
      } else if let entity = new[identity]?[values] {
        guard !key.entity.includes(entity) else { return }
        throw StoreError.jsonRefused(
          place: place,
          reason:
            "an object of \(key.entity.name) is needed, and the JSON inserts one of \(entity.name) with this "
            + "\(key.names[0])")
      } else {
        new[identity, default: [:]][values] = key.entity
      }
    }
    for each in all {
      guard let values = identities[ObjectIdentifier(each)], let key = try reading.identity(of: each.entity)
      else {
        continue
      }
      try check(values, key, place: each.place, changes: true)
    }
    for each in all {
      for case .identity(let value, let entity, let place) in each.others {
        guard let key = try reading.identity(of: entity), let values = KeyValues([value], of: key) else {
          continue
        }
        try check(values, key, place: place, changes: false)
      }
    }
  }

  private func objects(with all: Set<KeyValues>, _ key: UniqueKey) throws -> [KeyValues: ManagedObject] {
    let lookup = KeyLookup(key, in: context)
    var found: [KeyValues: ManagedObject] = [:]
    for block in Array(all).chunked(500) {
      let stored = try lookup.stored(Array(block))
      for values in block {
        if let object = stored[values], lookup.has(object, values) {
          found[values] = object
        } else if let object = try lookup.pendingObject(values) {
          found[values] = object
        }
      }
    }
    return found
  }

  /// Reads the members that the JSON replaces, with one query for each relationship.
  private func readMembers() throws {
    var owners: [ObjectIdentifier: (relationship: RelationshipMapping, objects: [ManagedObject])] = [:]
    for each in all {
      guard let values = identities[ObjectIdentifier(each)], let key = try reading.identity(of: each.entity),
        let object = known[IdentityKey(key)]?[values]
      else { continue }
      for (slot, _) in each.members {
        guard let relationship = each.entity.slots[slot].relationship else { continue }
        owners[ObjectIdentifier(relationship), default: (relationship, [])].objects.append(object)
      }
    }
    for (relationship, objects) in owners.values {
      try context.prefetch(relationship, of: objects)
      // A read that fails is thrown here, before anything changes.
      for object in objects { try object.loadMembers(relationship.slot) }
    }
  }

  // MARK: Objects

  private mutating func setValues(of each: DecodedObject) throws {
    if let refusal = context.refusal { throw refusal }
    let values = identities[ObjectIdentifier(each)]
    let key = values == nil ? nil : try reading.identity(of: each.entity)
    let object: ManagedObject
    if let values, let key, let present = known[IdentityKey(key)]?[values] {
      object = present
      if seen.insert(ObjectIdentifier(object)).inserted {
        found.append((object, ObjectValues(object, in: context)))
      }
      for (slot, value) in each.values { object.setStored(value, slot) }
    } else {
      object = try context.insert(each.entity) { object in
        for (slot, value) in each.values { object.setStored(value, slot) }
      }
      seen.insert(ObjectIdentifier(object))
      if let values, let key { known[IdentityKey(key), default: [:]][values] = object }
    }
    made[ObjectIdentifier(each)] = object
  }

  private mutating func setRelationships(of each: DecodedObject) throws {
    guard let object = made[ObjectIdentifier(each)] else { return }
    for (slot, target) in each.targets {
      guard let relationship = each.entity.slots[slot].relationship else { continue }
      if relationship.isLookedUp { try object.loadMembers(slot) }
      let new = try self.object(of: target)
      if relationship.inverseIsLookedUp, let inverse = relationship.inverseSlot {
        try new?.loadMembers(inverse)
      }
      object.writeToOne(new, UInt16(slot))
    }
    for (slot, members) in each.members {
      guard let relationship = each.entity.slots[slot].relationship else { continue }
      try object.loadMembers(slot)
      let new = try members.compactMap { try self.object(of: $0) }
      if relationship.isOrdered {
        object.writeToMany(new, UInt16(slot))
      } else {
        object.writeToMany(Set(new), UInt16(slot))
      }
    }
  }

  private func object(of target: DecodedTarget) throws -> ManagedObject? {
    switch target {
    case .none: return nil
    case .object(let object): return made[ObjectIdentifier(object)]
    case .identity(let value, let entity, _):
      guard let key = try reading.identity(of: entity), let values = KeyValues([value], of: key) else {
        return nil
      }
      return known[IdentityKey(key)]?[values]
    }
  }
}
