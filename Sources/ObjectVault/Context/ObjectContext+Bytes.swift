// Large values, read and written in parts.

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
  /// The value is read from the file, in the state that fetches of this context read. The engine follows the
  /// pages of a value one after another. Reading further is cheap; a `seek(to:)` of the stream to a
  /// distant position reads all pages in between.
  /// - Parameters:
  ///   - object: A saved object of this context.
  ///   - path: An attribute that is stored as bytes or text, such as `Data` or `String`. Text is read as
  ///     UTF-8.
  ///   - body: Reads from the stream, which is at the beginning of the value. The stream is closed when
  ///     this function returns.
  /// - Returns: What `body` returns; nil if the value is nil. Then `body` is not called.
  /// - Throws: `CancellationError`, as soon as the stream is read after the task was cancelled;
  ///   ``StoreError/objectGone(entity:rowID:)``; ``StoreError/noContext(entity:property:)`` for an object
  ///   of no context; ``StoreError/propertyMisused(entity:property:reason:)`` for other properties, for an
  ///   unsaved value and for objects of another context;
  ///   ``StoreError/unreadableValue(entity:property:rowID:expected:)`` for a number that another program has
  ///   stored; ``SQLError``; the errors of `body`.
  @discardableResult
  public func readBytes<Object: ManagedObject, Result>(
    of object: Object, _ path: PartialKeyPath<Object>, _ body: (BlobStream) throws -> Result
  ) throws -> Result? {
    try readBytes(of: object, named: path.propertyNames.shownPath, body)
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
      throw place.misused("has a value that is not saved; save first, or read the attribute itself")
    }
    recordQuery(rows: 1)
    return try withConnection { connection in
      // In one transaction, so that the row is the same for both reads. Inside a transaction of the context
      // a savepoint would undo what `body` saves.
      guard access.connection == nil else {
        return try place.read(object.rowID, on: connection, run: run, body)
      }
      return try connection.savepoint { try place.read(object.rowID, on: connection, run: run, body) }
    }
  }

  // MARK: Writing

  /// Replaces the bytes of an attribute in parts.
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
  /// The bytes pass through memory in parts. But first the engine writes the row anew: for that it reads all
  /// other large values of the row into memory, more than once, and it keeps a copy of a former large value.
  /// An entity with one large attribute, written once, needs the least memory.
  ///
  /// While `body` runs, the context accepts no changes of objects and no other SQL; a change is an error that
  /// undoes the bytes. The attribute must not be in an index.
  ///
  /// It writes at once, in the transaction of ``Store/write(_:)`` or in one of its own, and ``rollback()``
  /// does not undo it. The object is read again when it is next used. Its row gets a new version, and
  /// listeners get the name of its entity: ``ChangeSet/changedBySQL``. The rules of classes, such as
  /// `check`, do not see the bytes; a trigger sees a value of zeros.
  /// - Parameters:
  ///   - object: A saved object of this context.
  ///   - path: An attribute of the type `Data`.
  ///   - count: The number of bytes of the new value.
  ///   - body: Writes all bytes to the stream. What it leaves out is zero. If it throws, nothing is changed.
  /// - Throws: ``StoreError/unsavedChanges`` while the context has unsaved changes; `CancellationError`, as
  ///   soon as the stream is used after the task was cancelled; ``StoreError/conflicts(_:)`` if the row was
  ///   changed after the object was read, until the object is refreshed;
  ///   ``StoreError/objectGone(entity:rowID:)``; ``StoreError/propertyMisused(entity:property:reason:)`` for
  ///   other properties, for objects of another context, for an attribute in an index, in a migration step,
  ///   and if the end of the value was not written when `body` returns;
  ///   ``StoreError/readOnlyContext``; ``SQLError``, such as `SQLError.blobRange` for more bytes than
  ///   `count`; the errors of `body`.
  public func writeBytes<Object: ManagedObject>(
    of object: Object, _ path: PartialKeyPath<Object>, count: Int, _ body: (BlobStream) throws -> Void
  ) throws {
    try writeBytes(of: object, named: path.propertyNames.shownPath, count: count, body)
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
    guard place.type == .data else {
      throw place.misused("is not of the type Data, so it cannot be written as bytes")
    }
    guard (0...BytesPlace.longest).contains(count) else {
      throw place.misused("cannot have \(count) bytes; a value has from 0 to \(BytesPlace.longest)")
    }
    if case .writing(_, nil, _) = access {
      throw place.misused("cannot be written in parts in a migration step; assign the value")
    }
    if !pending.isLive { try object.load() }
    let sql: SQL = """
      UPDATE \(place.entity.table) SET \(place.column) = zeroblob(\(count)),
        \(identifier: RowVersions.column) = \(identifier: RowVersions.column) + 1
      WHERE "id" = \(object.rowID) AND \(identifier: RowVersions.column) = \(object.rowVersion)
      """
    var hasRun = false
    do {
      try changing(by: sql) { connection in
        var written = 0
        let changes = try connection.changedRows { written = try connection.execute(sql) }
        guard written == 1 else { throw try place.unwritten(object, on: connection) }
        try place.withStream(on: connection, row: object.rowID, isWriting: true, run: run) { stream in
          hasRun = true
          try whileWritingBytes(of: place) { try body(stream) }
          guard stream.writtenEnd == count else {
            throw place.misused("was to get \(count) bytes, but \(stream.writtenEnd) were written")
          }
        }
        let root = place.entity.root.name
        var changed = RowsChangedBySQL(changes, tables: [root], core.mapping)
        changed.keepsRelationships = try !connection.firesTriggers(table: root)
        try changed.finish(on: connection, versioned: root, onlyRow: object.rowID, core.reservedIDs)
        return ((), changed)
      }
    } catch {
      // `body` may have read values that were not committed.
      if hasRun, object.state == .loaded, object.overlay == nil { refresh(object) }
      throw (error as? BodyFailure)?.error ?? error
    }
  }

  /// Runs the code that writes bytes. Meanwhile the context accepts no changes: they would be lost if the
  /// bytes are not written.
  private func whileWritingBytes(of place: BytesPlace, _ body: () throws -> Void) throws {
    let (outer, count) = (byteWriting, faultErrors.count)
    byteWriting = place.misused("is being written in parts; change objects before or afterwards")
    defer { byteWriting = outer }
    do { try body() } catch { throw BodyFailure(error: error) }
    // As a save does, throws the first error that a setter could not throw.
    guard faultErrors.count > count else { return }
    let first = faultErrors[count]
    faultErrors.removeSubrange(count...)
    throw first
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

/// An error of the program's own code, whose text stays as it is.
private struct BodyFailure: Error { let error: any Error }

/// The attribute whose bytes are read or written.
private struct BytesPlace {
  let entity: EntityMapping
  let slot: Int
  /// The length in bytes that the engine allows.
  static let longest = 1_000_000_000
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
    return .conflicts([
      Conflict(
        entity: entity.name, rowID: object.rowID, fetchedVersion: object.rowVersion, storedVersion: found,
        properties: [name])
    ])
  }

  /// Reads the value of a row; returns nil if it is NULL.
  func read<Result>(
    _ row: Int64, on connection: Connection, run: CancellableRun?, _ body: (BlobStream) throws -> Result
  ) throws -> Result? {
    let sql: SQL = "SELECT typeof(\(column)) FROM \(entity.table) WHERE \"id\" = \(row)"
    switch try connection.value(sql)?.string {
    case nil: throw StoreError.objectGone(entity: entity.name, rowID: row)
    case "null": return nil
    case "blob", "text": return try withStream(on: connection, row: row, isWriting: false, run: run, body)
    case _?:
      throw StoreError.unreadableValue(
        entity: entity.name, property: name, rowID: row, expected: type.rawValue)
    }
  }

  /// Calls `body` with a stream of the value of a row, and closes the stream.
  func withStream<Result>(
    on connection: Connection, row: Int64, isWriting: Bool, run: CancellableRun?,
    _ body: (BlobStream) throws -> Result
  ) throws -> Result {
    let stream = try opened(on: connection, row: row, isWriting: isWriting)
    stream.isMovable = false
    stream.check = { try run?.check() }
    let result: Result
    do { result = try body(stream) } catch {
      try? stream.close()
      throw error
    }
    try stream.close()
    return result
  }

  private func opened(on connection: Connection, row: Int64, isWriting: Bool) throws -> BlobStream {
    do {
      return try connection.blob(table: entity.root.name, column: name, row: row, isWriting: isWriting)
    } catch SQLError.engine(_, _, let message, _) where message.contains("indexed column") {
      // The older engine counts all columns of a table as indexed, if one of its indexes has an expression.
      throw misused("cannot be written in parts, because an index contains it; assign the value")
    }
  }
}
