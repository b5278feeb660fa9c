// Inserts, in one statement per entity, and updates, grouped by the changed columns so that each
// statement is prepared once. Updates of many rows in one statement are in SaveWriter+Changes.

internal import CipherSQLite

extension SaveWriter {
  /// Inserts new rows.
  func insert(_ objects: [ManagedObject], _ entity: EntityMapping) throws {
    if try canInsertInOneStatement(objects, entity) {
      try feed(objects, entity)
    } else {
      try insertEach(objects, entity)
    }
  }

  /// Whether new rows are inserted in one statement. Not if there are only a few rows. Not if the table
  /// has triggers: the engine then reads all rows before it inserts the first one, so it is unknown which
  /// row fails, and the statement would override the conflict handling of the triggers.
  private func canInsertInOneStatement(_ objects: [ManagedObject], _ entity: EntityMapping) throws -> Bool {
    try objects.count > 4 && !firesTriggers(entity)
  }

  private func insertEach(_ objects: [ManagedObject], _ entity: EntityMapping) throws {
    let (slots, isToOne) = (entity.storedSlots, entity.isToOne)
    try connection.withStatement(sql: entity.insertSQL) { statement in
      for object in objects {
        guard let overlay = plan.overlay(of: object) else { continue }
        try statement.bind(plan.ids.final(object.rowID), at: 1)
        var parameter = 2
        for slot in slots {
          try bind(overlay, slot: slot, isToOne: isToOne[slot], to: statement, at: parameter)
          parameter += 1
        }
        try unlessColliding(object) {
          try run(statement, for: object)
          if connection.changes != 1 { throw ignored(entity, id: object.rowID, what: "written") }
          recordInsertion(of: object, entity, overlay)
          try history?.store(connection)
        } writeRest: {
          try insert(object, entity, without: $0)
        }
      }
    }
  }

  /// Inserts new rows in one statement. It reads the values from the memory into which the setters wrote
  /// them.
  private func feed(_ objects: [ManagedObject], _ entity: EntityMapping) throws {
    // The new objects that the rows refer to have their ids by now.
    let references = entity.hasToOne ? entity.storedSlots.filter { entity.isToOne[$0] } : []
    let feed = RowFeed(slots: entity.storedSlots, replacing: references, capacity: objects.count)
    // Read once: each access to the plan copies it with all its references.
    let plan = plan
    // Created once: otherwise each object would allocate a closure.
    let finalID = plan.ids.final
    var isWhole = true
    objects.forEachUnretained { object in
      let isFed: Void? = plan.withOverlay(of: object) {
        feed.append(plan.ids.final(object.rowID), $0.values, replace: finalID)
      }
      if isFed == nil { isWhole = false }
    }
    // The objects whose values the feed reads. Their overlays do not change until after the save.
    let fed = isWhole ? objects : objects.filter { plan.overlay(of: $0) != nil }
    var start = 0
    while start < fed.count {
      do {
        try withExtendedLifetime((fed, plan)) {
          try connection.run(feed, from: start, sql: entity.feedSQL)
        }
        start = fed.count
      } catch SQLError.constraint(let message, let code, let sql) where feed.position < fed.count {
        let position = feed.position
        let object = fed[position]
        try unlessColliding(object) {
          throw translated(message, code: code, sql: sql, object: object)
        } writeRest: {
          try insert(object, entity, without: $0)
        }
        start = position + 1
      }
    }
    guard records else { return }
    for object in fed {
      if let overlay = plan.overlay(of: object) { recordInsertion(of: object, entity, overlay) }
      try history?.store(connection)
    }
  }

  private func run(_ statement: Statement, for object: ManagedObject) throws {
    do { _ = try statement.step() } catch SQLError.constraint(let message, let code, let sql) {
      statement.reset()
      throw translated(message, code: code, sql: sql, object: object)
    }
    statement.reset()
  }

  /// Updates the changed columns of existing rows. Each statement is prepared once.
  func update() throws {
    for (entity, objects) in plan.updated {
      for (changed, objects) in byChangedColumns(objects) {
        try update(objects, of: entity, changed: changed)
      }
    }
  }

