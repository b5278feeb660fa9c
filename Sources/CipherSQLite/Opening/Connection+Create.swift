// A new file, which is a whole one or none.

extension Connection {
  /// Creates an encrypted file, whole or not at all.
  ///
  /// It is built under a temporary name with mode 0600, filled by `fill`, proved to be ciphertext, and only
  /// then given its name. A file that is there already is left alone.
  /// Its settings are ``Configuration/profile``, or the engine's own with pages of 4096 bytes.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/folderMissing(folder:)``,
  ///   ``SQLError/emptyKey``, ``SQLError/cipherSettingsMismatch(file:profile:)``,
  ///   ``SQLError/saltMissing(file:)``, and what `fill` throws.
  public static func create(
    _ path: String, key: Key, configuration: Configuration = Configuration(),
    fill: (Connection) throws -> Void
  ) throws -> UnlockedKey {
    try create(DatabasePath(path), key: key, configuration: configuration, fill: fill)
  }

  /// The same at a path whose links were followed before.
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
    // Closing copies the log too, but does not tell when it fails.
    try connection.checkpoint(.truncate)
    connection.close()
    try new.sealed(under: unlocked, like: connection).publish()
    return unlocked
  }
}
