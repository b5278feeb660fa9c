// One save: validate, write, and only after the commit tell the objects. Deletions are in
// SaveOperation+Deletes, what they mark in memory in SaveOperation+Marks, the rules in
// SaveOperation+Validation, values that change hands in SaveOperation+Unique.

internal import CipherSQLite

/// Objects of one entity.
typealias EntityObjects = (entity: EntityMapping, objects: [ManagedObject])

/// Writes a context's changes on one connection, inside a transaction that the caller opened.
///
/// `run()` notes what it changes in memory, and a failure undoes it; `finish()` is called after the commit.
final class SaveOperation {
  let context: ObjectContext
  let connection: Connection
  let core: StoreCore
  let extent: Extent
  /// The new and the changed objects that are written.
  var inserted: [EntityObjects] = []
  var updated: [EntityObjects] = []
  /// New objects that stay pending.
  var leftOut: Set<ManagedObject> = []
  /// Of changed objects, the properties that stay pending.
  var heldBack: [ManagedObject: SlotSet] = [:]
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
  /// What has been written, while somebody listens.
  var record: ChangeCollector?

  /// How much of what is pending is written.
  enum Extent {
    /// All, or nothing.
    case whole
    /// What breaks no rule.
    case partial
    /// The same, and the deletions wait.
    case partialWithoutDeletions
  }
  var isPartial: Bool { extent != .whole }
  /// Whether objects whose unique values collide are left out from now on.
  var waits = false
  var deletes: Bool { extent != .partialWithoutDeletions }

  init(_ context: ObjectContext, _ connection: Connection, _ extent: Extent) {
    self.context = context
    self.connection = connection
    self.extent = extent
    core = context.core
    record = context.records ? ChangeCollector() : nil
    victims = core.mapping.entities.map { _ in [] }
  }

  func run() throws {
    try core.checkGeneration(connection)
    if deletes { try markVictimsInMemory() }
    try validate()
    if deletes { try checkVersions() }
    try assignIDs()
    if deletes { try recordVictims() }
    try writeRowsInAnyOrder()
    do {
      try writeLinks()
      if deletes { try deleteVictims() }
    } catch SQLError.constraint(let message, let code, let sql) {
      throw translated(message, code, sql, nil)
    }
    if isPartial { try writeCollided() }
    try checkReferences()
  }

  /// Inserts and updates, in the order that costs least.
  func writeRows() throws {
    if deletes { try writeLastReferences() }
    for (entity, objects) in inserted { try insert(objects, entity) }
    try update()
  }

  /// What a deleted row stood in the way of.
  private func writeCollided() throws {
    guard !leftOut.isEmpty, victims.contains(where: { !$0.isEmpty }) else { return }
    for (entity, objects) in inserted {
      let collided = objects.filter(leftOut.contains)
      leftOut.subtract(collided)
      try insert(collided, entity)
    }
  }

  // MARK: Ids

  /// Reserves an id for each new object from its entity's high-water mark, which only ever rises: the id of
  /// a deleted row is never given out again.
  private func assignIDs() throws {
    // Those that an earlier flush left out have theirs.
    let new =
      context.flushed == nil
      ? inserted : grouped((inserted.flatMap(\.objects) + leftOut).filter { $0.rowID < 0 })
    var lowest = context.firstTemporaryID
    for (_, objects) in new { for object in objects { lowest = min(lowest, object.rowID) } }
    assigned = [Int64](repeating: 0, count: Int(context.firstTemporaryID - lowest) + 1)
    for (entity, objects) in new {
      let first = try RowIDs(connection: connection).reserve(objects.count, of: entity.name)
      for (offset, object) in objects.enumerated() {
        assigned[Int(context.firstTemporaryID - object.rowID)] = first + Int64(offset)
      }
      context.maps[entity.index].highest = first + Int64(objects.count) - 1
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

  // MARK: Links and groups

  private func writeLinks() throws {
    for link in context.links.values where link.isLive {
      let (source, target) = (finalID(link.source.rowID), finalID(link.target.rowID))
      // A new object that goes with a deleted one has no row to be linked.
      guard source > 0, target > 0 else { continue }
      try connection.execute(
        sql: link.isAdded ? link.join.linkSQL : link.join.unlinkSQL, [.integer(source), .integer(target)])
      recordLink(link, source, target)
    }
  }

  func grouped(_ objects: [ManagedObject]) -> [EntityObjects] {
    guard !objects.isEmpty else { return [] }
    // Most saves are of one entity.
    if let map = objects[0].map, objects.allSatisfy({ $0.map === map }) { return [(map.entity, objects)] }
    var groups = [[ManagedObject]](repeating: [], count: core.mapping.entities.count)
    for object in objects { if let entity = object.entity { groups[entity.index].append(object) } }
    return groups.enumerated().filter { !$0.element.isEmpty }.map {
      (core.mapping.entities[$0.offset], $0.element)
    }
  }
}
