// Rows into objects: fetch results, faults of one row, members of one set, and prefetching of many.

internal import CipherSQLite

extension ObjectContext {
  /// The object of a row, as a fault when it is not in memory.
  func object(_ entity: EntityMapping, _ id: Int64) -> ManagedObject {
    let map = maps[entity.index]
    return map.find(id) ?? map.add(id)
  }

  /// The object with this id, its row fetched.
  /// - Returns: nil when there is no such row, or the object is deleted.
  /// - Throws: ``StoreError/unknownEntity(name:)``, ``StoreError/idOfAnotherStore(entity:rowID:)``; ``SQLError``.
  public func existing<Object: ManagedObject>(_ id: ObjectID<Object>) throws -> Object? {
    guard let map = unsafe map(of: Object.self) else {
      throw StoreError.unknownEntity(name: "\(Object.self)")
    }
    let row = try core.mark.row(of: id)
    // Most look-ups end here: to find what is in memory takes less time than a call, or than to retain the map. Nor is
    // there an Optional.map: in code that is generic over the class it takes longer than all the rest.
    var found = unsafe map._withUnsafeGuaranteedRef { $0.findOpen(row) }
    if found == nil { found = try fetched(unsafe map.takeUnretainedValue().entity, row) }
    guard let found else { return nil }
    return unsafe unsafeDowncast(found, to: Object.self)
  }

  /// The object of a row that somebody named; nil when there is none.
  func existing(_ entity: EntityMapping, _ row: Int64) throws -> ManagedObject? {
    if let known = maps[entity.index].findOpen(row) { return known }
    return try fetched(entity, row)
  }

  @inline(never) private func fetched(_ entity: EntityMapping, _ row: Int64) throws -> ManagedObject? {
    if let known = maps[entity.index].find(row) {
      return known.state == .fault ? try loadIfThere(known) ? known : nil : nil
    }
    guard row > 0 else { return nil }
    return try fetchRow(entity, row)
  }

  /// Fills a fault, or throws.
  func load(_ object: ManagedObject) throws {
    guard try loadIfThere(object) else {
      throw StoreError.objectGone(entity: object.entity?.name ?? "", rowID: object.rowID)
    }
  }

  private func loadIfThere(_ object: ManagedObject) throws -> Bool {
    guard let entity = object.entity else { return false }
    if try fetchRow(entity, object.rowID) != nil { return true }
    object.state = .invalid
    return false
  }

  private func fetchRow(_ entity: EntityMapping, _ id: Int64) throws -> ManagedObject? {
    statistics.queries += 1
    return try withConnection { connection in
      try connection.withStatement(sql: entity.rowSQL) { statement in
        try statement.bind(id, at: 1)
        guard try statement.step() else { return nil }
        statistics.rows += 1
        // Taken out: an initializer of an entity's class may fire another fault.
        var packer = rowPacker.take() ?? RowPacker(firstPageBytes: 512, pageBytes: 4096)
        defer { rowPacker = packer }
        return RowReader(entity, self).read(statement, &packer)
      }
    }
  }

  /// Fills a fault for a getter: an error is noted, and the object becomes invalid.
  func fire(_ object: ManagedObject) {
    statistics.faultsFired += 1
    do { try load(object) } catch {
      object.state = .invalid
      note(error)
    }
  }

  /// All objects of a query whose columns are those of ``EntityMapping/objectColumns``.
  /// - Parameter values: Of its question marks.
  func objects(_ entity: EntityMapping, _ query: RowsQuery, _ values: [SQLValue]) throws -> [ManagedObject] {
    if case .whole(_, let split) = query {
      return try counted(SplitScan(whole: query, split: split, entity: entity, context: self).objects)
    }
    return try counted {
      try withConnection { try RowCollector(entity, self).all(query, values, on: $0) }
    }
  }

  /// Runs one query, and counts it and its rows.
  private func counted(_ query: () throws -> [ManagedObject]) throws -> [ManagedObject] {
    statistics.queries += 1
    let found = try query()
    statistics.rows += found.count
    return found
  }

  /// The objects of some rows, by one query.
  func rows(_ ids: [Int64], of entity: EntityMapping) throws -> [ManagedObject] {
    guard ids.count > 1 else {
      return try ids.first.map { try objects(entity, .stepped(entity.rowSQL), [.integer($0)]) } ?? []
    }
    return try counted {
      try withConnection { try RowCollector(entity, self).all(entity.fedRowsQuery, of: ids, on: $0) }
    }
  }

  /// That an entity's objects are of a class.
  /// - Throws: ``StoreError/unknownEntity(name:)`` when they are not.
  func proof<Object: ManagedObject>(
    _ type: Object.Type, _ entity: EntityMapping
  ) throws(StoreError) -> ClassProof<Object> {
    if let proof = ClassProof<Object>(maps[entity.index]) { return proof }
    throw .unknownEntity(name: "\(type)")
  }

  // MARK: Members of a to-many

  func fireMembers(of owner: ManagedObject, _ slot: Int, _ state: ToManyState) {
    guard let entity = owner.entity, let relationship = entity.slots[slot].relationship else { return }
    statistics.faultsFired += 1
    do {
      let members = try objects(
        relationship.destination, .stepped(relationship.membersSQL), [.integer(owner.rowID)])
      state.adopt(members)
    } catch {
      note(error)
    }
  }

  // MARK: Prefetching

  /// Fills a relationship of many objects with one query.
  func prefetch(_ slot: Int, of owners: [ManagedObject]) throws {
    guard let relationship = owners.first?.entity?.slots[slot].relationship else { return }
    if relationship.isToMany {
      try prefetchMembers(relationship, of: owners)
    } else {
      var faults: [Int64] = []
      for owner in owners {
        if let target = owner.toOneTarget(slot), target.state == .fault { faults.append(target.rowID) }
      }
      // Sorted, and each once, without a set of objects, which costs as much as the rest.
      faults.sort()
      var last: Int64?
      faults.removeAll { id in
        defer { last = id }
        return id == last
      }
      _ = try rows(faults, of: relationship.destination)
    }
  }

  /// The objects at the other end of a relationship that was prefetched, each once, whether they were known before or not.
  func otherEnds(_ slot: Int, of owners: [ManagedObject]) -> [ManagedObject] {
    guard let relationship = owners.first?.entity?.slots[slot].relationship else { return [] }
    return Array(
      relationship.isToMany
        ? Set(owners.lazy.flatMap { $0.members(slot).members ?? [] })
        : Set(owners.lazy.compactMap { $0.toOneTarget(slot) }))
  }

  private func prefetchMembers(_ relationship: RelationshipMapping, of owners: [ManagedObject]) throws {
    let waiting = owners.filter { $0.members(relationship.slot).members == nil && $0.rowID > 0 }
    guard !waiting.isEmpty else { return }
    let collector = RowCollector(relationship.destination, self, collectsOwners: true)
    // An owner that was fetched twice has its members once.
    let ids = Set(waiting.map(\.rowID)).sorted()
    let found = try counted {
      try withConnection { try collector.all(relationship.fedMembersQuery, of: ids, on: $0) }
    }
    var members: [Int64: [ManagedObject]] = [:]
    for (owner, member) in zip(collector.owners, found) { members[owner, default: []].append(member) }
    for owner in waiting { owner.members(relationship.slot).adopt(members[owner.rowID] ?? []) }
  }
}
