// Saves, what a fetch inside a write writes before, and rollbacks.

internal import CipherSQLite

extension ObjectContext {
  /// Writes all changes in one transaction: new rows, changed columns, links, deletions.
  ///
  /// On any error nothing is written and everything stays pending. Inside ``Store/write(_:)`` it is a
  /// savepoint of the surrounding transaction.
  /// - Throws: ``StoreError/validation(_:)`` with every object that breaks a rule, each by the id that it has; where all keep the
  ///   rules of their own, with every unique value that another object has. ``StoreError/conflict(_:)``,
  ///   ``StoreError/deleteDenied(entity:rowID:property:count:)``, ``StoreError/readOnlyContext``, the first of
  ///   ``faultErrors``; `SQLError.busy` and others of the file.
  public func save() throws { try save(isLast: false) }

  /// The save at the end of a write: what it writes is committed at once.
  func saveBeforeCommit() throws { try save(isLast: true) }

  private func save(isLast: Bool) throws {
    do { try save(.whole, isLast: isLast) } catch StoreError.validation(let failures) {
      throw StoreError.validation(failures.map { named($0) })
    } catch StoreError.deleteDenied(let entity, let id, let property, let count) {
      throw StoreError.deleteDenied(
        entity: entity, rowID: knownID(id, entity), property: property, count: count)
    }
    if case .transaction(let connection, _) = access, flushed != nil {
      flushed = nil
      try connection.releaseSavepoint(Self.flushName)
    }
  }

  /// A failure that names new objects by the ids that they have: those that they were given inside a write.
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

  /// The id by which an object is known that has a temporary one.
  private func knownID(_ id: Int64, _ name: String) -> Int64 {
    guard id < 0, let entity = core.mapping.entity(named: name) else { return id }
    return maps[entity.index].find(id)?.knownRowID ?? id
  }

  /// Writes what is complete, so that a fetch inside a writing transaction finds it.
  ///
  /// What breaks a rule as yet stays pending: a new object that is half filled, whose id is given out all the same
  /// so that those who refer to it can be written; of a changed object the properties that may not be so; all
  /// deletions, when one of them is denied. Whoever looks for an object need not finish another one first.
  func flush() throws {
    if case .transaction(let connection, _) = access, flushed == nil {
      try connection.beginSavepoint(Self.flushName)
      flushed = []
      writtenBefore = written
    }
    _ = try settleDeniedDeletions(isBeforeSave: false)
    let isAwake = pending.isAwake || !faultErrors.isEmpty || failure != nil
    guard !pending.deleted.isEmpty else {
      return try isAwake ? saveAll(.partial) : ()
    }
    guard try pending.mayDelete && !isStillHeld() else {
      return try isAwake ? saveAll(.partialWithoutDeletions) : ()
    }
    do { try saveAll(.partial) } catch {
      guard Self.isRule(error) else { throw error }
      if isAwake { try saveAll(.partialWithoutDeletions) }
      pending.didDenyDeletions(error)
    }
  }

  /// Saves until nothing more can be written: what was written may have been in the way of what was left out.
  private func saveAll(_ extent: SaveExtent) throws {
    // What woke may be gone again with the save itself.
    repeat { try save(extent) } while pending.wokeOthers && pending.isAwake
  }

  /// Whether something still holds the deletions that a flush was denied. False where that cannot be known without a plan of all
  /// deletions.
  private func isStillHeld() throws -> Bool {
    guard !pending.holds.isEmpty else { return false }
    let mayGoAlong = entitiesThatMayGoAlong
    var count = pending.holds.count
    try withConnection { connection in
      var related = RelatedRows(pending, maps, ConnectionReader(connection: connection))
      // The last one that stands is enough, and a hold that is released is asked for once.
      while count > 0, try !related.stands(pending.holds[count - 1], mayGoAlong: mayGoAlong) { count -= 1 }
    }
    pending.didReleaseHolds(after: count)
    return count > 0
  }

  private static let flushName = "vault_flush"

  private static func isRule(_ error: any Error) -> Bool {
    switch error {
    case StoreError.validation, SQLError.constraint, is DeletionsMustWait: true
    default: false
    }
  }

