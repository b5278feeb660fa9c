// Objects by several ids.

extension ObjectContext {
  /// Returns the objects with some ids, in the order of the ids. One query reads their rows.
  ///
  /// ```swift
  /// let ids = try await store.read { try $0.fetch(Item.self).ids() }
  /// let items = try context.objects(with: ids)
  /// ```
  /// - Parameter ids: The ids, each as often as wanted.
  /// - Returns: The objects. Ids without an object, and those of deleted objects, are left out.
  /// - Throws: ``StoreError/unknownEntity(name:)``, ``StoreError/idOfAnotherStore(entity:rowID:)``,
  ///   ``StoreError/temporaryID(entity:)``; ``SQLError``.
  public func objects<Object: ManagedObject>(with ids: [ObjectID<Object>]) throws -> [Object] {
    let map = entity(of: Object.self).map { maps[$0.index] }
    let rows = try ids.compactMap { id -> Int64? in
      guard let row = try row(of: id) else { return nil }
      return row < 0 && map?.find(row) == nil ? nil : row
    }
    let fetch = fetch(Object.self)
    // The rows are read once, however often an id occurs.
    let found = Dictionary(
      try fetch.objects(withIDs: Array(Set(rows))).map { ($0.id, $0.object) },
      uniquingKeysWith: { first, _ in first })
    return try fetch.finished(rows.compactMap { found[$0] })
  }

  /// Returns the objects with some ids of any entities, in the order of the ids: for code that does not know
  /// the classes. One query for each entity reads their rows.
  /// - Parameter ids: The ids, each as often as wanted.
  /// - Returns: The objects, ``DynamicObject``s in a store that was opened without classes. Ids without an
  ///   object, and those of deleted objects, are left out.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/idOfAnotherStore(entity:rowID:)``,
  ///   ``StoreError/temporaryID(entity:)``; ``SQLError``.
  public func objects(with ids: [DynamicID]) throws -> [ManagedObject] {
    var rows: [String: Set<Int64>] = [:]
    let places = try ids.map { id -> DynamicID? in
      let entity = try core.mapping.known(id.entity)
      guard let row = try row(of: id), row > 0 || maps[entity.index].find(row) != nil else { return nil }
      rows[entity.name, default: []].insert(row)
      return DynamicID(entity: entity.name, rowID: row)
    }
    mergeArrived()
    var found: [DynamicID: ManagedObject] = [:]
    for (name, rows) in rows {
      for (row, object) in try objects(of: core.mapping.known(name), withIDs: rows.sorted()) {
        found[DynamicID(entity: name, rowID: row)] = object
      }
    }
    return places.compactMap { $0.flatMap { found[$0] } }
  }
}
