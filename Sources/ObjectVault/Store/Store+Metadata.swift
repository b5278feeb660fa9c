// Reads a value of the app about the store, without a context.

internal import CipherSQLite

extension Store {
  /// Returns a small value of the app about this store, in its last committed state.
  ///
  /// A context sets such values: see ``StoreMetadata``.
  /// - Parameters:
  ///   - name: The name.
  ///   - type: The type of the value.
  /// - Returns: The value; nil if there is none with this name.
  /// - Throws: ``StoreError/metadataUnreadable(name:expected:)`` if it was set as another type;
  ///   the errors of ``read(_:)``.
  public func metadata<Value: AttributeValue & Sendable>(
    _ name: String, as type: Value.Type
  ) async throws -> Value? {
    try await read { try $0.metadata.value(name, as: Value.self) }
  }
}