  private func save(_ extent: SaveExtent, isLast: Bool = false) throws {
    if let first = faultErrors.first {
      faultErrors = []
      throw first
    }
    if let failure { throw failure }
    if extent == .whole, let denial = try settleDeniedDeletions(isBeforeSave: true) { throw denial }
    guard pending.isLive else {
      try keepGivenIDs()
      // Changes that came to nothing are done with, too.
      if extent == .whole, pending.mayBeLive {
        adopt(SavePlan(extent, entityCount: core.mapping.entities.count))
      }
      return
    }
    guard canWrite else { throw StoreError.readOnlyContext }
    switch access {
    case .transaction(let connection, _):
      // A savepoint inside of the one beneath all flushes costs memory on SQLCipher 3 until that one ends. It is there
      // for errors that one can put right; a flush that deletes nothing has none.
      let writer: SaveWriter
      if isLast {
        // An error ends the transaction.
        writer = try write(extent, connection, isLast: true)
      } else if extent == .whole || (extent.deletes && !pending.deleted.isEmpty) {
        writer = try connection.savepoint { try write(extent, connection, isLast: false) }
      } else {
        do { writer = try write(extent, connection, isLast: false) } catch {
          failure = error
          throw error
        }
      }
      adopt(writer.plan)
      hasWritten = true
      if !isLast, committed != nil { written.rows.note(writer.plan, core.mapping) }
      if let record = writer.record { written.changes?.add(record.changes) }
    case .pooled(let pool):
      try pool.withWriter { connection in
        let writer = try connection.transaction(.immediate) {
          try core.checkGeneration(connection)
          return try write(extent, connection, isLast: true)
        }
        adopt(writer.plan)
        publish(writer.record)
      }
    }
  }

  /// Plans and writes; in memory nothing has changed when it returns.
  /// - Parameter isLast: Whether the commit follows. Then no call asks which rows were changed.
  private func write(_ extent: SaveExtent, _ connection: Connection, isLast: Bool) throws -> SaveWriter {
    // Asked once: who begins to listen meanwhile hears of the next save.
    let records = records
    // What is deleted may be in the way of any object.
    let looksAtAll = !extent.isPartial || (extent.deletes && !pending.deleted.isEmpty)
    var planner = SavePlanner(
      looksAtAll ? pending : pending.awake, resting: looksAtAll ? RestingObjects() : pending.resting, extent,
      core.mapping, maps, ConnectionReader(connection: connection),
      isHeard: records || (!isLast && committed != nil))
    let writer = SaveWriter(try planner.make(), core.mapping, maps, connection, records: records)
    try writer.write()
    return writer
  }

  /// Forgets all changes since the last save: new objects become invalid, the others are as in the store, so that those
  /// whose rows were deleted meanwhile are invalid, too. Errors of those changes in ``faultErrors`` are forgotten.
  ///
  /// Objects whose deletion a fetch has carried out meanwhile, inside ``Store/write(_:)``, stay invalid; their rows
  /// are there again.
  ///
  /// Asks the file once for each entity with changed objects, so as to find the rows that are gone; not inside ``Store/write(_:)``,
  /// where no other one deletes any.
  public func rollback() {
    deletions.restart()
    (faultErrors, deniedDeletions) = ([], DeniedDeletions())
    for object in pending.inserted { discard(object) }
    // Their rows may be others by now, which is why one rolls back after a conflict.
    for object in pending.updated {
      forget(object)
      object.isRegistered = false
    }
    for object in pending.deleted where object.state == .deleted {
      if object.isUnwritten {
        discard(object)
      } else {
        object.state = .fault
        forget(object)
        object.isRegistered = false
      }
    }
    loseRowsThatAreGone(pending.updated + pending.deleted)
    for object in pending.touched.union(pending.waiting.values.joined()) {
      object.toMany.forEach { $0.forget() }
    }
    undoFlush()
    do { try keepGivenIDs() } catch { note(error) }
    changePending { $0.clear() }
  }

  /// Makes faults invalid whose rows are gone. Where the file cannot be read they stay faults: the next getter asks again, and
  /// reports it.
  private func loseRowsThatAreGone(_ objects: [ManagedObject]) {
    // In a transaction no other one deletes rows.
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

  /// Takes back what fetches have written.
  private func undoFlush() {
    guard case .transaction(let connection, _) = access, let flushed else { return }
    self.flushed = nil
    written = writtenBefore
    failure = nil
    do {
      try connection.rollBack(toSavepoint: Self.flushName)
      try connection.releaseSavepoint(Self.flushName)
      try keepMarks(connection)
    } catch { note(error) }
    for object in flushed { discard(object) }
    for object in maps.objects {
      object.toMany.forEach { $0.forget() }
      forget(object)
    }
  }

  /// Ids that new objects were given and that no row will have are not given out again.
  private func keepGivenIDs() throws {
    guard !pending.given.isEmpty, case .transaction(let connection, canWrite: true) = access else { return }
    try keepMarks(connection)
  }

  /// Ids that were given out and taken back are not given out again.
  private func keepMarks(_ connection: Connection) throws {
    for map in maps.all where map.highest > 0 {
      try RowIDs(connection: connection).raise(map.entity.root.name, to: map.highest)
    }
  }
}
