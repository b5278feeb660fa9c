// One save: validate, write, and only after the commit tell the objects. Deletions are in
// SaveOperation+Deletes, what they mark in memory in SaveOperation+Marks, the rules in
// SaveOperation+Validation, values that change hands in SaveOperation+Unique.

internal import CipherSQLite

/// Objects of one entity.
typealias EntityObjects = (entity: EntityRuntime, objects: [ManagedObject])

/// Writes a context's changes on one connection, inside a transaction that the caller opened.
///
/// `run()` notes what it changes in memory, and a failure undoes it; `finish()` is called after the commit.
final class SaveOperation {
  let context: ObjectContext
  let connection: Connection
  let core: StoreCore
  /// Whether objects that break a rule stay pending, instead of failing the save.
  let isPartial: Bool
  /// The new and the changed objects that are written.
  var inserted: [EntityObjects] = []
  var updated: [EntityObjects] = []
  var leftOut: Set<ManagedObject> = []
  // The final id of each temporary one: temporary id -n-1-first at index n.
  private var assigned: [Int64] = []
  var victims: [Set<Int64>]
  /// The victims in the order of their discovery: who is below comes after who is above.
  var levels: [(entity: Int, ids: [Int64])] = []
  /// Rows whose to-one a delete rule set to nil by SQL.
  var released: [(entity: Int, slot: Int, ids: Set<Int64>)] = []
  /// New objects that go with deleted ones.
  var doomed: [ManagedObject] = []
  var marks = SaveMarks()

  init(_ context: ObjectContext, _ connection: Connection, isPartial: Bool) {
    self.context = context
    self.connection = connection
    self.isPartial = isPartial
    core = context.core
    victims = core.runtime.entities.map { _ in [] }
  }

  func run() throws {
    try core.checkGeneration(connection)
    try markVictimsInMemory()
    try validate()
    try checkVersions()
    try assignIDs()
    try writeRowsInAnyOrder()
    do {
      try writeLinks()
      try deleteVictims()
    } catch SQLError.constraint(let message, let code, let sql) {
      throw translated(message, code, sql, nil)
    }
    try checkReferences()
  }

  /// Inserts and updates, in the order that costs least.
  func writeRows() throws {
    try writeLastReferences()
    for (entity, objects) in inserted { try insert(objects, entity) }
    try update()
  }

  // MARK: Ids

  /// Reserves an id for each new object from its entity's high-water mark, which only ever rises: the id of
  /// a deleted row is never given out again.
  private func assignIDs() throws {
    guard !inserted.isEmpty else { return }
    var lowest: Int64 = -1
    for (_, objects) in inserted { for object in objects { lowest = min(lowest, object.rowID) } }
    assigned = [Int64](repeating: 0, count: Int(context.firstTemporaryID - lowest) + 1)
    for (entity, objects) in inserted {
      let last =
        try connection.value(
          "SELECT last FROM vault_ids WHERE entity = ?", [.text(entity.name)])?.int64 ?? 0
      guard last < Int64.max - Int64(objects.count) else {
        throw StoreError.idsExhausted(entity: entity.name)
      }
      for (offset, object) in objects.enumerated() {
        assigned[Int(context.firstTemporaryID - object.rowID)] = last + Int64(offset) + 1
      }
      try connection.execute(
        "INSERT OR REPLACE INTO vault_ids (entity, last) VALUES (?, ?)",
        [.text(entity.name), .integer(last + Int64(objects.count))])
    }
  }

  func finalID(_ id: Int64) -> Int64 {
    let index = Int(context.firstTemporaryID - id)
    return id > 0 || index < 0 || index >= assigned.count || assigned[index] == 0 ? id : assigned[index]
  }

  /// A to-one may hold a temporary id until now.
  @inline(__always)
  func resolved(_ value: SQLValue) -> SQLValue {
    if case .integer(let id) = value, id < 0 { .integer(finalID(id)) } else { value }
  }

  // MARK: Rows

  private func insert(_ objects: [ManagedObject], _ entity: EntityRuntime) throws {
    let (slots, isToOne) = (entity.storedSlots, entity.isToOne)
    try connection.withStatement(sql: entity.insertSQL) { statement in
      for object in objects {
        guard let overlay = object.overlay else { continue }
        try statement.bind(finalID(object.rowID), at: 1)
        var parameter = 2
        for slot in slots {
          if isToOne[slot] {
            try statement.bind(resolved(overlay.values[slot]), at: parameter)
          } else {
            try statement.bind(overlay.values[slot], at: parameter)
          }
          parameter += 1
        }
        try run(statement, for: object)
      }
    }
  }

  private func run(_ statement: Statement, for object: ManagedObject) throws {
    do { _ = try statement.step() } catch SQLError.constraint(let message, let code, let sql) {
      statement.reset()
      throw translated(message, code, sql, object)
    }
    statement.reset()
  }

  /// Groups the changed objects by the columns that changed, so that each shape is prepared once.
  private func update() throws {
    for (entity, objects) in updated {
      var shapes: [SlotSet: [ManagedObject]] = [:]
      for object in objects {
        if let overlay = object.overlay { shapes[overlay.changed, default: []].append(object) }
      }
      for (changed, objects) in shapes {
        let slots = entity.storedSlots.filter(changed.contains)
        let columns = slots.map { "\(entity.slots[$0].column) = ?, " }.joined()
        let sql =
          "UPDATE \(entity.table) SET \(columns)\"_version\" = \"_version\" + 1 WHERE \"id\" = ? AND \"_version\" = ?"
        try connection.withStatement(sql: sql) { statement in
          for object in objects { try update(object, entity, slots, statement) }
        }
      }
    }
  }