  /// Groups changed objects by the columns that changed.
  private func byChangedColumns(_ objects: [ManagedObject]) -> [(changed: SlotSet, objects: [ManagedObject])]
  {
    // Read once: each access to the plan copies it with all its references.
    let plan = plan
    // Mostly all objects have the same changed columns.
    if let first = objects.first, let changed = plan.overlay(of: first)?.changed,
      objects.allSatisfyUnretained({ object in
        plan.withOverlay(of: object) { $0.changed == changed } == true
      })
    {
      return [(changed, objects)]
    }
    var shapes: [SlotSet: Int] = [:]
    var groups: [(changed: SlotSet, objects: [ManagedObject])] = []
    for object in objects {
      guard let changed = plan.overlay(of: object)?.changed else { continue }
      if let place = shapes[changed] {
        groups[place].objects.append(object)
      } else {
        shapes[changed] = groups.count
        groups.append((changed, [object]))
      }
    }
    return groups
  }

  private func update(_ objects: [ManagedObject], of entity: EntityMapping, changed: SlotSet) throws {
    guard !changed.isEmpty else { return }
    let slots = entity.storedSlots.filter(changed.contains)
    var collided: [(object: ManagedObject, columns: Set<String>)] = []
    // A trigger may prevent the change of a row. The engine reports how many rows changed, but not which.
    let isQuiet = try !firesTriggers(entity)
    let isFed = isQuiet && objects.count > Self.fewChanges
    var (inRuns, alone) = isFed ? runs(of: objects) : ([], objects)
    alone += try updateInOneStatement(inRuns, of: entity, slots: slots) { collided.append(($0, $1)) }
    if !alone.isEmpty {
      try connection.withStatement(sql: entity.updateSQL(slots, failureUndoesStatement: !isQuiet)) {
        statement in
        for object in alone {
          try unlessColliding(object) {
            try update(object, of: entity, slots: slots, with: statement)
          } writeRest: {
            collided.append((object, $0))
          }
        }
      }
    }
    for (object, columns) in collided {
      // Writes the other values, so that their clashes are found too. If the engine named none of the
      // changed columns, nothing more is written.
      var rest = changed
      for slot in slots where columns.contains(entity.slots[slot].column) { rest.remove(slot) }
      guard rest != changed else { continue }
      clashes.didSetAside(changed.subtracting(rest), of: object)
      try update([object], of: entity, changed: rest)
    }
  }

  private func update(
    _ object: ManagedObject, of entity: EntityMapping, slots: [Int], with statement: Statement
  ) throws {
    guard let overlay = plan.overlay(of: object) else { return }
    var parameter = 1
    for slot in slots {
      try bind(overlay, slot: slot, isToOne: entity.isToOne[slot], to: statement, at: parameter)
      parameter += 1
    }
    try statement.bind(object.rowID, at: parameter)
    try statement.bind(object.rowVersion, at: parameter + 1)
    try run(statement, for: object)
    if connection.changes != 1 { throw try unwritten(object, of: entity, slots: slots) }
    recordUpdate(of: object, entity: entity, slots: slots, overlay: overlay)
    try history?.store(connection)
  }

  private func bind(
    _ overlay: Overlay, slot: Int, isToOne: Bool, to statement: Statement, at parameter: Int
  ) throws {
    if isToOne, let id = overlay.int64(slot) {
      try statement.bind(plan.ids.final(id), at: parameter)
    } else {
      try statement.bind(overlay.values.cell(slot), at: parameter)
    }
  }

  /// Returns the reason why a row was not changed.
  func unwritten(_ object: ManagedObject, of entity: EntityMapping, slots: [Int]) throws -> StoreError {
    let conflict = try conflict(object, slots.map { entity.slots[$0].name })
    if case .conflicts(let found) = conflict, found.first?.storedVersion == found.first?.fetchedVersion {
      return ignored(entity, id: object.rowID, what: "changed")
    }
    return conflict
  }

  private func conflict(_ object: ManagedObject, _ properties: [String]) throws -> StoreError {
    guard let entity = object.entity else { return .unknownEntity(name: object.nameOfEntity) }
    let found = try connection.value(sql: entity.versionSQL, [.integer(object.rowID)])
    return .conflicts([
      Conflict(
        entity: entity.name, rowID: object.rowID, fetchedVersion: object.rowVersion,
        storedVersion: found?.int64, properties: properties)
    ])
  }
}
