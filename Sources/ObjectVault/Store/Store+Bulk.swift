// Inserting many rows, and upserting them, in one transaction and in constant memory.

extension Store {
  /// Inserts an object for each element of a sequence, in one transaction.
  ///
  /// ```swift
  /// let names = (1...100_000).map { "User \($0)" }
  /// let count = try await store.insert(contentsOf: names, into: User.self) {
  ///   user, name in user.name = name
  /// }
  /// ```
  ///
  /// The sequence is read while the rows are written, on the thread of the writes. Objects are saved in
  /// blocks of at most 500, or of some megabytes, and released, so the memory does not grow with the number
  /// of rows. It does grow by eight bytes for each row, and while ``changes(bufferingUpTo:)`` are observed
  /// by their values, which are one change set. All rows are committed together: after an error or a
  /// cancellation none is written.
  ///
  /// Each save checks the rules and calls the hooks of the class. A closure that needs other objects gets
  /// them from its object's ``ManagedObject/managedObjectContext``, and must not save.
  /// - Parameters:
  ///   - rows: The elements: values, dictionaries, decoded structures.
  ///   - type: The entity's class.
  ///   - configure: Sets the properties of an object from its element.
  /// - Returns: The number of objects.
  /// - Throws: ``StoreError/validation(_:)`` for the first block with objects that break a rule or with a
  ///   unique value that another object has; ``StoreError/unknownEntity(name:)``; `CancellationError`; what
  ///   `configure` throws; the errors of ``write(_:)``.
  @discardableResult
  public func insert<Rows: Sequence, Object: ManagedObject>(
    contentsOf rows: sending Rows, into type: Object.Type,
    _ configure: @escaping @Sendable (Object, Rows.Element) throws -> Void
  ) async throws -> Int {
    let blocks = RowBlocks(rows)
    return try await write(
      once: BulkWork { context in
        try context.target(type).insert(saving: blocks, configure)
      })
  }

  /// Inserts an object for each element of an asynchronous sequence, in one transaction.
  ///
  /// ```swift
  /// let names = AsyncStream<String> { more in
  ///   for number in 1...1_000 { more.yield("Tag \(number)") }
  ///   more.finish()
  /// }
  /// try await store.insert(contentsOf: names, into: Tag.self) {
  ///   tag, name in tag.name = name
  /// }
  /// ```
  ///
  /// Works as the call with a sequence. The transaction begins with the first elements and ends with the last
  /// one: until then, all other writes of the store wait. Collect the elements of a slow source first. A
  /// sequence that itself waits for a write of this store never ends. If the task is cancelled, nothing is
  /// written, also where the sequence ends without an error then.
  /// - Parameters:
  ///   - rows: The elements.
  ///   - type: The entity's class.
  ///   - configure: Sets the properties of an object from its element.
  /// - Returns: The number of objects.
  /// - Throws: The error of the sequence; otherwise as with a sequence.
  @discardableResult
  public func insert<Rows: AsyncSequence, Object: ManagedObject>(
    contentsOf rows: sending Rows, into type: Object.Type,
    _ configure: @escaping @Sendable (Object, Rows.Element) throws -> Void
  ) async throws -> Int where Rows.Element: Sendable {
    try await write(rows) { blocks in
      BulkWork { try $0.target(type).insert(saving: blocks, configure) }
    }
  }

  /// Updates the object with the key of each row, or inserts one, in one transaction.
  ///
  /// ```swift
  /// let rows = (1...20_000).map { (name: "User \($0)", city: "Rome") }
  /// let report = try await store.upsert(
  ///   contentsOf: rows, into: User.self, on: \.name, by: \.name
  /// ) { user, row in user.city = row.city }
  /// let changed = report.inserted + report.updated
  /// ```
  ///
  /// The closure is called for each row, with the object that has the row's key: a stored one, or a new one,
  /// which already has the key. What the closure sets is overwritten, and all else stays. Rows with one key
  /// get one object, in their order. Strings are equal if they have the same bytes, as for the unique index.
  ///
  /// Takes one query for a block of at most 500 rows, and a save for each block. Memory, transaction and
  /// threads are those of `insert(contentsOf:into:)`.
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
  ///   has the key; ``StoreError/validation(_:)``, ``StoreError/unknownEntity(name:)``; `CancellationError`;
  ///   what the closures throw; the errors of ``write(_:)``.
  @discardableResult
  public func upsert<Rows: Sequence, Object: ManagedObject, Key: AttributeValue>(
    contentsOf rows: sending Rows, into type: Object.Type, on path: KeyPath<Object, Key>,
    by key: @escaping @Sendable (Rows.Element) throws -> Key?, reportingIDs: Bool = false,
    _ update: @escaping @Sendable (Object, Rows.Element) throws -> Void
  ) async throws -> UpsertReport<ObjectID<Object>> {
    let form = KeyForm([try path.keyName]) { row, _ in [KeyPart(try key(row))] }
    return try await write(
      once: .upsert(RowBlocks(rows), by: form, withIDs: reportingIDs, of: { try $0.target(type) }, update))
  }

  /// Updates the object with the key of each row of an asynchronous sequence, or inserts one, in one
  /// transaction.
  ///
  /// Works as the call with a sequence; about the transaction, see `insert(contentsOf:into:)` with an
  /// asynchronous sequence.
  /// - Parameters:
  ///   - rows: The rows.
  ///   - type: The entity's class. An object of a subclass is found as well.
  ///   - path: The attribute by which objects are found; it must be unique.
  ///   - key: Returns the value of that attribute for a row.
  ///   - reportingIDs: Whether the report contains the ids of the objects.
  ///   - update: Sets the properties of an object from its row.
  /// - Returns: The numbers of rows that inserted an object, changed one, or changed nothing.
  /// - Throws: The error of the sequence; otherwise as with a sequence.
  @discardableResult
  public func upsert<Rows: AsyncSequence, Object: ManagedObject, Key: AttributeValue>(
    contentsOf rows: sending Rows, into type: Object.Type, on path: KeyPath<Object, Key>,
    by key: @escaping @Sendable (Rows.Element) throws -> Key?, reportingIDs: Bool = false,
    _ update: @escaping @Sendable (Object, Rows.Element) throws -> Void
  ) async throws -> UpsertReport<ObjectID<Object>> where Rows.Element: Sendable {
    let form = KeyForm([try path.keyName]) { row, _ in [KeyPart(try key(row))] }
    return try await write(rows) { blocks in
      .upsert(blocks, by: form, withIDs: reportingIDs, of: { try $0.target(type) }, update)
    }
  }
}
