// Creates a new encrypted file; after a failure there is no file.

extension Connection {
  /// Creates an encrypted file, completely or not at all.
  ///
  /// It is built under a temporary name with mode 0600, filled by `fill`, verified to be ciphertext, and
  /// only then gets its name. An existing file is not touched.
  /// - Parameters:
  ///   - path: The new file; nothing may exist there.
  ///   - key: Its key.
  ///   - configuration: The settings of the file are ``Configuration/profile``, or the engine's own with
  ///     pages of 4096 bytes.
  ///   - fill: Writes the first content; the connection is closed afterwards.
  /// - Returns: The derived key, with which connections to the file can be opened.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/leftBeside(file:name:)``,
  ///   ``SQLError/folderMissing(folder:)``, ``SQLError/emptyKey``, ``SQLError/keyEndsInZero``,
  ///   ``SQLError/cipherSettingsMismatch(file:profile:)``, ``SQLError/saltMissing(file:)``, and what
  ///   `fill` throws.
  public static func create(
    _ path: String, key: Key, configuration: Configuration = Configuration(),
    fill: (Connection) throws -> Void
  ) throws -> UnlockedKey {
    try create(DatabasePath(path), key: key, configuration: configuration, fill: fill)
  }

  /// Creates an encrypted file at a path whose links were resolved before.
  package static func create(
    _ target: DatabasePath, key: Key, configuration: Configuration = Configuration(),
    fill: (Connection) throws -> Void
  ) throws -> UnlockedKey {
    try ensureCipher()
    let unlocked = try UnlockedKey(
      forNewFile: target.given, key: key, profile: configuration.profile ?? .engineDefault)
    try PathState.ensureAbsent(target)
    try PathState.ensureNothingBeside(target)
    let new = try NewFile(at: target)
    let connection = try keyed(new.file, unlocked: unlocked, configuration: configuration)
    defer { connection.close() }
    try connection.applySettings()
    try fill(connection)
    // Closing the connection would copy the log too, but would not report a failure.
    try connection.checkpoint(.truncate)
    connection.close()
    try new.sealed(under: unlocked, like: connection).publish()
    return unlocked
  }
}
