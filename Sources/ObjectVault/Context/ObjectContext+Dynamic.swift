// Making and finding objects in a store that was opened without classes. Fetches are in Fetch/.

extension ObjectContext {
  /// Makes a new object of an entity, in a store that was opened without classes.
  ///
  /// ```swift
  /// try context.insert(entity: "User") { $0["name"] = "Binger" }
  /// ```
  ///
  /// The object has the constant defaults of the model, and an id as described at ``insert(_:_:)``;
  /// ``save()`` writes its row. Defaults that Swift computes, such as `Date.now`, exist only in classes.
  /// - Parameters:
  ///   - name: The entity's name.
  ///   - configure: Sets the object's properties. When it throws, the object is removed.
  /// - Returns: The new object.
  /// - Throws: ``StoreError/noEntity(name:similar:)``; ``StoreError/openedWithClasses(entity:)``; what
  ///   `configure` throws.
  @discardableResult
  public func insert(
    entity name: String, _ configure: (DynamicObject) throws -> Void = { _ in }
  ) throws -> DynamicObject {
    let entity = try core.entity(named: name)
    let object = DynamicObject.make(entity)
    try begin(object, in: maps[entity.index], configure)
    return object
  }

  /// Returns the object with an id, with its row in memory.
  /// - Parameter id: The id of the object.
  /// - Returns: The object; nil when there is neither such a row nor such a new object, or when the
  ///   object is deleted.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/idOfAnotherStore(entity:rowID:)``,
  ///   ``StoreError/temporaryID(entity:)``, ``StoreError/openedWithClasses(entity:)``; ``SQLError``.
  public func existing(_ id: DynamicID) throws -> DynamicObject? {
    let entity = try core.entity(named: id.entity)
    // Safe: in a store without classes all objects are dynamic objects.
    guard let row = try row(of: id) else { return nil }
    return try existing(entity, row).map {
      unsafe unsafeDowncast($0, to: DynamicObject.self)
    }
  }
}

extension ObjectContext {
  /// Inserts an object of an entity.
  func insert(
    _ entity: EntityMapping, _ configure: (ManagedObject) throws -> Void
  ) throws -> ManagedObject {
    if core.classes.isDynamic { return try insert(entity: entity.name) { try configure($0) } }
    return try insert(core.classes.type(of: entity)) { try configure($0) }
  }
}
