// The final ids of new objects inside a write, before their rows are written.

internal import CipherSQLite

extension ObjectContext {
  func visibleID(of object: ManagedObject) -> Int64 {
    // Outside of a write another save may take the next id first, so the id stays temporary.
    guard let connection = access.writer else { return object.rowID }
    if let id = pending.assignedIDs.final(object.rowID) { return id }
    do { try assignIDs(on: connection) } catch { note(error) }
    return pending.assignedIDs.final(object.rowID) ?? object.rowID
  }

  /// Assigns final ids to all new objects that have none. The ids are above all ids in the file and all
  /// ids that were assigned before.
  private func assignIDs(on connection: Connection) throws {
    let ids = RowIDs(connection: connection, reserved: reservedIDs)
    var isKnown: Set<Int> = []
    try pending.assignIDs { table in
      let map = maps[table]
      if isKnown.insert(table).inserted {
        map.highest = try ids.free(1, of: map.entity, highestAssigned: map.highest).first - 1
      }
      guard map.highest < RowIDs.highest else { throw StoreError.idsExhausted(entity: map.entity.name) }
      map.highest += 1
      return map.highest
    }
  }

  /// The ids that the store has reserved; nil in a migration, whose transaction is not the context's.
  var reservedIDs: ReservedIDs? { access.isMigrating ? nil : core.reservedIDs }

  func known(_ value: SQLValue) -> SQLValue {
    guard case .integer(let id) = value, id < 0, let connection = access.writer else { return value }
    if pending.assignedIDs.final(id) == nil { do { try assignIDs(on: connection) } catch { note(error) } }
    return .integer(pending.assignedIDs.final(id) ?? id)
  }

  /// Returns the new object that was assigned the given final id and has no row yet; nil if there is
  /// none.
  func promised(_ map: IdentityMap, _ id: Int64) -> ManagedObject? {
    pending.assignedIDs.isEmpty ? nil : pending.assignedIDs.temporary(id, table: map.table).flatMap(map.find)
  }
}
