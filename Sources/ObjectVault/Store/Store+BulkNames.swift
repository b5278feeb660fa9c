// Inserting many rows, and upserting them, in a store that was opened without classes.

extension Store {
  /// Inserts an object of an entity for each element of a sequence, in one transaction, in a store that was
  /// opened without classes.
  ///
  /// ```swift
  /// let rows = [["name": "home"], ["name": "work"]]
  /// try await store.insert(contentsOf: rows, entity: "Tag") { tag, row in
  ///   tag["name"] = row["name"]
  /// }
  /// ```
  ///
  /// Works as the call with a class.
  /// - Parameters:
  ///   - rows: The elements.
  ///   - name: The entity's name.
  ///   - configure: Sets the properties of an object from its element.
  /// - Returns: The number of objects.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/openedWithClasses(entity:)``; otherwise
  ///   as with a class.
  @discardableResult
  public func insert<Rows: Sequence>(
    contentsOf rows: sending Rows, entity name: String,
    _ configure: @escaping @Sendable (DynamicObject, Rows.Element) throws -> Void
  ) async throws -> Int {
    let blocks = RowBlocks(rows)
    return try await write(
      once: BulkWork { try $0.target(entity: name).insert(saving: blocks, configure) })
  }

  /// Inserts an object of an entity for each element of an asynchronous sequence, in one transaction, in a
  /// store that was opened without classes.
  ///
  /// Works as the call with a class.
  /// - Parameters:
  ///   - rows: The elements.
  ///   - name: The entity's name.
  ///   - configure: Sets the properties of an object from its element.
  /// - Returns: The number of objects.
  /// - Throws: The error of the sequence; otherwise as with a sequence.
  @discardableResult
  public func insert<Rows: AsyncSequence>(
    contentsOf rows: sending Rows, entity name: String,
    _ configure: @escaping @Sendable (DynamicObject, Rows.Element) throws -> Void
  ) async throws -> Int where Rows.Element: Sendable {
    try await write(rows) { blocks in
      BulkWork { try $0.target(entity: name).insert(saving: blocks, configure) }
    }
  }

  /// Updates the object with the key of each row, or inserts one, in a store that was opened
  /// without classes.
  ///
  /// ```swift
  /// let rows = [["name": "Ann", "city": "Rome"], ["name": "Bob"]]
  /// try await store.upsert(
  ///   contentsOf: rows, entity: "User", on: "name", by: { $0["name"] }
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
  ///   ``StoreError/openedWithClasses(entity:)``; otherwise as with a class.
  @discardableResult
  public func upsert<Rows: Sequence>(
    contentsOf rows: sending Rows, entity name: String, on attribute: String,
    by key: @escaping @Sendable (Rows.Element) throws -> (any AttributeValue)?, reportingIDs: Bool = false,
    _ update: @escaping @Sendable (DynamicObject, Rows.Element) throws -> Void
  ) async throws -> UpsertReport<DynamicID> {
    let form = KeyForm<Rows.Element>([attribute]) { $1.parts([try key($0)]) }
    return try await write(
      once: .upsert(
        RowBlocks(rows), by: form, withIDs: reportingIDs, of: { try $0.target(entity: name) }, update)
    )
  }

  /// Updates the object with the key of each row of an asynchronous sequence, or inserts one, in a store
  /// that was opened without classes.
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
  ///   ``StoreError/openedWithClasses(entity:)``; otherwise as with a class.
  @discardableResult
  public func upsert<Rows: AsyncSequence>(
    contentsOf rows: sending Rows, entity name: String, on attribute: String,
    by key: @escaping @Sendable (Rows.Element) throws -> (any AttributeValue)?, reportingIDs: Bool = false,
    _ update: @escaping @Sendable (DynamicObject, Rows.Element) throws -> Void
  ) async throws -> UpsertReport<DynamicID> where Rows.Element: Sendable {
    let form = KeyForm<Rows.Element>([attribute]) { $1.parts([try key($0)]) }
    return try await write(rows) { blocks in
      .upsert(blocks, by: form, withIDs: reportingIDs, of: { try $0.target(entity: name) }, update)
    }
  }

  /// Updates the object with the key of each row, or inserts one, in a store that was opened
  /// without classes.
  /// The key consists of attributes that are unique together.
  ///
  /// Works as the call with a class.
  /// - Parameters:
  ///   - rows: The rows.
  ///   - name: The entity's name.
  ///   - attributes: The attributes by which objects are found; together they must be unique.
  ///   - key: Returns the values of these attributes for a row, in the same order.
  ///   - reportingIDs: Whether the report contains the ids of the objects.
  ///   - update: Sets the properties of an object from its row.
  /// - Returns: The numbers of rows that inserted an object, changed one, or changed nothing.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/openedWithClasses(entity:)``; otherwise as with a class.
  @discardableResult
  public func upsert<Rows: Sequence>(
    contentsOf rows: sending Rows, entity name: String, on attributes: [String],
    by key: @escaping @Sendable (Rows.Element) throws -> [(any AttributeValue)?], reportingIDs: Bool = false,
    _ update: @escaping @Sendable (DynamicObject, Rows.Element) throws -> Void
  ) async throws -> UpsertReport<DynamicID> {
    let form = KeyForm<Rows.Element>(attributes) { $1.parts(try key($0)) }
    return try await write(
      once: .upsert(
        RowBlocks(rows), by: form, withIDs: reportingIDs, of: { try $0.target(entity: name) }, update)
    )
  }

  /// Updates the object with the key of each row of an asynchronous sequence, or inserts one, in a store
  /// that was opened without classes. The key consists of attributes that are unique together.
  ///
  /// Works as the call with a class.
  /// - Parameters:
  ///   - rows: The rows.
  ///   - name: The entity's name.
  ///   - attributes: The attributes by which objects are found; together they must be unique.
  ///   - key: Returns the values of these attributes for a row, in the same order.
  ///   - reportingIDs: Whether the report contains the ids of the objects.
  ///   - update: Sets the properties of an object from its row.
  /// - Returns: The numbers of rows that inserted an object, changed one, or changed nothing.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/openedWithClasses(entity:)``; otherwise as with a class.
  @discardableResult
  public func upsert<Rows: AsyncSequence>(
    contentsOf rows: sending Rows, entity name: String, on attributes: [String],
    by key: @escaping @Sendable (Rows.Element) throws -> [(any AttributeValue)?], reportingIDs: Bool = false,
    _ update: @escaping @Sendable (DynamicObject, Rows.Element) throws -> Void
  ) async throws -> UpsertReport<DynamicID> where Rows.Element: Sendable {
    let form = KeyForm<Rows.Element>(attributes) { $1.parts(try key($0)) }
    return try await write(rows) { blocks in
      .upsert(blocks, by: form, withIDs: reportingIDs, of: { try $0.target(entity: name) }, update)
    }
  }
}
