// Makes the plan of a save from pending changes. Reads the file, writes nothing, and changes no object.
//   SavePlanner+Deletions    delete rules, in memory and in the file at once
//   EngineCascade            the cascades that are left to the engine
//   SavePlanner+Validation   the rules of the schema
//   SavePlanner+Places       the order of members

internal import CipherSQLite

/// Makes the plan of one save.
package struct SavePlanner {
  let pending: PendingChanges
  let mapping: SchemaMapping
  /// The live objects, by the index of their entity.
  let maps: IdentityMaps
  let reader: any SaveReader
  /// Whether the plan must list every changed row: for observers, or for later saves of the same write.
  let recordsEveryRow: Bool
  /// Whether conflicts were settled by a merge policy. Objects without changes then do not conflict: rows
  /// that delete rules delete are deleted in any version, and SQL sets references to nil.
  var isMerging = false
  var plan: SavePlan
  var related: RelatedRows
  /// What the hooks of classes have found.
  let failures: [ValidationFailure]
  /// The first deletion that a rule denies. It is thrown only if there are no invalid values and no
  /// conflicts.
  var denial: StoreError?

  package init(
    _ pending: PendingChanges, mapping: SchemaMapping, maps: IdentityMaps, reader: any SaveReader,
    recordsEveryRow: Bool = true, failures: [ValidationFailure] = []
  ) {
    (self.recordsEveryRow, self.failures) = (recordsEveryRow, failures)
    (self.pending, self.mapping, self.maps, self.reader) = (pending, mapping, maps, reader)
    related = RelatedRows(pending, maps: maps, reader: reader)
    plan = SavePlan(entityCount: mapping.entities.count)
  }

  /// Makes the plan.
  /// - Throws: ``StoreError/validation(_:)``, ``StoreError/deleteDenied(entity:rowID:property:count:)``,
  ///   ``StoreError/conflicts(_:)``, ``StoreError/idsExhausted(entity:)``; ``SQLError``.
  package mutating func make() throws -> SavePlan {
    try planDeletions()
    try validate()
    try checkVersions()
    if let denial { throw denial }
    try planIDs()
    planLinks()
    try planPlaces()
    return plan
  }

  /// Plans an id for each new object.
  private mutating func planIDs() throws {
    let lowest = plan.inserted.isEmpty ? 0 : pending.lastTemporaryID
    plan.ids = PlannedIDs(first: pending.firstTemporaryID, lowest: lowest)
    var tables = pending.assignedIDs.tables
    for (entity, all) in byTable(plan.inserted) {
      tables.remove(entity.index)
      // Objects that are inserted again have their ids. The others are in one list, mostly without a copy.
      let objects = all.allSatisfyUnretained { $0.rowID < 0 } ? all : all.filter { $0.rowID < 0 }
      for object in all where objects.count < all.count && object.rowID > 0 {
        plan.revived[object] = RowVersions.unusedVersion()
      }
      try assignIDs(to: plan.ids.assignIssuedIDs(pending.assignedIDs, to: objects), entity)
    }
    // If an object was assigned an id and deleted again, other code may have the id, so it must not be
    // issued again.
    for table in tables.sorted() { try assignIDs(to: [], mapping.entities[table]) }
  }

  private mutating func assignIDs(to objects: [ManagedObject], _ entity: EntityMapping) throws {
    let ids = try reader.freeIDs(objects.count, of: entity, highestAssigned: maps[entity.index].highest)
    plan.ids.assign(ids, to: objects, entity)
  }

  /// Joins the objects of entities that share a table. They get consecutive ids, in the order of their
  /// creation.
  private func byTable(_ groups: [EntityObjects]) -> [EntityObjects] {
    guard groups.contains(where: { $0.entity.isInHierarchy }) else { return groups }
    var found: [EntityObjects] = []
    for (entity, objects) in groups {
      if let place = found.firstIndex(where: { $0.entity === entity.root }) {
        found[place].objects += objects
      } else {
        found.append((entity.root, objects))
      }
    }
    // A later object has a lower temporary id, so descending ids are the order of creation.
    return found.map { entity, objects in
      (entity, entity.isInHierarchy ? objects.sorted { $0.rowID > $1.rowID } : objects)
    }
  }

  private mutating func planLinks() {
    plan.links.reserveCapacity(pending.links.count)
    for link in pending.links.values where link.isLive {
      // A new object that a cascade deletes never gets a row, so it gets no link.
      if link.isAdded, plan.deletes(link.source) || plan.deletes(link.target) { continue }
      let (source, target) = (plan.ids.final(link.source.rowID), plan.ids.final(link.target.rowID))
      guard source > 0, target > 0 else { continue }
      plan.links.append(PlannedLink(link: link, source: source, target: target))
    }
    plan.links.sort { left, right in
      // Mostly all links belong to one table, whose name need not be compared.
      let (table, other) = (left.link.join, right.link.join)
      if table !== other, table.name != other.name { return table.name < other.name }
      return left.source == right.source ? left.target < right.target : left.source < right.source
    }
  }

  func grouped(_ objects: [ManagedObject]) -> [EntityObjects] {
    guard !objects.isEmpty else { return [] }
    // Most saves are of one entity.
    if let map = objects[0].map, objects.allSatisfyUnretained({ $0.isIn(map) }) {
      return [(map.entity, objects)]
    }
    var groups = [[ManagedObject]](repeating: [], count: mapping.entities.count)
    for object in objects { if let entity = object.entity { groups[entity.index].append(object) } }
    return groups.enumerated().filter { !$0.element.isEmpty }.map {
      (mapping.entities[$0.offset], $0.element)
    }
  }

  /// Sets a to-one of an object to nil in the plan.
  mutating func setToNil(_ object: ManagedObject, _ slot: Int) {
    let overlay: Overlay
    if let present = plan.released[object] {
      overlay = present
    } else {
      overlay =
        object.overlay.map(Overlay.init(copy:))
        ?? Overlay(slotCount: object.entity?.slots.count ?? 0, run: object.host?.run)
      plan.released[object] = overlay
      related.released[object] = overlay
      if object.state == .loaded, !object.isRegistered { plan.newlyChanged.append(object) }
    }
    overlay[slot] = .null
    overlay.changed.insert(slot)
    overlay.refused?[slot] = nil
  }
}
