// Finding an object by a unique key, or inserting it.

extension ObjectContext {
  /// Returns the object with a value of a unique attribute, or inserts one.
  ///
  /// ```swift
  /// let user = try context.findOrInsert(User.self, where: \.name, is: "Ann") {
  ///   $0.city = "Rome"
  /// }
  /// ```
  ///
  /// A stored object is found, and so is one with pending changes: one that was inserted before, or whose
  /// attribute was set to the value. An object whose deletion is pending is not found. Strings are equal if
  /// they have the same bytes, as for the unique index.
  ///
  /// The closure is called only for a new object, which already has the value. To change an object that
  /// exists as well, set its properties after the call, or use `upsert` for many:
  /// <doc:changing-many-objects>.
  ///
  /// Takes one query by the unique index, none for a pending object. The time does not grow with the number
  /// of pending objects, so a loop may call it thousands of times before a save. Another writer may insert an
  /// object with the value before the save, which then throws ``StoreError/validation(_:)``; inside
  /// ``Store/write(_:)`` there is no other writer.
  /// - Parameters:
  ///   - type: The entity's class. An object of a subclass is found as well.
  ///   - path: The attribute, which must be unique.
  ///   - value: The value, other than nil.
  ///   - configure: Sets the properties of a new object. When it throws, the object is removed.
  /// - Returns: The object.
  /// - Throws: ``StoreError/notUnique(entity:properties:keys:)``;
  ///   ``StoreError/keyRefused(entity:property:row:reason:)`` for nil;
  ///   ``StoreError/keyTaken(entity:properties:holder:rowID:)`` if an object of a parent or sibling entity
  ///   has the value; ``StoreError/unknownEntity(name:)``, ``StoreError/readOnlyContext`` for a new object;
  ///   ``SQLError``; what `configure` throws.
  @discardableResult
  public func findOrInsert<Object: ManagedObject, Value: AttributeValue>(
    _ type: Object.Type, where path: KeyPath<Object, Value>, is value: Value,
    _ configure: (Object) throws -> Void = { _ in }
  ) throws -> Object {
    try oneUndo {
      try target(type).findOrInsert(by: [path.keyName], parts: { _ in [KeyPart(value)] }, configure)
    }
  }

  /// Returns the object with the values of two attributes that are unique together, or inserts one.
  ///
  /// Declare them by ``Entity/unique(_:)``. Works as the call with one attribute; neither value may be nil.
  ///
  /// ```swift
  /// let user = try context.findOrInsert(
  ///   User.self, where: (\.name, \.city), is: ("Ann", "Rome"))
  /// ```
  /// - Parameters:
  ///   - type: The entity's class.
  ///   - paths: The attributes.
  ///   - values: Their values.
  ///   - configure: Sets the properties of a new object.
  /// - Returns: The object.
  /// - Throws: The errors of the call with one attribute.
  @discardableResult
  public func findOrInsert<Object: ManagedObject, First: AttributeValue, Second: AttributeValue>(
    _ type: Object.Type, where paths: (KeyPath<Object, First>, KeyPath<Object, Second>),
    is values: (First, Second), _ configure: (Object) throws -> Void = { _ in }
  ) throws -> Object {
    try oneUndo {
      try target(type).findOrInsert(
        by: [paths.0.keyName, paths.1.keyName],
        parts: { _ in [KeyPart(values.0), KeyPart(values.1)] }, configure)
    }
  }

  /// Returns the object with a value of a unique attribute, or inserts one, in a store that was opened
  /// without classes.
  ///
  /// ```swift
  /// let tag = try context.findOrInsert(entity: "Tag", where: "name", is: "home")
  /// ```
  ///
  /// Works as the call with a class and an attribute.
  /// - Parameters:
  ///   - name: The entity's name.
  ///   - attribute: The attribute, which must be unique.
  ///   - value: The value, of a type that fits the attribute.
  ///   - configure: Sets the properties of a new object. When it throws, the object is removed.
  /// - Returns: The object.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/openedWithClasses(entity:)``; ``StoreError/keyRefused(entity:property:row:reason:)`` also
  ///   for a value of a type that does not fit; otherwise as with classes.
  @discardableResult
  public func findOrInsert(
    entity name: String, where attribute: String, is value: (any AttributeValue)?,
    _ configure: (DynamicObject) throws -> Void = { _ in }
  ) throws -> DynamicObject {
    try findOrInsert(entity: name, where: [attribute], is: [value], configure)
  }

  /// Returns the object with the values of attributes that are unique together, or inserts one, in a store
  /// that was opened without classes.
  ///
  /// Works as the call with a class and an attribute; none of the values may be nil.
  /// - Parameters:
  ///   - name: The entity's name.
  ///   - attributes: The attributes.
  ///   - values: Their values, in the same order.
  ///   - configure: Sets the properties of a new object. When it throws, the object is removed.
  /// - Returns: The object.
  /// - Throws: The errors of the call with one attribute.
  @discardableResult
  public func findOrInsert(
    entity name: String, where attributes: [String], is values: [(any AttributeValue)?],
    _ configure: (DynamicObject) throws -> Void = { _ in }
  ) throws -> DynamicObject {
    try oneUndo {
      try target(entity: name).findOrInsert(by: attributes, parts: { $0.parts(values) }, configure)
    }
  }
}

extension PartialKeyPath where Root: ManagedObject {
  /// The name of the attribute that the path ends at.
  /// - Throws: ``StoreError/predicate(_:)`` for a path that is no property;
  ///   ``StoreError/propertyMisused(entity:property:reason:)`` for one through a relationship.
  var keyName: String {
    get throws(StoreError) {
      let names = try propertyNames
      guard names.count == 1 else {
        throw .propertyMisused(
          entity: "\(Root.self)", property: names.shownPath,
          reason: "is a path through a relationship, and objects are found by their own attributes")
      }
      return names[0]
    }
  }
}

extension UniqueKey {
  /// Returns the parts of a key for values whose types the compiler does not know.
  func parts(_ values: [(any AttributeValue)?]) -> [KeyPart] {
    guard values.count == slots.count else { return values.map { _ in .refused("has no value") } }
    return zip(values, types).map { KeyPart($0, as: $1) }
  }
}
