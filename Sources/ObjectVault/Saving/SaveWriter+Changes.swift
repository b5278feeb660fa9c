// Updates of many rows of one entity that change the same properties. One statement updates all rows; it
// reads the new values from the memory into which the setters wrote them.

internal import CipherSQLite

extension SaveWriter {
  /// Up to this many rows are updated one by one, because for so few rows a statement for a run of ids
  /// takes longer.
  static let fewChanges = 50

  /// Sorts objects by id and splits them: those in runs of ids that are long enough for one statement,
  /// and the others. A run is a list of ids with only small gaps (`RowChanges.isRun`).
  func runs(of objects: [ManagedObject]) -> (inRuns: [ManagedObject], alone: [ManagedObject]) {
    let sorted = sortedByID(objects)
    var (starts, index, last) = ([0], 0, Int64.min)
    sorted.forEachUnretained { object in
      if index > 0, !RowChanges.isRun(from: last, to: object.rowID) { starts.append(index) }
      (index, last) = (index + 1, object.rowID)
    }
    guard starts.count > 1 else { return (sorted, []) }
    var (inRuns, alone): ([ManagedObject], [ManagedObject]) = ([], [])
    for (start, end) in zip(starts, starts.dropFirst() + [sorted.count]) {
      if end - start < RowChanges.smallestRun {
        alone += sorted[start..<end]
      } else {
        inRuns += sorted[start..<end]
      }
    }
    return (inRuns, alone)
  }

  /// Updates the rows of objects, each only if it still has the version that was fetched.
  /// - Parameters:
  ///   - sorted: The objects, by their ids.
  ///   - collide: Called with the object whose unique values collide and the columns of the index, if
  ///     collisions are noted.
  /// - Returns: The objects after the colliding one. They are not written yet: the caller writes them one
  ///   by one, because starting the statement again after each collision would take quadratic time.
  func updateInOneStatement(
    _ sorted: [ManagedObject], of entity: EntityMapping, slots: [Int],
    collide: (ManagedObject, _ columns: Set<String>) -> Void
  ) throws -> ArraySlice<ManagedObject> {
    guard !sorted.isEmpty else { return [] }
    let references = entity.hasToOne ? slots.filter { entity.isToOne[$0] } : []
    let changes = RowChanges(slots: slots, replacing: references, capacity: sorted.count)
    // Read once: each access to the plan copies it with all its references.
    let plan = plan
    // Created once, not for each object.
    let finalID = plan.ids.final
    sorted.forEachUnretained { object in
      // Each object has an overlay, because the objects were grouped by their changes.
      plan.withOverlay(of: object) {
        changes.append(object.rowID, version: object.rowVersion, $0.values, replace: finalID)
      }
    }
    let sql = entity.feedUpdateSQL(slots)
    var end = changes.count
    do {
      // The overlays keep their values: they change only after the save.
      let missed = try withExtendedLifetime((sorted, plan)) {
        try connection.run(changes, from: 0, sql: sql)
      }
      if let missed { throw try unwritten(sorted[missed], of: entity, slots: slots) }
    } catch SQLError.constraint(let message, let code, let sql) where changes.position < changes.count {
      end = changes.position
      let object = sorted[end]
      try unlessColliding(object) {
        throw translated(message, code: code, sql: sql, object: object)
      } writeRest: {
        collide(object, $0)
      }
    }
    if records {
      for object in sorted[..<end] {
        if let overlay = plan.overlay(of: object) {
          recordUpdate(of: object, entity: entity, slots: slots, overlay: overlay)
        }
        try history?.store(connection)
      }
    }
    return sorted.dropFirst(end + 1)
  }

  /// Sorts objects by id, the order of the rows in the file. Fetched objects mostly are in that order
  /// already.
  private func sortedByID(_ objects: [ManagedObject]) -> [ManagedObject] {
    var last = Int64.min
    let isSorted = objects.allSatisfyUnretained { object in
      defer { last = object.rowID }
      return object.rowID > last
    }
    return isSorted ? objects : objects.sorted { $0.rowID < $1.rowID }
  }
}
