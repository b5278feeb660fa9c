// Fetches by names, in a store that was opened without classes.

extension ObjectContext {
  /// Returns a fetch of all objects of an entity, to be narrowed down, in a store that was opened without
  /// classes.
  ///
  /// ```swift
  /// let found = try context.fetch(entity: "Status")
  ///   .where("user.name == %@ AND text CONTAINS %@", "Binger", "Watch")
  ///   .sorted(byPath: "createdAt", .reverse)
  ///   .limit(20)
  ///   .all()
  /// ```
  ///
  /// The methods that run the fetch throw ``StoreError/noEntity(name:similar:)`` for a name that the
  /// model does not have, and ``StoreError/openedWithClasses(entity:)`` in a store with classes.
  /// - Parameter name: The entity's name.
  /// - Returns: The fetch.
  public func fetch(entity name: String) -> Fetch<DynamicObject> {
    Fetch(ObjectRequest(entity: name), in: self)
  }
}

extension Fetch where Object == DynamicObject {
  /// Returns the ids of the objects, in the order of the fetch if it is sorted. No objects are made, unless
  /// pending changes affect the fetch.
  ///
  /// Each id contains the object's own entity: if the fetched entity has subentities, a second statement
  /// reads the entities.
  /// - Returns: The ids.
  /// - Throws: The errors of ``all()``.
  public func ids() throws -> [DynamicID] {
    let entity = try known()
    guard entity.hasChildren else {
      return try rowIDs { DynamicID(entity: entity.name, rowID: $0, of: context.mark(of: $0)) }
    }
    let ids = try rowIDs { $0 }
    let map = context.maps[entity.index]
    let known = { id in map.find(id) ?? context.promised(map, id) }
    let unknown = ids.filter { known($0) == nil }
    let found = try ContextReader(context: context).entities(of: unknown, entity)
    let names = Dictionary(found.map { ($0.id, $0.entity.name) }) { first, _ in first }
    return ids.map { id in
      DynamicID(
        entity: names[id] ?? known(id)?.entity?.name ?? entity.name, rowID: id, of: context.mark(of: id))
    }
  }
}
