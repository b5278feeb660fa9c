// Makes objects of rows: fetch results, faults of single rows, members of to-manys, and prefetching.

internal import CipherSQLite

extension ObjectContext {
  /// Returns the object that a relationship refers to; a fault if the object is not in memory. For an
  /// entity with subentities the row determines the class, so the row is read at once, and the result is
  /// nil if there is none. With `tells`, a missing row is noted as an error.
  func target(of relationship: RelationshipMapping, _ id: Int64, tells: Bool) -> ManagedObject? {
    let entity = relationship.destination
    let map = maps[entity.index]
    faultLog?.willRead(id, table: map.table, by: relationship)
    if let known = map.find(id) {
      if known.state == .invalid { return foundAgain(known, entity) }
      if !entity.isInHierarchy || entity.includes(known.entity) { return known }
      // The reference is wrong: an object of another class is never returned as one of this class.
      if tells { note(StoreError.objectGone(entity: entity.name, rowID: id)) }
      return nil
    }
    return entity.hasChildren ? readNow(entity, id, tells: tells) : map.add(id)
  }

  /// Returns the object of a row that was missing at the last read, and may exist again. That read noted
  /// the missing row as an error.
  private func foundAgain(_ known: ManagedObject, _ entity: EntityMapping) -> ManagedObject? {
    do { if let found = try read(known, as: entity) { return found } } catch { note(error) }
    return entity.includes(known.entity) ? known : nil
  }

  private func readNow(_ entity: EntityMapping, _ id: Int64, tells: Bool) -> ManagedObject? {
    countFault(id, table: maps[entity.index].table)
    do {
      if let object = try fetchRow(entity, id) { return object }
      if tells { note(StoreError.objectGone(entity: entity.name, rowID: id)) }
    } catch { note(error) }
    return nil
  }

  // @inlinable, because a lookup in memory takes less time than two calls. With calls, looking up 50,000
  // objects in memory took 0.13 of the time of the hand-written loop; inlined, 0.09.
  /// Returns the object with an id, with its row in memory.
  /// - Parameter id: The id of the object.
  /// - Returns: The object; nil when there is neither such a row nor such a new object, or when the
  ///   object is deleted.
  /// - Throws: ``StoreError/unknownEntity(name:)``, ``StoreError/idOfAnotherStore(entity:rowID:)``;
  ///   ``SQLError``.
  @inlinable @inline(__always)
  public func existing<Object: ManagedObject>(_ id: ObjectID<Object>) throws -> Object? {
    // Safe: the table belongs to the class and has only its objects, and an object that is found there is
    // alive.
    if let last = unsafe lastMap, last.type == ObjectIdentifier(Object.self), mark.admits(id.store),
      let dense = unsafe last.dense, let address = unsafe dense.pointee.find(id.rowID)
    {
      let found = unsafe Unmanaged<Object>.fromOpaque(address)
      if unsafe found._withUnsafeGuaranteedRef({ $0.state == .loaded || $0.state == .inserted }) {
        return unsafe found.takeUnretainedValue()
      }
    }
    return try found(id)
  }

  /// Returns the object with an id, in memory or in the file: the part of ``existing(_:)`` that is not
  /// inlined.
  @usableFromInline @inline(never)
  func found<Object: ManagedObject>(_ id: ObjectID<Object>) throws -> Object? {
    mergeArrived()
    guard let map = unsafe map(of: Object.self) else {
      throw StoreError.unknownEntity(name: "\(Object.self)")
    }
    guard let row = try row(of: id) else {
      return nil
    }
    // No Optional.map: in code that is generic over the class it takes longer than everything else here.
    // The context retains the map.
    return try unsafe map._withUnsafeGuaranteedRef { map in
      guard let found = try map.findOpen(row) ?? fetched(map, row) else { return nil }
      return unsafe unsafeDowncast(found, to: Object.self)
    }
  }

