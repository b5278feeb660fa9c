// Inserting an object for each of many rows in a context.

extension ObjectContext {
  /// Inserts an object for each element of a sequence.
  ///
  /// ```swift
  /// let users = try context.insert(contentsOf: ["Ann", "Bob"], into: User.self) {
  ///   user, name in user.name = name
  /// }
  /// try context.save()
  /// ```
  ///
  /// The objects are pending, as after ``insert(_:_:)`` for each element, and in memory until the save. To
  /// write more rows than fit in memory, use `store.insert(contentsOf:into:)`. With an undo manager the
  /// objects are one group.
  ///
  /// If the closure throws for an element, its object is removed; those of earlier elements stay pending.
  /// - Parameters:
  ///   - rows: The elements: values, dictionaries, decoded structures.
  ///   - type: The entity's class.
  ///   - configure: Sets the properties of an object from its element.
  /// - Returns: The objects, in the order of the elements.
  /// - Throws: ``StoreError/unknownEntity(name:)``, ``StoreError/readOnlyContext``; `CancellationError` in a
  ///   write that was cancelled; what `configure` throws.
  @discardableResult
  public func insert<Rows: Sequence, Object: ManagedObject>(
    contentsOf rows: Rows, into type: Object.Type, _ configure: (Object, Rows.Element) throws -> Void
  ) throws -> [Object] {
    try oneUndo { try target(type).insert(rows, configure) }
  }

  /// Inserts an object of an entity for each element of a sequence, in a store that was opened without
  /// classes.
  ///
  /// ```swift
  /// let names = ["home", "work"]
  /// try context.insert(contentsOf: names, entity: "Tag") { tag, name in
  ///   tag["name"] = name
  /// }
  /// ```
  ///
  /// Works as the call with a class.
  /// - Parameters:
  ///   - rows: The elements.
  ///   - name: The entity's name.
  ///   - configure: Sets the properties of an object from its element.
  /// - Returns: The objects, in the order of the elements.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/openedWithClasses(entity:)``,
  ///   ``StoreError/readOnlyContext``; what `configure` throws.
  @discardableResult
  public func insert<Rows: Sequence>(
    contentsOf rows: Rows, entity name: String,
    _ configure: (DynamicObject, Rows.Element) throws -> Void
  ) throws -> [DynamicObject] {
    try oneUndo { try target(entity: name).insert(rows, configure) }
  }
}
