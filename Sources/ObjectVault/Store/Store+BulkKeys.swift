// Upserts of many rows by attributes that are unique together, in one transaction.

extension Store {
  /// Updates the object with the key of each row, or inserts one, in one transaction. The key consists
  /// of two attributes that are unique together.
  ///
  /// ```swift
  /// let rows = [(name: "Ann", city: "Rome", joined: Date.now)]
  /// try await store.upsert(
  ///   contentsOf: rows, into: User.self, on: (\.name, \.city),
  ///   by: { ($0.name, $0.city) }
  /// ) { user, row in user.joined = row.joined }
  /// ```
  ///
  /// Works as the call with one attribute; none of the values may be nil.
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
    contentsOf rows: sending Rows, into type: Object.Type,
    on paths: (KeyPath<Object, First>, KeyPath<Object, Second>),
    by key: @escaping @Sendable (Rows.Element) throws -> (First?, Second?), reportingIDs: Bool = false,
    _ update: @escaping @Sendable (Object, Rows.Element) throws -> Void
  ) async throws -> UpsertReport<ObjectID<Object>> {
    let form = try KeyForm<Rows.Element>([paths.0.keyName, paths.1.keyName]) { row, _ in
      let values = try key(row)
      return [KeyPart(values.0), KeyPart(values.1)]
    }
    return try await write(
      once: .upsert(RowBlocks(rows), by: form, withIDs: reportingIDs, of: { try $0.target(type) }, update))
  }

  /// Updates the object with the key of each row of an asynchronous sequence, or inserts one, in one
  /// transaction. The key consists of two attributes that are unique together.
  ///
  /// Works as the call with one attribute; none of the values may be nil.
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
    Rows: AsyncSequence, Object: ManagedObject, First: AttributeValue, Second: AttributeValue
  >(
    contentsOf rows: sending Rows, into type: Object.Type,
    on paths: (KeyPath<Object, First>, KeyPath<Object, Second>),
    by key: @escaping @Sendable (Rows.Element) throws -> (First?, Second?), reportingIDs: Bool = false,
    _ update: @escaping @Sendable (Object, Rows.Element) throws -> Void
  ) async throws -> UpsertReport<ObjectID<Object>> where Rows.Element: Sendable {
    let form = try KeyForm<Rows.Element>([paths.0.keyName, paths.1.keyName]) { row, _ in
      let values = try key(row)
      return [KeyPart(values.0), KeyPart(values.1)]
    }
    return try await write(rows) { blocks in
      .upsert(blocks, by: form, withIDs: reportingIDs, of: { try $0.target(type) }, update)
    }
  }

  /// Updates the object with the key of each row, or inserts one, in one transaction. The key consists
  /// of three attributes that are unique together.
  ///
  /// Works as the call with one attribute; none of the values may be nil.
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
    contentsOf rows: sending Rows, into type: Object.Type,
    on paths: (KeyPath<Object, First>, KeyPath<Object, Second>, KeyPath<Object, Third>),
    by key: @escaping @Sendable (Rows.Element) throws -> (First?, Second?, Third?),
    reportingIDs: Bool = false,
    _ update: @escaping @Sendable (Object, Rows.Element) throws -> Void
  ) async throws -> UpsertReport<ObjectID<Object>> {
    let form = try KeyForm<Rows.Element>([paths.0.keyName, paths.1.keyName, paths.2.keyName]) { row, _ in
      let values = try key(row)
      return [KeyPart(values.0), KeyPart(values.1), KeyPart(values.2)]
    }
    return try await write(
      once: .upsert(RowBlocks(rows), by: form, withIDs: reportingIDs, of: { try $0.target(type) }, update))
  }

  /// Updates the object with the key of each row of an asynchronous sequence, or inserts one, in one
  /// transaction. The key consists of three attributes that are unique together.
  ///
  /// Works as the call with one attribute; none of the values may be nil.
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
    Rows: AsyncSequence, Object: ManagedObject, First: AttributeValue, Second: AttributeValue,
    Third: AttributeValue
  >(
    contentsOf rows: sending Rows, into type: Object.Type,
    on paths: (KeyPath<Object, First>, KeyPath<Object, Second>, KeyPath<Object, Third>),
    by key: @escaping @Sendable (Rows.Element) throws -> (First?, Second?, Third?),
    reportingIDs: Bool = false,
    _ update: @escaping @Sendable (Object, Rows.Element) throws -> Void
  ) async throws -> UpsertReport<ObjectID<Object>> where Rows.Element: Sendable {
    let form = try KeyForm<Rows.Element>([paths.0.keyName, paths.1.keyName, paths.2.keyName]) { row, _ in
      let values = try key(row)
      return [KeyPart(values.0), KeyPart(values.1), KeyPart(values.2)]
    }
    return try await write(rows) { blocks in
      .upsert(blocks, by: form, withIDs: reportingIDs, of: { try $0.target(type) }, update)
    }
  }
}
