// Saves and rollbacks.

internal import CipherSQLite

extension ObjectContext {
  /// Writes all changes in one transaction: new rows, changed columns, links, deletions, and the values of
  /// ``metadata``.
  ///
  /// On any error nothing is written and everything stays pending. Inside ``Store/write(_:)`` a save is a
  /// savepoint of the surrounding transaction.
  /// - Throws: ``StoreError/validation(_:)`` with every object that breaks a rule, each by its present
  ///   id; if none does, with every unique value that another object has. ``StoreError/conflicts(_:)``,
  ///   ``StoreError/deleteDenied(entity:rowID:property:count:)``, ``StoreError/readOnlyContext``,
  ///   ``StoreError/idsExhausted(entity:)``, ``StoreError/storeMigratedElsewhere(file:)``, the first of
  ///   ``faultErrors``; `SQLError.busy` and other errors of the file.
  public func save() throws { try save(isLast: false) }

  /// Saves at the end of a write: the commit follows at once.
  func saveBeforeCommit() throws { try save(isLast: true) }

  private func save(isLast: Bool) throws {
    do { try write(isLast: isLast) } catch StoreError.validation(let failures) {
      throw StoreError.validation(failures.map { named($0) })
    } catch StoreError.deleteDenied(let entity, let id, let property, let count) {
      throw StoreError.deleteDenied(
        entity: entity, rowID: knownID(id, entity), property: property, count: count)
    }
  }

  /// Returns a failure in which new objects have the ids that they were assigned inside a write.
  private func named(_ failure: ValidationFailure) -> ValidationFailure {
    guard failure.rowID < 0 || failure.holder.map({ $0.rowID < 0 }) == true else { return failure }
    let holder = failure.holder.map {
      ValidationFailure.Holder(
        entity: $0.entity, rowID: knownID($0.rowID, $0.entity), isPending: $0.isPending)
    }
    return ValidationFailure(
      entity: failure.entity, property: failure.property, rowID: knownID(failure.rowID, failure.entity),
      reason: failure.reason, holder: holder)
  }

  /// Returns the final id for the temporary id of a new object, if one was assigned inside a write;
  /// otherwise the id itself.
  private func knownID(_ id: Int64, _ name: String) -> Int64 {
    guard id < 0, let entity = core.mapping.entity(named: name) else { return id }
    return maps[entity.index].find(id)?.visibleRowID ?? id
  }

  private func write(isLast: Bool) throws {
    try notifyingObservers { try writeChanges(isLast: isLast) }
  }

  private func writeChanges(isLast: Bool) throws {
    if let hookRun { throw hookRun.error("calls save(), which no hook may") }
    guard scratchOrigin == nil else { throw StoreError.scratchNotSaved }
    mergeArrived()
    try throwFaultError()
    if let denial = try settleDeniedDeletions() { throw denial }
    guard pending.isLive else {
      try keepAssignedIDs()
      // Pending changes that cancel each other out are cleared, too.
      if pending.mayBeLive { adopt(SavePlan(entityCount: core.mapping.entities.count)) }
      undoes?.didSave()
      return try saveMetadata(isLast: isLast)
    }
    guard canWrite else { throw StoreError.readOnlyContext }
    let failures = try undoes?.joiningLatest(callHooksBeforeSave) ?? callHooksBeforeSave()
    try throwFaultError()
    if let denial = try settleDeniedDeletions() { throw denial }
    // Read once: a listener that is added meanwhile is notified from the next save on.
    let records = records
    if records || keepsHistory {
      // Change sets and the history need the former values, also of attributes that were written without
      // being read.
      try readLazyValues(of: pending.updated) { object, slot in
        object.state == .loaded && object.overlay?.changed.contains(slot) == true
          && (records || object.entity?.description.history == .full)
      }
    }
    switch access {
    case .reading(let connection, _), .writing(let connection, _, _):
      // The last save needs no savepoint: an error rolls the whole transaction back. Settling conflicts
      // does.
      let isAlone = isLast && !mergePolicy.settlesConflicts
      let writer = try settlingConflicts(on: connection, isUndone: !isAlone) { isMerging, begin in
        func body() throws -> SaveWriter {
          try begin()
          return try write(on: connection, isLast: isLast, records, isMerging: isMerging, failures)
        }
        return isAlone ? try body() : try connection.savepoint(body)
      }
      adopt(writer.plan)
      written.hasAny = true
      if !isLast, access.committed != nil { written.rows.note(writer.plan, core.mapping) }
      if let record = writer.record { written.changes?.add(record.changes) }
      if let history = writer.history { written.history = history }
      undoes?.didSave()
      didSaveMetadata(isLast: isLast)
      callHooksAfterSave(writer.plan)
      if isLast, pending.isLive {
        throw StoreError.hookFailed(
          entity: "", rowID: 0, hook: "didSave",
          reason:
            "has changed objects at the end of a write, where nothing saves them any more; change them in "
            + "willSave")
      }
    case .pooled(let pool):
      let plan = try pool.withWriter { connection in
        let writer = try settlingConflicts(on: connection, isUndone: true) { isMerging, begin in
          try connection.transaction(.immediate) {
            try core.beginWriting(connection)
            try begin()
            let writer = try write(on: connection, isLast: true, records, isMerging: isMerging, failures)
            try endHistory(writer.history, on: connection)
            return writer
          }
        }
        core.reservedIDs.commit()
        adopt(writer.plan)
        publish(writer.record)
        return writer.plan
      }
      renewPin()
      undoes?.didSave()
      didSaveMetadata(isLast: isLast)
      callHooksAfterSave(plan)
    }
  }

