// Finds objects by the values of a unique key, in the file and among the pending objects of a context. The
// result is that of a fetch with an equality for each attribute.

internal import CipherSQLite

// A class: an upsert calls it for each row, and would copy its parts each time.
/// Finds the objects of a context by one unique key.
final class KeyLookup {
  let context: ObjectContext
  let key: UniqueKey
  private let slots: [Int]
  private let rowsSQL: String
  /// The rows that pending deletions delete through cascades; nil if there are none.
  private var deletion: PlannedDeletion?

  init(_ key: UniqueKey, in context: ObjectContext) {
    (self.context, self.key, slots) = (context, key, Array(key.slots.indices))
    rowsSQL = key.owner.keyRowsSQL(key.slots)
  }

  /// Returns the object that has a key: a pending one, or one from the file.
  /// - Throws: ``StoreError/keyTaken(entity:properties:holder:rowID:)`` if it is of another entity of the
  ///   hierarchy; ``SQLError``.
  func one(_ values: KeyValues) throws -> ManagedObject? {
    try inOneSnapshot {
      if let found = try pendingObject(values) { return found }
      let rows = try context.scan(key.owner).objects(.stepped(rowsSQL), values.stored)
      return try rows.first { has($0, values) }.map(checked)
    }
  }

  /// Returns the objects whose rows have one of the keys, by one query. Pending objects that have one of
  /// them only in memory are not included.
  func stored(_ keys: [KeyValues]) throws -> [KeyValues: ManagedObject] {
    try inOneSnapshot {
      let feed = RowFeed(slots: slots, capacity: keys.count)
      var page = RowPage(capacity: 4096)
      let drafts = keys.map { values in
        let needed = RowDraft.fixedBytes(slots.count)
        if !page.hasRoom(needed) { page = RowPage(capacity: 65_536) }
        let draft = Overlay(slotCount: slots.count, in: page)
        for (slot, value) in values.stored.enumerated() { draft[slot] = value }
        return draft
      }
      for (number, draft) in drafts.enumerated() { feed.append(Int64(number), draft.values) }
      let rows = try withExtendedLifetime(drafts) {
        try context.scan(key.owner).rows(with: feed, in: key.slots)
      }
      var found: [KeyValues: ManagedObject] = [:]
      for (object, number) in zip(rows.objects, rows.keys) where has(object, keys[Int(number)]) {
        found[keys[Int(number)]] = object
      }
      return found
    }
  }

  /// Returns the pending object that has a key. No query runs.
  /// - Throws: ``StoreError/keyTaken(entity:properties:holder:rowID:)``.
  func pendingObject(_ values: KeyValues) throws -> ManagedObject? {
    guard context.pending.mayBeLive else { return nil }
    let index = context.index
    index.update(context.pending)
    let owner = key.owner
    var (name, value) = (key.names[0], values.stored[0])
    if key.slots.count > 1 {
      // The attribute with the fewest pending objects to compare.
      let counts = key.slots.indices.map {
        index.count(of: owner, where: key.names[$0], isOneOf: [values.stored[$0]])
      }
      let least = counts.indices.min { counts[$0] < counts[$1] } ?? 0
      (name, value) = (key.names[least], values.stored[least])
    }
    return try index.objects(of: owner, where: name, isOneOf: [value]).first { has($0, values) }
      .map(checked)
  }

  /// Returns whether an object that was found before still has a key, and will exist after the next save.
  func has(_ object: ManagedObject, _ values: KeyValues) -> Bool {
    switch object.state {
    case .inserted, .loaded, .fault: break
    case .deleted, .invalid, .detached: return false
    }
    if let deletion, !deletion.leaves(object) { return false }
    // Without pending changes it has the values of the row that was just read. A fault was merged meanwhile.
    guard object.state == .inserted || object.overlay != nil else { return object.state == .loaded }
    return KeyValues(key.slots.map { object.storedValue($0) ?? .null }, of: key) == values
  }

  /// Returns an object that has a key.
  /// - Throws: ``StoreError/keyTaken(entity:properties:holder:rowID:)`` if it is not of the key's entity.
  func checked(_ object: ManagedObject) throws -> ManagedObject {
    guard key.entity.includes(object.entity) else {
      throw StoreError.keyTaken(
        entity: key.entity.name, properties: key.names, holder: object.entity?.name ?? key.owner.name,
        rowID: object.visibleRowID)
    }
    return object
  }

  private func inOneSnapshot<Result>(_ body: () throws -> Result) throws -> Result {
    guard context.pending.mayBeLive else {
      deletion = nil
      return try body()
    }
    return try context.withSnapshot {
      deletion = try plannedDeletion()
      return try body()
    }
  }

  /// Returns the rows that pending deletions delete; nil if no cascade deletes objects that have the key.
  private func plannedDeletion() throws -> PlannedDeletion? {
    guard !context.pending.deleted.isEmpty,
      !context.entitiesInCascades.isDisjoint(with: key.owner.branch.map(\.index))
    else { return nil }
    context.index.update(context.pending)
    var deletion = PlannedDeletion(entityCount: context.maps.count)
    var related = RelatedRows(
      context.pending, maps: context.maps, reader: ContextReader(context: context), index: context.index)
    try related.followCascades(of: context.pending.deletedIDs(), in: context.core.mapping, into: &deletion)
    return deletion
  }
}

extension UniqueKey {
  /// Returns the values of a key.
  /// - Parameter row: The position of the row that has them; nil where there are no rows.
  /// - Throws: ``StoreError/keyRefused(entity:property:row:reason:)``.
  func values(_ parts: [KeyPart], row: Int?) throws(StoreError) -> KeyValues {
    var stored: [SQLValue] = []
    guard parts.count == names.count else {
      throw .keyRefused(
        entity: entity.name, property: names.joined(separator: ", "), row: row,
        reason: "needs \(names.count) values, and \(parts.count) were given")
    }
    for (name, part) in zip(names, parts) {
      switch part {
      case .value(let value): stored.append(value)
      case .refused(let reason):
        throw .keyRefused(entity: entity.name, property: name, row: row, reason: reason)
      }
    }
    guard let values = KeyValues(stored, of: self) else {
      throw .keyRefused(entity: entity.name, property: names[0], row: row, reason: "is nil")
    }
    return values
  }
}
