// The protocol of a key that is stored elsewhere until a database is opened with it. Its implementation
// is in the layer above (`Key+KeyFile`).

/// Stores the key of a database. A change of that key may have been interrupted.
protocol StoredKey: Sendable, CustomStringConvertible {
  /// Returns the present key: 32 bytes.
  func dataKey() throws -> SecureBytes

  /// Runs `body` with the present key. If that is the wrong one, runs it with the new key of an
  /// interrupted change, and then with former keys.
  /// - Parameters:
  ///   - database: The absolute path of the database.
  ///   - fits: Returns whether a given key opens the database that `body` has opened. If `fits` is given,
  ///     an interrupted change is finished or abandoned, depending on the key that fits. If `fits` is
  ///     nil, the change stays interrupted.
  ///   - body: Opens the database.
  /// - Throws: ``SQLError/wrongKey(file:)`` when none fits; what `body` throws.
  func unlock<Result>(
    _ database: String, settling fits: ((Key, Result) -> Bool)?, _ body: (Key) throws -> Result
  ) throws -> Result
}