  /// Returns the row of an id, which may be the temporary one of an object of this context.
  func row<Object>(of id: ObjectID<Object>) throws -> Int64? {
    try id.isTemporary
      ? row(ofTemporary: id.rowID, of: id.store, "\(Object.self)") : mark.row(of: id)
  }

  /// Returns the row of an id, as for an ``ObjectID``.
  func row(of id: DynamicID) throws -> Int64? {
    try id.isTemporary ? row(ofTemporary: id.rowID, of: id.store, id.entity) : mark.row(of: id)
  }

  /// Returns the row of a temporary id: the final id if the object was saved since.
  /// - Returns: nil for a negative number that no context has given.
  /// - Throws: ``StoreError/temporaryID(entity:)`` for an id that another context has given.
  func row(ofTemporary id: Int64, of store: StoreFingerprint, _ entity: @autoclosure () -> String) throws
    -> Int64?
  {
    guard store.isKnown else { return nil }
    guard store == former.temporary else { throw StoreError.temporaryID(entity: entity()) }
    return settledIDs.final(id) ?? id
  }

  func target(withID id: Int64, of entity: EntityMapping) throws -> ManagedObject? {
    try existing(entity, id < 0 ? settledIDs.final(id) ?? id : id)
  }

  /// Returns the object of a row that the caller named; nil when there is no such row.
  func existing(_ entity: EntityMapping, _ row: Int64) throws -> ManagedObject? {
    mergeArrived()
    let map = maps[entity.index]
    return try map.findOpen(row) ?? fetched(map, row)
  }

  @inline(never) private func fetched(_ map: IdentityMap, _ row: Int64) throws -> ManagedObject? {
    let entity = map.entity
    if let known = map.find(row) ?? promised(map, row) {
      switch known.state {
      // The row of another entity in the inheritance hierarchy is no row of this entity.
      case .loaded, .inserted: return entity.includes(known.entity) ? known : nil
      case .fault, .invalid: return try read(known, as: entity)
      case .deleted, .detached: return nil
      }
    }
    guard row > 0 else { return nil }
    return try fetchRow(entity, row)
  }

  /// Reads the row of a fault, or throws.
  func load(_ object: ManagedObject) throws {
    guard let entity = object.entity, try read(object, as: entity) === object else {
      throw StoreError.objectGone(entity: object.nameOfEntity, rowID: object.rowID)
    }
  }

  /// Reads the row of an object whose row is not in memory. When the file has no such row, the object
  /// becomes invalid, until a row with its id is found again. Nothing but a missing row makes a saved
  /// object invalid here: a read that fails proves nothing about the row.
  /// - Parameter entity: The entity whose rows are wanted.
  /// - Returns: The object of the row; another object if another program has changed the entity of the
  ///   row; nil if there is no row of the entity.
  private func read(_ object: ManagedObject, as entity: EntityMapping) throws -> ManagedObject? {
    try notifyingObservers {
      let found = try fetchRow(entity, object.rowID)
      if found == nil, entity.includes(object.entity) { object.loseRow() }
      return found
    }
  }

  private func fetchRow(_ entity: EntityMapping, _ id: Int64) throws -> ManagedObject? {
    statistics.queries += 1
    let found = try singleRow(entity, id)
    if found != nil { statistics.rows += 1 }
    return found
  }

  private func singleRow(_ entity: EntityMapping, _ id: Int64) throws -> ManagedObject? {
    guard let connection = access.connection, !entity.isInHierarchy else {
      return try anyRow(entity, id)
    }
    if single.readers.isEmpty { single.readers = Array(repeating: nil, count: maps.count) }
    let rows = single.readers[entity.index] ?? SingleRows(entity, in: maps, run: run, on: connection)
    guard !rows.isReading else { return try anyRow(entity, id) }
    single.readers[entity.index] = rows
    defer { awake() }
    return try told(connection) { _ in try rows.row(id) }
  }

