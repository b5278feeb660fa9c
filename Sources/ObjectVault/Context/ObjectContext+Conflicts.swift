// Conflicts with other writers: finding them, and settling them by a merge policy or one by one.

internal import CipherSQLite

/// An object in a conflict, with the row that the store has now.
struct ConflictingObject {
  let object: ManagedObject
  let entity: EntityMapping
  /// nil if the row was deleted.
  let stored: StoredRow?

  /// The conflict as a value.
  var conflict: MergeConflict {
    var (base, mine, theirs): (ChangeSet.Values, ChangeSet.Values, ChangeSet.Values) = ([:], [:], [:])
    for slot in entity.storedSlots {
      let (name, cell) = (entity.slots[slot].name, object.packedCell(slot))
      let former = cell.flatMap { $0.isAbsent ? nil : $0.value }
      if let former { base[name] = former }
      if object.state == .loaded, let overlay = object.overlay, overlay.changed.contains(slot) {
        mine[name] = overlay[slot]
      }
      // A lazy attribute may have been written without being read: its base is unknown.
      if let stored, let known = former ?? mine[name], !stored.value(slot).isStored(as: known) {
        theirs[name] = stored.value(slot)
      }
    }
    let kind: MergeConflict.Kind =
      stored == nil ? .deletedElsewhere : object.state == .deleted ? .deletedHere : .changed
    return MergeConflict(
      kind: kind, id: DynamicID(entity: entity.name, rowID: object.rowID, of: object.mark(of: object.rowID)),
      base: base, mine: mine,
      theirs: theirs)
  }

  /// The conflict as a part of an error, without values.
  var summary: Conflict {
    let overlay = object.state == .loaded ? object.overlay : nil
    return Conflict(
      entity: entity.name, rowID: object.rowID, fetchedVersion: object.rowVersion,
      storedVersion: stored?.version,
      properties: entity.storedSlots.filter { overlay?.changed.contains($0) == true }
        .map { entity.slots[$0].name })
  }
}

// Points into the page, which it retains.
/// A row as the store has it now.
@safe struct StoredRow {
  let version: Int64
  let cells: UnsafeRawPointer
  let page: RowPage

  func value(_ slot: Int) -> SQLValue { unsafe RowCell(row: cells, slot: slot).value }
}

extension ObjectContext {
  /// Returns the objects whose save or deletion would meet changes of other writers now.
  ///
  /// It reads the versions of the rows of all changed and deleted objects, and the rows of those that
  /// differ. Other writers may commit between this and the save, which checks again.
  /// - Returns: The conflicts; empty if there are none.
  /// - Throws: ``StoreError/storeMigratedElsewhere(file:)``, ``SQLError``.
  public func conflicts() throws -> [MergeConflict] {
    try withLastCommit { try conflictingObjects(updatedObjects + deletedObjects, on: $0) }.map(\.conflict)
  }

  /// Settles a conflict: the object gets the row that the store has now, and of its own changes those that
  /// the resolution keeps. Nothing is written before the save.
  ///
  /// If the row has changed again since the conflict was found, the present row counts. Does nothing if the
  /// object is not in a conflict any more.
  /// - Parameters:
  ///   - conflict: A conflict of this context.
  ///   - resolution: Which values the object gets.
  /// - Throws: ``StoreError/propertyMisused(entity:property:reason:)`` and
  ///   ``StoreError/noProperty(entity:property:similar:)`` for values that the object cannot have;
  ///   ``StoreError/readOnlyContext``; ``SQLError``. The object is then unchanged.
  public func resolve(_ conflict: MergeConflict, keeping resolution: ConflictResolution) throws {
    if let refusal { throw refusal }
    guard let entity = core.mapping.entity(named: conflict.id.entity),
      let object = maps[entity.index].find(conflict.id.rowID), object.isPending, object.state != .inserted
    else { return }
    try notifyingObservers {
      for found in try withLastCommit({ try conflictingObjects([object], on: $0) }) {
        var changes = Rebasing()
        try rebase(found, keeping: resolution, recording: &changes)
      }
      changePending { $0.dropKept() }
    }
  }

  /// Returns those of some changed and deleted objects whose rows have changed since they were fetched.
  func conflictingObjects(_ objects: [ManagedObject], on connection: Connection) throws
    -> [ConflictingObject]
  {
    let reader = ConnectionReader(connection: connection)
    var groups = [[ManagedObject]](repeating: [], count: maps.count)
    for object in objects where object.hasRow && object.state != .inserted {
      if let entity = object.entity { groups[entity.index].append(object) }
    }
    var found: [ConflictingObject] = []
    for entity in core.mapping.entities where !groups[entity.index].isEmpty {
      let versions = try reader.versions(entity, of: groups[entity.index].map(\.rowID))
      let differing = groups[entity.index].filter { versions[$0.rowID] != $0.rowVersion }
        .sorted { $0.rowID < $1.rowID }
      let rows = try storedRows(entity, differing.map(\.rowID), on: connection)
      for object in differing where rows[object.rowID] != nil || object.state != .deleted {
        found.append(ConflictingObject(object: object, entity: entity, stored: rows[object.rowID]))
      }
    }
    return found
  }

  /// Returns whole rows by their ids.
  func storedRows(_ entity: EntityMapping, _ ids: [Int64], on connection: Connection) throws
    -> [Int64: StoredRow]
  {
    var rows: [Int64: StoredRow] = [:]
    var packer = RowPacker(firstPageBytes: ids.count > 8 ? 65_536 : 512, pageBytes: 65_536)
    for batch in ids.chunked(batchSize) {
      statistics.queries += 1
      let sql = entity.slotsSQL(entity.storedSlots, count: batch.count)
      try connection.withStatement(sql: sql) { statement in
        try statement.bind(batch.map { .integer($0) })
        while try statement.step() {
          let cells = unsafe packer.pack(
            statement, firstColumn: 2, slots: entity.storedSlots, slotCount: entity.slotCount)
          rows[statement.int64(0)] = unsafe StoredRow(
            version: statement.int64(1), cells: cells, page: packer.page)
        }
      }
    }
    statistics.rows += rows.count
    return rows
  }

  // MARK: Saves

  /// Runs the transaction of a save. If it meets conflicts, it runs it again after the merge policy has
  /// settled them, in one transaction with that.
  /// - Parameters:
  ///   - isUndone: Whether an error of `attempt` leaves the file as it was before.
  ///   - attempt: Runs the transaction, with its argument as the first action in it.
  func settlingConflicts(
    on connection: Connection, isUndone: Bool,
    _ attempt: (_ isMerging: Bool, _ begin: () throws -> Void) throws -> SaveWriter
  ) throws -> SaveWriter {
    do { return try attempt(false) {} } catch StoreError.conflicts(let first) {
      guard mergePolicy.settlesConflicts else {
        guard isUndone else { throw StoreError.conflicts(first) }
        let all = try conflictingObjects(updatedObjects + deletedObjects, on: connection).map(\.summary)
        throw StoreError.conflicts(all.isEmpty ? first : all + first.filter { !all.contains($0) })
      }
    }
    var changes = Rebasing()
    do {
      return try attempt(true) {
        defer { changePending { $0.dropKept() } }
        for found in try conflictingObjects(updatedObjects + deletedObjects, on: connection) {
          if let resolution = try mergePolicy.resolution(of: found.conflict) {
            try rebase(found, keeping: resolution, recording: &changes)
          }
        }
      }
    } catch {
      changes.undo()
      changePending { $0.dropForgotten() }
      throw error
    }
  }
}
