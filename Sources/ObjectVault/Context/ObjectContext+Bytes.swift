// Large values, read and written in parts: the whole value is never in memory.

public import CipherSQLite

extension ObjectContext {
  // MARK: Reading

  /// Reads the bytes of an attribute in parts, without having the whole value in memory.
  ///
  /// ```swift
  /// try context.readBytes(of: document, \.content) { stream in
  ///   while case let part = try stream.read(65_536), !part.isEmpty {
  ///     file.write(part)
  ///   }
  /// }
  /// ```
  ///
  /// The value is the one in the file, as fetches of this context read it. The engine follows the pages of
  /// a value one after another: reading on is cheap, ``BlobStream/seek(to:)`` to a far place reads the pages
  /// before it.
  /// - Parameters:
  ///   - object: A saved object of this context.
  ///   - path: An attribute that is stored as bytes or text, such as `Data` or `String`. Text is read as
  ///     UTF-8.
  ///   - body: Reads from the stream, which is at the beginning of the value. The stream is closed when
  ///     this function returns.
  /// - Returns: What `body` returns; nil if the value is nil. Then `body` is not called.
  /// - Throws: ``StoreError/unsavedChanges`` if the object is new, or the attribute has an unsaved value;
  ///   ``StoreError/objectGone(entity:rowID:)``; ``StoreError/propertyMisused(entity:property:reason:)`` for
  ///   other properties and for objects of another context; ``SQLError``; the errors of `body`.
  @discardableResult
  public func readBytes<Object: ManagedObject, Result>(
    of object: Object, _ path: PartialKeyPath<Object>, _ body: (BlobStream) throws -> Result
  ) throws -> Result? {
    try readBytes(of: object, named: path.propertyNames.joined(separator: "."), body)
  }

  /// Reads the bytes of an attribute that is named by a text: see ``readBytes(of:_:_:)``.
  /// - Parameters:
  ///   - object: A saved object of this context.
  ///   - name: The attribute's name.
  ///   - body: Reads from the stream.
  /// - Returns: What `body` returns; nil if the value is nil.
  /// - Throws: As ``readBytes(of:_:_:)``; ``StoreError/noProperty(entity:property:similar:)``.
  @discardableResult
  public func readBytes<Result>(
    of object: ManagedObject, named name: String, _ body: (BlobStream) throws -> Result
  ) throws -> Result? {
    let place = try bytes(of: object, name)
    guard object.state != .inserted, object.overlay?.changed.contains(place.slot) != true else {
      throw StoreError.unsavedChanges
    }
    recordQuery(rows: 1)
    return try withConnection { connection in
      // One transaction, so that the row is the same for both reads.
      try connection.savepoint {
        let sql: SQL = """
          SELECT typeof(\(place.column)) FROM \(place.entity.table) WHERE "id" = \(object.rowID)
          """
        switch try connection.value(sql)?.string {
        case nil: throw StoreError.objectGone(entity: place.entity.name, rowID: object.rowID)
        case "null": return nil
        case "blob", "text": break
        case _?:
          throw StoreError.unreadableValue(
            entity: place.entity.name, property: name, rowID: object.rowID, expected: place.type.rawValue)
        }
        return try place.withStream(on: connection, row: object.rowID, isWriting: false, body)
      }
    }
  }

  // MARK: Writing

  /// Replaces the bytes of an attribute in parts, without having the whole value in memory.
  ///
  /// ```swift
  /// try await store.write { context in
  ///   let document = context.insert(Document.self) {
  ///     ($0.name, $0.content) = ("photo", Data())
  ///   }
  ///   try context.save()
  ///   try context.writeBytes(of: document, \.content, count: size) { stream in
  ///     while let part = try file.read(upToCount: 65_536), !part.isEmpty {
  ///       try stream.write(part)
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// It writes at once, in the transaction of ``Store/write(_:)`` or in one of its own, and ``rollback()``
  /// does not undo it. The object is read again when it is next used. Its row gets a new version, and
  /// listeners get the name of its entity: ``ChangeSet/changedBySQL``. The rules of classes, such as
  /// `check`, do not see the bytes; a trigger sees a value of zeros.
  /// - Parameters:
  ///   - object: A saved object of this context.
  ///   - path: An attribute of the type `Data`.
  ///   - count: The number of bytes of the new value.
  ///   - body: Writes all bytes to the stream, one part after another. If it throws, nothing is changed.
  /// - Throws: ``StoreError/unsavedChanges`` while the context has unsaved changes;
  ///   ``StoreError/conflict(_:)`` if the row was changed after the object was read;
  ///   ``StoreError/objectGone(entity:rowID:)``; ``StoreError/propertyMisused(entity:property:reason:)`` for
  ///   other properties, for objects of another context, and if `body` wrote fewer bytes than `count`;
  ///   ``StoreError/readOnlyContext``; ``SQLError``, such as `SQLError.blobRange` for more bytes than
  ///   `count`; the errors of `body`.
  public func writeBytes<Object: ManagedObject>(
    of object: Object, _ path: PartialKeyPath<Object>, count: Int, _ body: (BlobStream) throws -> Void
  ) throws {
    try writeBytes(of: object, named: path.propertyNames.joined(separator: "."), count: count, body)
  }

