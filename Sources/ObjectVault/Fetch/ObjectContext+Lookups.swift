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
  /// - Throws: ``StoreError/unknownEntity(name:)``, ``StoreError/idOfAnotherStore(entity:rowID:)``;
  ///   ``SQLError``.
  public func objects<Object: ManagedObject>(with ids: [ObjectID<Object>]) throws -> [Object] {
    let map = entity(of: Object.self).map { maps[$0.index] }
    let rows = try ids.compactMap { id -> Int64? in
      guard id.isTemporary else { return try mark.row(of: id) }
      // As for one id: a temporary id is known until the object is saved.
      return temporaryRow(id.rowID, id.store).flatMap { map?.find($0) == nil ? nil : $0 }
    }
    let fetch = fetch(Object.self)
    // The rows are read once, however often an id occurs.
    let found = Dictionary(
      try fetch.objects(withIDs: Array(Set(rows))).map { ($0.id, $0.object) },
      uniquingKeysWith: { first, _ in first })
    return try fetch.finished(rows.compactMap { found[$0] })
  }
}