  /// Reads a single row in any context and of any entity; ``singleRow(_:_:)`` is the fast path.
  private func anyRow(_ entity: EntityMapping, _ id: Int64) throws -> ManagedObject? {
    try withConnection { connection in
      try connection.withStatement(sql: entity.rowSQL) { statement in
        try statement.bind(id, at: 1)
        guard try statement.step() else { return nil }
        // The packer is taken out of the context while it is in use: the initializer of a class may fire
        // another fault.
        var packer = single.packer.take() ?? RowPacker(firstPageBytes: 512, pageBytes: 4096)
        defer { single.packer = packer }
        return entity.isInHierarchy
          ? try HierarchyReader(entity, isBranch: true, maps).read(statement, &packer)
          : RowReader(entity, maps).read(statement, &packer)
      }
    }
  }

  /// Reads the row of a fault for a getter; an error is noted. If the row is missing, the object becomes
  /// invalid. After any other error the object stays a fault, and the next getter reads again.
  func fire(_ object: ManagedObject) {
    countFault(object.rowID, table: object.map?.table)
    do { try load(object) } catch { note(error) }
  }

  /// Reads values that a fetch left out of an object's row: a lazy attribute alone, any other together with
  /// all that are not lazy. If the row is missing, the object becomes invalid.
  func complete(_ object: ManagedObject, for slot: Int?) throws {
    guard object.isPartial, object.state != .invalid, let entity = object.entity else { return }
    try notifyingObservers { try complete(object, of: entity, for: slot) }
  }

  private func complete(_ object: ManagedObject, of entity: EntityMapping, for slot: Int?) throws {
    if let slot, entity.lazySlots.contains(slot) { return try readLazy(slot, of: object, entity) }
    guard object.lacksFetched else { return }
    countFault(object.rowID, table: object.map?.table)
    guard object.overlay == nil, object.state == .loaded else {
      if try read(entity.fetchedSlots, of: [object], entity).isEmpty {
        throw StoreError.objectGone(entity: entity.name, rowID: object.rowID)
      }
      return
    }
    try reload(object)
  }

  /// Reads the whole row of an object without changes, and keeps the version that it had.
  private func reload(_ object: ManagedObject) throws {
    let version = object.rowVersion
    try load(object)
    if let table = object.map?.table {
      reloadedVersions[table, default: [:]][object.rowID] = object.rowVersion
    }
    // The program has read values of the former version. If the row has another one by now, a save of
    // this object finds the conflict; the next fetch of the row makes the object current.
    if object.state == .loaded { object.rowVersion = version }
  }

  private func readLazy(_ slot: Int, of object: ManagedObject, _ entity: EntityMapping) throws {
    statistics.faultsFired += 1
    faultLog?.didRead(entity.slots[slot].name, of: entity.name)
    let isClean = object.overlay == nil && object.state == .loaded
    guard let version = try read([slot], of: [object], entity)[object.rowID] else {
      if isClean { object.loseRow() }
      throw StoreError.objectGone(entity: entity.name, rowID: object.rowID)
    }
    guard isClean, version != object.rowVersion,
      object.map.flatMap({ reloadedVersions[$0.table]?[object.rowID] }) != version
    else { return }
    // All values of the object become those of the row's present version.
    try reload(object)
    if object.state == .loaded { _ = try read([slot], of: [object], entity) }
  }

  /// Reads some slots of the rows of objects, and keeps the other values and the versions that the objects
  /// have: if a row has another version by now, a save of its object finds the conflict.
  /// - Parameter objects: Objects of the entity that have their rows in memory.
  /// - Returns: The versions of the rows, by id; rows that do not exist are missing.
  @discardableResult
  private func read(_ slots: [Int], of objects: [ManagedObject], _ entity: EntityMapping) throws
    -> [Int64: Int64]
  {
    var versions: [Int64: Int64] = [:]
    var packer = RowPacker(firstPageBytes: objects.count > 8 ? 65_536 : 512, pageBytes: 65_536)
    for batch in objects.chunked(batchSize) {
      let byID = Dictionary(batch.map { ($0.rowID, $0) }, uniquingKeysWith: { first, _ in first })
      statistics.queries += 1
      try withConnection { connection in
        try connection.withStatement(sql: entity.slotsSQL(slots, count: batch.count)) { statement in
          try statement.bind(batch.map { .integer($0.rowID) })
          while try statement.step() {
            let id = statement.int64(0)
            versions[id] = statement.int64(1)
            if let object = byID[id] { add(slots, of: statement, to: object, packer: &packer, entity) }
          }
        }
      }
    }
    statistics.rows += versions.count
    return versions
  }