  /// Replaces the bytes of an attribute that is named by a text: see ``writeBytes(of:_:count:_:)``.
  /// - Parameters:
  ///   - object: A saved object of this context.
  ///   - name: The attribute's name.
  ///   - count: The number of bytes of the new value.
  ///   - body: Writes all bytes to the stream.
  /// - Throws: As ``writeBytes(of:_:count:_:)``; ``StoreError/noProperty(entity:property:similar:)``.
  public func writeBytes(
    of object: ManagedObject, named name: String, count: Int, _ body: (BlobStream) throws -> Void
  ) throws {
    let place = try bytes(of: object, name)
    guard place.type == .data else { throw place.misused("is no Data and cannot be written as bytes") }
    guard count >= 0 else { throw place.misused("cannot have \(count) bytes") }
    if !pending.isLive { try object.load() }
    let sql: SQL = """
      UPDATE \(place.entity.table) SET \(place.column) = zeroblob(\(count)),
        \(identifier: RowVersions.column) = \(identifier: RowVersions.column) + 1
      WHERE "id" = \(object.rowID) AND \(identifier: RowVersions.column) = \(object.rowVersion)
      """
    try changing(by: sql) { connection in
      var written = 0
      let changes = try connection.changedRows { written = try connection.execute(sql) }
      guard written == 1 else { throw try place.unwritten(object, on: connection) }
      try place.withStream(on: connection, row: object.rowID, isWriting: true) { stream in
        try body(stream)
        guard stream.position == count else {
          throw place.misused("was to get \(count) bytes, but \(stream.position) were written")
        }
      }
      let root = place.entity.root.name
      let changed = RowsChangedBySQL(changes, tables: [root], core.mapping)
      try changed.finish(on: connection, versioned: root, core.reservedIDs)
      return ((), changed)
    }
  }

  /// Returns the place of an attribute's bytes.
  private func bytes(of object: ManagedObject, _ name: String) throws -> BytesPlace {
    guard let entity = object.entity else {
      throw StoreError.noContext(entity: object.nameOfEntity, property: name)
    }
    guard let slot = entity.slot(named: name) else {
      throw StoreError.noProperty(
        entity: entity.name, property: name, similar: nearest(name, among: entity.slots.map(\.name)))
    }
    let place = BytesPlace(entity: entity, slot: slot)
    guard object.host === self else {
      throw place.misused("belongs to an object of another context; fetch the object in this one")
    }
    guard let attribute = entity.slots[slot].attribute,
      attribute.type == .data || attribute.type.isStoredAsText
    else { throw place.misused("is not stored as bytes or text") }
    return place
  }
}

/// The attribute whose bytes are read or written.
private struct BytesPlace {
  let entity: EntityMapping
  let slot: Int
  var name: String { entity.slots[slot].name }
  var column: SQLName { SQLName(name) }
  var type: AttributeType { entity.slots[slot].attribute?.type ?? .data }

  func misused(_ reason: String) -> StoreError {
    .propertyMisused(entity: entity.name, property: name, reason: reason)
  }

  /// Returns the reason why a row was not changed.
  func unwritten(_ object: ManagedObject, on connection: Connection) throws -> StoreError {
    guard let found = try connection.value(sql: entity.versionSQL, [.integer(object.rowID)])?.int64 else {
      return .objectGone(entity: entity.name, rowID: object.rowID)
    }
    guard found != object.rowVersion else {
      return misused("was not written: a trigger of the file has refused the change without an error")
    }
    return .conflict(
      Conflict(
        entity: entity.name, rowID: object.rowID, fetchedVersion: object.rowVersion, storedVersion: found,
        properties: [name]))
  }

  /// Calls `body` with a stream of the value of a row, and closes the stream.
  func withStream<Result>(
    on connection: Connection, row: Int64, isWriting: Bool, _ body: (BlobStream) throws -> Result
  ) throws -> Result {
    let stream = try connection.blob(
      table: entity.root.name, column: name, row: row, isWriting: isWriting)
    let result: Result
    do { result = try body(stream) } catch {
      try? stream.close()
      throw error
    }
    try stream.close()
    return result
  }
}
