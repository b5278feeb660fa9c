// Inserting or updating an object for each of many rows in a context, by a unique key.

extension ObjectContext {
  /// Updates the object with the key of each row, or inserts one.
  ///
  /// ```swift
  /// let rows = [(name: "Ann", city: "Rome"), (name: "Bob", city: "Oslo")]
  /// let report = try context.upsert(
  ///   rows, into: User.self, on: \.name, by: \.name
  /// ) { user, row in user.city = row.city }
  /// let changed = report.inserted + report.updated
  /// ```
  ///
  /// The closure is called for each row, with the object that has the row's key: a stored one, a pending one,
  /// or a new one, which already has the key. What the closure sets is overwritten, and all else stays. Rows
  /// with one key get one object, in their order. Strings are equal if they have the same bytes, as for the
  /// unique index.
  ///
  /// The changes are pending until the save: validation, hooks, undo (as one group) and observers work as
  /// for changes of single objects. If an error is thrown for a row, what earlier rows have changed stays
  /// pending; ``rollback()`` discards it.
  ///
  /// Takes one query for 500 rows, and memory for all changed objects. For more rows than fit in memory, use
  /// `store.upsert(contentsOf:into:on:by:)`.
  /// - Parameters:
  ///   - rows: The rows: values, dictionaries, decoded structures.
  ///   - type: The entity's class. An object of a subclass is found as well.
  ///   - path: The attribute by which objects are found; it must be unique.
  ///   - key: Returns the value of that attribute for a row.
  ///   - reportingIDs: Whether the report contains the ids of the objects.
  ///   - update: Sets the properties of an object from its row.
  /// - Returns: The numbers of rows that inserted an object, changed one, or changed nothing.
  /// - Throws: ``StoreError/notUnique(entity:properties:keys:)``;
  ///   ``StoreError/keyRefused(entity:property:row:reason:)`` with the position of a row without a key;
  ///   ``StoreError/keyTaken(entity:properties:holder:rowID:)`` if an object of a parent or sibling entity
  ///   has the key; ``StoreError/unknownEntity(name:)``, ``StoreError/readOnlyContext``; ``SQLError``; what
  ///   the closures throw.
  @discardableResult
  public func upsert<Rows: Sequence, Object: ManagedObject, Key: AttributeValue>(
    _ rows: Rows, into type: Object.Type, on path: KeyPath<Object, Key>,
    by key: (Rows.Element) throws -> Key?, reportingIDs: Bool = false,
    _ update: (Object, Rows.Element) throws -> Void
  ) throws -> UpsertReport<ObjectID<Object>> {
    try upsert(
      rows, of: target(type), on: [path.keyName], withIDs: reportingIDs,
      by: { row, _ in
        [KeyPart(try key(row))]
      }, update)
  }

  /// Updates the object with the key of each row, or inserts one. The key consists of two attributes that are
  /// unique together.
  ///
  /// ```swift
  /// let rows = [(name: "Ann", city: "Rome", joined: Date.now)]
  /// try context.upsert(
  ///   rows, into: User.self, on: (\.name, \.city), by: { ($0.name, $0.city) }
  /// ) { user, row in user.joined = row.joined }
  /// ```
  ///
  /// Declare them by ``Entity/unique(_:)``. Works as the call with one attribute; neither value may be nil.
  /// - Parameters:
  ///   - rows: The rows.
  ///   - type: The entity's class.
  ///   - paths: The attributes by which objects are found.
  ///   - key: Returns the values of these attributes for a row.
  ///   - reportingIDs: Whether the report contains the ids of the objects.
  ///   - update: Sets the properties of an object from its row.
  /// - Returns: The numbers of rows that inserted an object, changed one, or changed nothing.
  /// - Throws: The errors of the call with one attribute.
  @discardableResult
  public func upsert<
    Rows: Sequence, Object: ManagedObject, First: AttributeValue, Second: AttributeValue
  >(
    _ rows: Rows, into type: Object.Type, on paths: (KeyPath<Object, First>, KeyPath<Object, Second>),
    by key: (Rows.Element) throws -> (First?, Second?), reportingIDs: Bool = false,
    _ update: (Object, Rows.Element) throws -> Void
  ) throws -> UpsertReport<ObjectID<Object>> {
    let names = try [paths.0.keyName, paths.1.keyName]
    return try upsert(
      rows, of: target(type), on: names, withIDs: reportingIDs,
      by: { row, _ in
        let values = try key(row)
        return [KeyPart(values.0), KeyPart(values.1)]
      }, update)
  }