  /// Adds the slots of a statement's current row to the row that an object has in memory.
  private func add(
    _ slots: [Int], of statement: Statement, to object: ManagedObject, packer: inout RowPacker,
    _ entity: EntityMapping
  ) {
    var reader = RowPacker(firstPageBytes: 512, pageBytes: 4096)
    let read = unsafe reader.pack(
      statement, firstColumn: 2, slots: slots, slotCount: entity.slotCount, others: RowCell.absent)
    // Retains both pages while the new row is packed.
    let pages = (reader.page, object.page)
    let joined = packer.pack(slotCount: entity.slotCount) { slot in
      let cell = object.packedCell(slot)
      return cell?.isAbsent == false ? cell : unsafe RowCell(row: read, slot: slot)
    }
    withExtendedLifetime(pages) {}
    unsafe object.row = unsafe joined.cells
    object.page = joined.page
    object.isPartial = entity.storedSlots.contains { object.packedCell($0)?.isAbsent == true }
  }

  /// Reads the saved values of lazy attributes that were not read yet, with a query for 500 objects. Rows
  /// that do not exist are left out.
  /// - Parameter isNeeded: Returns whether the value of a slot of an object is needed.
  func readLazyValues(of objects: [ManagedObject], where isNeeded: (ManagedObject, Int) -> Bool) throws {
    struct Attribute: Hashable { let entity, slot: Int }
    var waiting: [Attribute: [ManagedObject]] = [:]
    for object in objects where object.isPartial && object.hasRow {
      guard let entity = object.entity else { continue }
      for slot in entity.lazySlots
      where object.packedCell(slot)?.isAbsent == true && isNeeded(object, slot) {
        waiting[Attribute(entity: entity.index, slot: slot), default: []].append(object)
      }
    }
    for (attribute, objects) in waiting {
      try read([attribute.slot], of: objects, core.mapping.entities[attribute.entity])
    }
  }

  /// Counts a row that is read alone because a property was accessed.
  private func countFault(_ id: Int64, table: Int?) {
    statistics.faultsFired += 1
    if let table { faultLog?.didRead(id, table: table) }
  }

  /// Returns a scan that reads rows of an entity and its subentities.
  /// - Parameter slots: The slots that are read; nil for all but lazy ones.
  func scan(_ entity: EntityMapping, slots: [Int]? = nil) -> Scan {
    Scan(entity: entity, context: self, slots: slots)
  }

  /// Returns the ids that a query of one column finds.
  func ids(_ text: String, _ values: [SQLValue]) throws -> [Int64] {
    statistics.queries += 1
    return try withConnection { connection in
      try connection.query(sql: text, values) { $0.int64(0) }
    }
  }

  /// Returns the proof that the objects of an entity are of a class.
  /// - Throws: ``StoreError/unknownEntity(name:)`` when they are not.
  func proof<Object: ManagedObject>(
    _ type: Object.Type, _ entity: EntityMapping
  ) throws(StoreError) -> ClassProof<Object> {
    if let proof = ClassProof<Object>(maps[entity.index]) { return proof }
    throw .unknownEntity(name: "\(type)")
  }

  // MARK: Members of a to-many

  func loadMembers(of owner: ManagedObject, _ slot: Int, _ state: ToManyState) throws {
    guard let entity = owner.entity, let relationship = entity.slots[slot].relationship else { return }
    statistics.faultsFired += 1
    faultLog?.didRead(relationship)
    state.adopt(
      try scan(relationship.destination).objects(
        .stepped(relationship.membersSQL), [.integer(owner.rowID)]))
  }

