// Exporting objects: of one object, and of all objects of a fetch.

extension ManagedObject {
  /// Returns the object as a value for an encoder, with the properties that paths name.
  ///
  /// ```swift
  /// let value = try user.encoded("name", "city", "statuses.text")
  /// let json = try JSONEncoder().encode(value)
  /// ```
  ///
  /// A path that ends at a relationship includes all attributes of its objects, and no path at all those of
  /// this object: those of subentities, too, which an import of the parent entity does not know. A to-one
  /// gives an object or null, a to-many an array: in its order, otherwise by id.
  /// ``ObjectContext/importJSON(_:into:mapping:)`` with the same mapping reads it back. Pending changes
  /// count.
  ///
  /// Reads the rows that are not in memory, one query for each relationship of each object. For many objects
  /// use `fetch.encoded`, which prefetches them.
  /// - Parameters:
  ///   - paths: The names of properties, with dots through relationships.
  ///   - mapping: The keys, and the form of dates.
  /// - Returns: The value.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)``; ``StoreError/objectGone(entity:rowID:)``,
  ///   ``StoreError/noContext(entity:property:)``; ``SQLError``.
  public func encoded(_ paths: String..., mapping: JSONMapping = JSONMapping()) throws -> EncodedObject {
    try EncodedPaths(named: paths, of: encodedEntity(), mapping).encoded(self)
  }
}

extension ManagedObject {
  /// Returns the entity of an object to be exported.
  /// - Throws: ``StoreError/objectGone(entity:rowID:)``, ``StoreError/noContext(entity:property:)``.
  fileprivate func encodedEntity() throws(StoreError) -> EntityMapping {
    if state == .invalid { throw .objectGone(entity: nameOfEntity, rowID: rowID) }
    guard let origin else { throw .noContext(entity: nameOfEntity, property: "encoded") }
    return origin
  }
}

extension Persistable where Self: ManagedObject {
  /// Returns the object as a value for an encoder, with the properties of key paths.
  ///
  /// ```swift
  /// let json = try JSONEncoder().encode(user.encoded(\.name, \.statuses))
  /// ```
  ///
  /// Works as the call with names. A key path leads through to-ones, `\.user.name`; for properties of the
  /// members of a to-many, use names.
  /// - Parameters:
  ///   - first: A property.
  ///   - others: Further properties.
  ///   - mapping: The keys, and the form of dates.
  /// - Returns: The value.
  /// - Throws: As the call with names; ``StoreError/predicate(_:)`` for a key path that is no property.
  public func encoded(
    _ first: PartialKeyPath<Self>, _ others: PartialKeyPath<Self>..., mapping: JSONMapping = JSONMapping()
  ) throws -> EncodedObject {
    let paths = try ([first] + others).map { try $0.propertyNames }
    return try EncodedPaths(paths, of: encodedEntity(), mapping).encoded(self)
  }
}

extension Fetch {
  /// Returns the objects of the fetch as values for an encoder, with the properties that paths name.
  ///
  /// ```swift
  /// let users = try context.fetch(User.self).sorted(by: \.name)
  ///   .encoded("name", "statuses.text")
  /// let json = try JSONEncoder().encode(users)
  /// ```
  ///
  /// As ``ManagedObject/encoded(_:mapping:)`` for each object, with one query for each relationship.
  /// - Parameters:
  ///   - paths: The names of properties, with dots through relationships; none for all attributes.
  ///   - mapping: The keys, and the form of dates.
  /// - Returns: The values, in the order of the fetch.
  /// - Throws: The errors of ``all()`` and of ``ManagedObject/encoded(_:mapping:)``.
  public func encoded(_ paths: String..., mapping: JSONMapping = JSONMapping()) throws -> [EncodedObject] {
    let plan = try EncodedPaths(named: paths, of: known(), mapping)
    return try plan.relationships.reduce(self) { $0.prefetch(path: $1) }.all().map(plan.encoded)
  }
}