  /// Updates the object with the key of each row, or inserts one. The key consists of three attributes that
  /// are unique together.
  ///
  /// Works as the call with two attributes.
  /// - Parameters:
  ///   - rows: The rows.
  ///   - type: The entity's class.
  ///   - paths: The attributes by which objects are found.
  ///   - key: Returns the values of these attributes for a row.
  ///   - reportingIDs: Whether the report contains the ids of the objects.
  ///   - update: Sets the properties of an object from its row.
  /// - Returns: The numbers of rows that inserted an object, changed one, or changed nothing.
  /// - Throws: The errors of the call with one attribute.
  @discardableResult
  public func upsert<
    Rows: Sequence, Object: ManagedObject, First: AttributeValue, Second: AttributeValue,
    Third: AttributeValue
  >(
    _ rows: Rows, into type: Object.Type,
    on paths: (KeyPath<Object, First>, KeyPath<Object, Second>, KeyPath<Object, Third>),
    by key: (Rows.Element) throws -> (First?, Second?, Third?), reportingIDs: Bool = false,
    _ update: (Object, Rows.Element) throws -> Void
  ) throws -> UpsertReport<ObjectID<Object>> {
    let names = try [paths.0.keyName, paths.1.keyName, paths.2.keyName]
    return try upsert(
      rows, of: target(type), on: names, withIDs: reportingIDs,
      by: { row, _ in
        let values = try key(row)
        return [KeyPart(values.0), KeyPart(values.1), KeyPart(values.2)]
      }, update)
  }

  /// Updates the object with the key of each row, or inserts one, in a store that was opened without classes.
  ///
  /// ```swift
  /// let rows = [["name": "Ann", "city": "Rome"], ["name": "Bob"]]
  /// try context.upsert(
  ///   rows, entity: "User", on: "name", by: { $0["name"] }
  /// ) { user, row in user["city"] = row["city"] }
  /// ```
  ///
  /// Works as the call with a class.
  /// - Parameters:
  ///   - rows: The rows.
  ///   - name: The entity's name.
  ///   - attribute: The attribute by which objects are found; it must be unique.
  ///   - key: Returns the value of that attribute for a row, of a type that fits the attribute.
  ///   - reportingIDs: Whether the report contains the ids of the objects.
  ///   - update: Sets the properties of an object from its row.
  /// - Returns: The numbers of rows that inserted an object, changed one, or changed nothing.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/openedWithClasses(entity:)``; otherwise as with classes.
  @discardableResult
  public func upsert<Rows: Sequence>(
    _ rows: Rows, entity name: String, on attribute: String,
    by key: (Rows.Element) throws -> (any AttributeValue)?, reportingIDs: Bool = false,
    _ update: (DynamicObject, Rows.Element) throws -> Void
  ) throws -> UpsertReport<DynamicID> {
    try upsert(
      rows, of: target(entity: name), on: [attribute], withIDs: reportingIDs,
      by: { row, unique in
        unique.parts([try key(row)])
      }, update)
  }

  /// Updates the object with the key of each row, or inserts one, in a store that was opened without classes.
  /// The key consists of attributes that are unique together.
  ///
  /// Works as the call with one attribute; none of the values may be nil.
  /// - Parameters:
  ///   - rows: The rows.
  ///   - name: The entity's name.
  ///   - attributes: The attributes by which objects are found.
  ///   - key: Returns the values of these attributes for a row, in the same order.
  ///   - reportingIDs: Whether the report contains the ids of the objects.
  ///   - update: Sets the properties of an object from its row.
  /// - Returns: The numbers of rows that inserted an object, changed one, or changed nothing.
  /// - Throws: The errors of the call with one attribute.
  @discardableResult
  public func upsert<Rows: Sequence>(
    _ rows: Rows, entity name: String, on attributes: [String],
    by key: (Rows.Element) throws -> [(any AttributeValue)?], reportingIDs: Bool = false,
    _ update: (DynamicObject, Rows.Element) throws -> Void
  ) throws -> UpsertReport<DynamicID> {
    try upsert(
      rows, of: target(entity: name), on: attributes, withIDs: reportingIDs,
      by: { row, unique in
        unique.parts(try key(row))
      }, update)
  }

  private func upsert<Rows: Sequence, Object, ID>(
    _ rows: Rows, of target: BulkTarget<Object, ID>, on names: [String], withIDs: Bool,
    by parts: (Rows.Element, UniqueKey) throws -> [KeyPart],
    _ update: (Object, Rows.Element) throws -> Void
  ) throws -> UpsertReport<ID> {
    var upsert = try Upsert<Object, ID, Rows.Element>(target, on: names, withIDs: withIDs)
    return try oneUndo { try upsert.run(RowBlocks(rows), by: parts, update) }
  }
}
