// A key that lies somewhere else until a database is opened with it. What keeps it is known a layer above; here it is
// asked.

/// Keeps the key of a database, and may have been stopped while it changed it.
protocol KeyKeeper: Sendable, CustomStringConvertible {
  /// The key of the moment: 32 bytes.
  func dataKey() throws -> SecureBytes

  /// Runs `body` with the key; where that is the wrong one, with the key that it was being changed to when the change was
  /// interrupted, and with those that it was changed from.
  /// - Parameters:
  ///   - database: The absolute path of the database.
  ///   - fits: Whether the database that `body` has opened opens with a key once more. Given, an interrupted change is
  ///     finished or given up, as is found; nil leaves it as it is.
  ///   - body: Opens the database.
  /// - Throws: ``SQLError/wrongKey(file:)`` when none fits; what `body` throws.
  func unlock<Result>(
    _ database: String, settling fits: ((Key, Result) -> Bool)?, _ body: (Key) throws -> Result
  ) throws -> Result
}