  // MARK: Prefetching

  /// Reads one relationship of many objects with one query.
  func prefetch(_ relationship: RelationshipMapping, of owners: [ManagedObject]) throws {
    guard !owners.isEmpty else { return }
    if relationship.hasMembers {
      try prefetchMembers(relationship, of: owners)
    } else {
      let slot = relationship.slot
      var faults: [Int64] = []
      if relationship.destination.hasChildren {
        // A target's class is unknown until its row is read. The query below reads the rows of all
        // targets; otherwise each would need a query of its own.
        let map = maps[relationship.destination.index]
        for owner in owners {
          guard let id = owner.storedValue(slot)?.int64, id > 0, map.find(id)?.isUnread != false else {
            continue
          }
          faults.append(id)
        }
      } else {
        let map = maps[relationship.destination.index]
        owners.forEachUnretained { owner in
          if let fault = owner.toOneFault(slot, in: map) { faults.append(fault) }
        }
      }
      // The ids are sorted and without duplicates. A set of objects would cost as much as the rest of the
      // function.
      let found = try scan(relationship.destination).rows(RowIDSet(faults).ids)
      guard relationship.destination.hasChildren else { return }
      // Nothing else retains the objects yet.
      withExtendedLifetime(found) { for owner in owners { _ = owner.toOneTarget(slot) } }
    }
  }

  /// Reads a lazy attribute of many objects with one query, and one more for 500 objects with pending
  /// changes.
  func prefetch(lazy slot: Int, of owners: [ManagedObject], _ entity: EntityMapping) throws {
    let waiting = owners.filter { $0.isPartial && $0.packedCell(slot)?.isAbsent == true }
    let isClean = { (object: ManagedObject) in object.overlay == nil && object.state == .loaded }
    _ = try scan(entity, slots: [slot]).rows(RowIDSet(waiting.filter(isClean).map(\.rowID)).ids)
    try readLazyValues(of: waiting.filter { !isClean($0) }) { $1 == slot }
  }

  /// Returns the targets or members of a prefetched relationship, each once, including those that were in
  /// memory before.
  func otherEnds(_ relationship: RelationshipMapping, of owners: [ManagedObject]) -> [ManagedObject] {
    let slot = relationship.slot
    return Array(
      relationship.hasMembers
        ? Set(owners.lazy.flatMap { $0.members(slot).members ?? [] })
        : Set(owners.lazy.compactMap { $0.toOneTarget(slot) }))
  }

  private func prefetchMembers(_ relationship: RelationshipMapping, of owners: [ManagedObject]) throws {
    let waiting = owners.filter { $0.members(relationship.slot).members == nil && $0.rowID > 0 }
    guard !waiting.isEmpty else { return }
    // An owner that was fetched twice gets its members once.
    let found = try scan(relationship.destination).members(
      relationship, of: Set(waiting.map(\.rowID)).sorted())
    var members: [Int64: [ManagedObject]] = [:]
    for (owner, member) in zip(found.owners, found.members) { members[owner, default: []].append(member) }
    for owner in waiting { owner.members(relationship.slot).adopt(members[owner.rowID] ?? []) }
  }
}

extension ObjectContext: ScanContext {
  var pool: ConnectionPool? { pinned == nil ? access.readers : nil }

  var generationCheck: @Sendable (Connection) throws -> Void { core.checkGeneration }

  func lastCount(of entity: EntityMapping) -> Locked<Int?> { core.lastCounts[entity.index] }

  func keep(_ lookup: LateLookup, of entity: EntityMapping) { core.plans[entity.index].keep(lookup) }

  func recordQuery(rows: Int) {
    statistics.queries += 1
    statistics.rows += rows
  }

  func countReadAhead(_ rows: Int) { statistics.rowsReadAhead += rows }
}
