// Small values of the app about its store, which are saved with the objects.

internal import CipherSQLite

/// Small values of the app about its store, by their names: the time of the last synchronization, a token,
/// the language of the content.
///
/// ```swift
/// try await store.write { context in
///   context.insert(User.self) { $0.name = "Binger" }
///   try context.metadata.set("lastSync", to: Date.now)
/// }
/// let last = try await store.metadata("lastSync", as: Date.self)
/// ```
///
/// A context changes them as it changes objects: ``ObjectContext/save()`` writes them in the same
/// transaction, ``ObjectContext/rollback()`` discards them, and the context itself sees its pending values.
/// They are in the encrypted file, and so in its copies, backups and exports. They are not part of the
/// schema: no migration step changes them, and they have no history. The last write wins, without a
/// conflict. A ``ChangeSet`` does not contain them, and a commit of nothing else notifies no listener.
///
/// A value can have any type that an ``Attribute`` can have, such as `String`, `Int`, `Date`, `Data`, an
/// enum with raw values, or a `Codable` type. Each read is one query; for more than some dozens of values,
/// or for large ones, declare an entity. The `sqlcipher` shell shows them in the table `vault_meta`, with
/// `app.` before the name.
public struct StoreMetadata {
  let context: ObjectContext

  /// Returns a value.
  /// - Parameters:
  ///   - name: The name, which may be any text.
  ///   - type: The type of the value.
  /// - Returns: The value; nil if there is none with this name.
  /// - Throws: ``StoreError/metadataUnreadable(name:expected:)`` if it was set as another type;
  ///   ``SQLError``.
  public func value<Value: AttributeValue>(_ name: String, as type: Value.Type) throws -> Value? {
    let stored =
      try context.pendingMetadata.values[name]
      ?? context.withConnection {
        try MetaTable(connection: $0).appValue(name)
      }
    guard let stored, !stored.isNull else { return nil }
    guard let value = Value(stored: stored) else {
      throw StoreError.metadataUnreadable(name: name, expected: Value.attributeType.rawValue)
    }
    return value
  }

  /// Sets a value, which the next save writes.
  /// - Parameters:
  ///   - name: The name, which may be any text.
  ///   - value: The value; nil removes it.
  /// - Throws: ``StoreError/readOnlyContext``; `CancellationError`; an error for a value without a stored
  ///   form, such as NaN.
  public func set<Value: AttributeValue>(_ name: String, to value: Value) throws {
    guard context.canWrite else { throw StoreError.readOnlyContext }
    try context.run?.check()
    context.pendingMetadata.values[name] = try value.stored()
    context.notifyObservers()
  }

  /// Removes a value; the next save does. Does nothing if there is none.
  /// - Parameter name: The name.
  /// - Throws: ``StoreError/readOnlyContext``; `CancellationError`.
  public func remove(_ name: String) throws { try set(name, to: String?.none) }

  /// Returns the names of all values, in alphabetical order.
  /// - Returns: The names, with those of pending values.
  /// - Throws: ``SQLError``.
  public func names() throws -> [String] {
    let pending = context.pendingMetadata.values
    let stored = try context.withConnection { try MetaTable(connection: $0).appNames() }
    return (stored.filter { pending[$0] == nil } + pending.filter { !$1.isNull }.map(\.key)).sorted()
  }
}

/// The values that a context has set.
struct PendingMetadata {
  /// The values that the next save writes; NULL for one that it removes.
  var values: [String: SQLValue] = [:]
  /// Whether a save has written values in a transaction that is not committed yet.
  var isUncommitted = false

  /// Writes the values, in the caller's transaction.
  func write(on connection: Connection) throws {
    let table = MetaTable(connection: connection)
    for (name, value) in values { try table.setAppValue(name, to: value) }
  }

  /// Discards the values that a save has written.
  /// - Parameter isCommitted: Whether the commit is done, or follows at once.
  mutating func didWrite(isCommitted: Bool) {
    guard !values.isEmpty else { return }
    values = [:]
    isUncommitted = !isCommitted
  }
}

extension ObjectContext {
  /// Small values of the app about its store: see ``StoreMetadata``.
  public var metadata: StoreMetadata { StoreMetadata(context: self) }
}
