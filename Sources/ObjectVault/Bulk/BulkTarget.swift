// What bulk calls do with the objects of one entity: the part that differs between classes and names.

internal import CipherSQLite

/// The entity of a bulk call, and how its objects are made.
struct BulkTarget<Object: ManagedObject, ID: Hashable & Sendable> {
  let context: ObjectContext
  let entity: EntityMapping
  /// Makes a new object.
  let insert: (_ configure: (Object) throws -> Void) throws -> Object
  /// Returns the id of an object.
  let id: (Object) -> ID
}

extension ObjectContext {
  /// Returns the target for the objects of a class.
  /// - Throws: ``StoreError/unknownEntity(name:)``.
  func target<Object: ManagedObject>(
    _ type: Object.Type
  ) throws(StoreError) -> BulkTarget<Object, ObjectID<Object>> {
    guard let entity = entity(of: type) else { throw .unknownEntity(name: "\(type)") }
    return BulkTarget(context: self, entity: entity) { configure in
      try self.insert(type, configure)
    } id: { object in
      let id = object.visibleRowID
      return ObjectID(rowID: id, of: self.mark(of: id))
    }
  }

  /// Returns the target for the objects of an entity without a class.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/openedWithClasses(entity:)``.
  func target(entity name: String) throws(StoreError) -> BulkTarget<DynamicObject, DynamicID> {
    let entity = try core.entity(named: name)
    return BulkTarget(context: self, entity: entity) { configure in
      try self.insert(entity: name, configure)
    } id: {
      $0.id
    }
  }
}

extension BulkTarget {
  /// Inserts an object for each row.
  /// - Throws: Why objects cannot be inserted now; what `configure` throws.
  func insert<Row>(_ rows: some Sequence<Row>, _ configure: (Object, Row) throws -> Void) throws -> [Object] {
    var made: [Object] = []
    made.reserveCapacity(rows.underestimatedCount)
    for row in rows {
      if let refusal = context.refusal { throw refusal }
      made.append(try insert { try configure($0, row) })
    }
    return made
  }

  /// Inserts an object for each row, and saves after each block but the last one, whose save is that of the
  /// transaction.
  /// - Returns: The number of objects.
  func insert<Row>(saving blocks: RowBlocks<Row>, _ configure: (Object, Row) throws -> Void) throws -> Int {
    var (count, size) = (0, BlockSize())
    while let block = try blocks.next(size.count) {
      try context.saveBlock()
      let made = try insert(block, configure)
      count += made.count
      size.didWrite(rows: made.count, bytes: made.reduce(0) { $0 + $1.pendingByteCount })
    }
    return count
  }

  /// Returns the object with a key, or inserts one.
  func findOrInsert(
    by names: [String], parts: (UniqueKey) -> [KeyPart], _ configure: (Object) throws -> Void
  ) throws -> Object {
    let key = try UniqueKey(names, of: entity)
    let values = try key.values(parts(key), row: nil)
    if let found = try KeyLookup(key, in: context).one(values) as? Object { return found }
    return try insert(values, of: key, configure)
  }

  /// Inserts an object with the values of a key.
  func insert(_ values: KeyValues, of key: UniqueKey, _ configure: (Object) throws -> Void) throws -> Object {
    if let refusal = context.refusal { throw refusal }
    return try insert { object in
      for (slot, value) in zip(key.slots, values.stored) { object.setStored(value, slot) }
      try configure(object)
    }
  }
}

extension ObjectContext {
  /// Saves the changes of a block of rows, inside a transaction, and releases the objects.
  func saveBlock() throws {
    guard pending.mayBeLive else { return }
    try save()
    // Objects that refer to each other would live as long as the context.
    for object in maps.objects { object.forgetFetchedMembers(keepsOrders: false) }
  }
}

extension ManagedObject {
  /// The bytes of the values that were written and not saved.
  fileprivate final var pendingByteCount: Int { withOverlay { $0.values.byteCount } ?? 0 }
}