  /// Writes the values about the store, if they are all that has changed.
  private func saveMetadata(isLast: Bool) throws {
    guard !pendingMetadata.values.isEmpty else { return }
    switch access {
    case .reading(let connection, _), .writing(let connection, _, _):
      try connection.savepoint { try pendingMetadata.write(on: connection) }
    case .pooled(let pool):
      try pool.withWriter { connection in
        try connection.transaction(.immediate) {
          try core.beginWriting(connection)
          try pendingMetadata.write(on: connection)
        }
        core.reservedIDs.commit()
      }
      renewPin()
    }
    didSaveMetadata(isLast: isLast)
  }

  private func didSaveMetadata(isLast: Bool) {
    pendingMetadata.didWrite(isCommitted: isLast || access.writer == nil)
  }

  /// Throws the first error that an accessor could not throw.
  private func throwFaultError() throws {
    guard let first = faultErrors.first else { return }
    faultErrors = []
    throw first
  }

  /// Plans and writes the changes. Objects in memory are unchanged on return.
  /// - Parameters:
  ///   - isLast: Whether the commit follows. Then the changed rows are not recorded as uncommitted.
  ///   - records: Whether the changes are recorded for listeners.
  ///   - isMerging: Whether a merge policy has settled conflicts.
  ///   - failures: What the hooks of classes have found.
  private func write(
    on connection: Connection, isLast: Bool, _ records: Bool, isMerging: Bool,
    _ failures: [ValidationFailure]
  ) throws -> SaveWriter {
    var planner = SavePlanner(
      pending, mapping: core.mapping, maps: maps,
      reader: ConnectionReader(connection: connection, reservedIDs: reservedIDs),
      recordsEveryRow: records || keepsHistory || (!isLast && access.committed != nil),
      failures: failures)
    planner.isMerging = isMerging
    let writer = SaveWriter(
      try planner.make(), mapping: core.mapping, maps: maps, connection: connection, records: records,
      history: try recorder(on: connection))
    // In a shared transaction the last save must not reserve ids: if this write is rolled back to its
    // savepoint, memory would have a reservation that the file lacks.
    try writer.write(reservedIDs: reservedIDs, isLast: isLast && !sharesTransaction)
    try pendingMetadata.write(on: connection)
    return writer
  }

  /// Discards all changes since the last save.
  ///
  /// New objects become invalid. All others have the values in the store again; those whose rows were
  /// deleted meanwhile become invalid, too. ``faultErrors`` becomes empty.
  ///
  /// To find the missing rows, it runs a query for each entity with changed objects, or several for more
  /// than 500 objects. Inside ``Store/write(_:)`` it runs none, because no other connection deletes rows
  /// there.
  public func rollback() { notifyingObservers(discardChanges) }

  private func discardChanges() {
    discardCount += 1
    deletions.restart()
    (faultErrors, deniedDeletions) = ([], DeniedDeletions())
    for object in pending.inserted { discard(object) }
    // Their rows are read again, because they may have changed: a conflict is a reason to roll back.
    for object in pending.updated {
      forget(object)
      object.isRegistered = false
    }
    for object in pending.deleted where object.state == .deleted {
      object.state = .fault
      forget(object)
      object.isRegistered = false
    }
    invalidateMissingRows(pending.updated + pending.deleted)
    for object in pending.touched { object.toMany.forEach { $0.forget() } }
    if observers != nil || !changeLogs.isEmpty {
      let owners = pending.touched.union(pending.gained.all.lazy.map(\.owner))
      for object in owners where object.state != .invalid { didRefresh(object) }
    }
    do { try keepAssignedIDs() } catch { note(error) }
    pendingMetadata.values = [:]
    changePending { $0.clear() }
    undoes?.didRollBack()
  }

  /// Makes faults invalid if their rows do not exist. If the file cannot be read, they stay faults: the
  /// next getter reads again and reports the error.
  private func invalidateMissingRows(_ objects: [ManagedObject]) {
    // In a transaction no other connection deletes rows.
    guard case .pooled = access else { return }
    var faults: [Int: Set<ManagedObject>] = [:]
    for object in objects where object.state == .fault {
      if let entity = object.entity { faults[entity.index, default: []].insert(object) }
    }
    for (index, objects) in faults {
      let entity = core.mapping.entities[index]
      statistics.queries += 1
      let versions = try? withConnection { connection in
        try ConnectionReader(connection: connection).versions(entity, of: objects.map(\.rowID))
      }
      guard let versions else { continue }
      for object in objects where versions[object.rowID] == nil { object.loseRow() }
    }
  }

  /// Raises the high-water marks, so that assigned ids that no row will have are not issued again.
  func keepAssignedIDs() throws {
    guard !pending.assignedIDs.isEmpty, let connection = access.writer else { return }
    for map in maps.all where map.highest > 0 {
      try RowIDs(connection: connection, reserved: reservedIDs).raise(map.entity.root.name, to: map.highest)
    }
  }
}