  private func update(
    _ object: ManagedObject, _ entity: EntityRuntime, _ slots: [Int], _ statement: Statement
  ) throws {
    guard let overlay = object.overlay else { return }
    var parameter = 1
    for slot in slots {
      try statement.bind(
        entity.isToOne[slot] ? resolved(overlay.values[slot]) : overlay.values[slot], at: parameter)
      parameter += 1
    }
    try statement.bind(object.rowID, at: parameter)
    try statement.bind(object.rowVersion, at: parameter + 1)
    try run(statement, for: object)
    if connection.changes != 1 { throw try conflict(object, slots.map { entity.slots[$0].name }) }
  }

  func conflict(_ object: ManagedObject, _ properties: [String]) throws -> StoreError {
    guard let entity = object.entity else { return .unknownEntity(name: "\(type(of: object))") }
    let found = try connection.value(
      sql: "SELECT \"_version\" FROM \(entity.table) WHERE \"id\" = ?", [.integer(object.rowID)])
    return .conflict(
      Conflict(
        entity: entity.name, rowID: object.rowID, fetchedVersion: object.rowVersion,
        storedVersion: found?.int64, properties: properties))
  }

  private func writeLinks() throws {
    for link in context.links.values where link.isLive && !isLeftOut(link) {
      let (source, target) = (finalID(link.source.rowID), finalID(link.target.rowID))
      // A new object that goes with a deleted one has no row to be linked.
      guard source > 0, target > 0 else { continue }
      let table = quoted(link.join.name)
      let columns = link.join.columns(from: true)
      let ids: [SQLValue] = [.integer(source), .integer(target)]
      if link.isAdded {
        try connection.execute(
          sql: "INSERT OR IGNORE INTO \(table) (\(columns.own), \(columns.other)) VALUES (?, ?)", ids)
      } else {
        try connection.execute(
          sql: "DELETE FROM \(table) WHERE \(columns.own) = ? AND \(columns.other) = ?", ids)
      }
    }
  }

  private func isLeftOut(_ link: PendingLink) -> Bool {
    !leftOut.isEmpty && (leftOut.contains(link.source) || leftOut.contains(link.target))
  }

  func grouped(_ objects: [ManagedObject]) -> [EntityObjects] {
    guard !objects.isEmpty else { return [] }
    // Most saves are of one entity.
    if let map = objects[0].map, objects.allSatisfy({ $0.map === map }) { return [(map.entity, objects)] }
    var groups = [[ManagedObject]](repeating: [], count: core.runtime.entities.count)
    for object in objects { if let entity = object.entity { groups[entity.index].append(object) } }
    return groups.enumerated().filter { !$0.element.isEmpty }.map {
      (core.runtime.entities[$0.offset], $0.element)
    }
  }

  // MARK: After the commit

  /// Makes memory agree with what was written.
  func finish() {
    let count = (inserted + updated).reduce(0) { $0 + $1.objects.count }
    var packer = RowPacker(firstPageBytes: count > 8 ? 65_536 : 512)
    // To-ones of saved objects may hold temporary ids: they are resolved while all objects still have theirs.
    for (entity, objects) in inserted {
      for object in objects { adopt(object, entity, version: 1, &packer) }
    }
    for (entity, objects) in updated {
      for object in objects { adopt(object, entity, version: object.rowVersion + 1, &packer) }
    }
    for object in leftOut { resolveReferences(of: object) }
    for (entity, objects) in inserted {
      let map = context.maps[entity.index]
      for object in objects {
        map.remove(object.rowID, object: Unmanaged.passUnretained(object))
        object.rowID = finalID(object.rowID)
        object.state = .loaded
        map.insert(object, for: object.rowID)
      }
    }
    for object in context.touched { for state in object.toMany.values { state.didSave(but: leftOut) } }
    forgetReleased()
    for object in doomed { context.discard(object) }
    forgetVictims()
    if leftOut.isEmpty {
      context.clearPending()
    } else {
      context.keepPending(
        context.inserted.filter { $0.state == .inserted }, context.updated.filter(leftOut.contains), leftOut)
    }
  }

  /// What stays pending refers to what was saved by its final id from now on.
  private func resolveReferences(of object: ManagedObject) {
    guard let overlay = object.overlay, let entity = object.entity, entity.hasToOne else { return }
    for slot in entity.storedSlots where entity.isToOne[slot] && overlay.changed.contains(slot) {
      overlay.values[slot] = resolved(overlay.values[slot])
    }
  }

  private func adopt(
    _ object: ManagedObject, _ entity: EntityRuntime, version: Int64, _ packer: inout RowPacker
  ) {
    guard let overlay = object.overlay else { return }
    // The overlay is given up with this: it becomes the whole row.
    if object.row != nil || entity.hasToOne {
      for slot in entity.storedSlots {
        if !overlay.changed.contains(slot), let row = object.row {
          overlay.values[slot] = RowCell(row: row, slot: slot).value
        } else if entity.isToOne[slot] {
          overlay.values[slot] = resolved(overlay.values[slot])
        }
      }
    }
    object.row = packer.pack(overlay.values)
    object.page = packer.page
    object.overlay = nil
    object.rowVersion = version
    object.isRegistered = false
  }
}

extension StoreCore {
  /// - Throws: ``StoreError/storeMigratedElsewhere(file:)`` when the store's tables may have changed.
  func checkGeneration(_ connection: Connection) throws {
    let found = try connection.value("SELECT value FROM vault_meta WHERE key = 'generation'")?.int64
    guard found == generation else { throw StoreError.storeMigratedElsewhere(file: path) }
  }
}
