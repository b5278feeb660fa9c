// The engine's settings for files that are attached, which are the whole process's.

/// The engine reads a file while it attaches it, under settings that can be given for the whole process only. So
/// they are changed for that moment, in which no other connection is keyed.
enum CipherDefaults {
  // Not Void: a value without a size shares its address with what follows, which the thread sanitizer reports.
  private static let lock = Locked(false)

  /// Runs `body` while no other connection changes the settings.
  static func whileUnchanged<Result>(_ body: () throws -> Result) rethrows -> Result {
    try lock.withLock { _ in try body() }
  }

  static func withProfile(_ profile: CipherProfile, on connection: Connection, _ body: () throws -> Void)
    throws
  {
    try lock.withLock { _ in
      let own = Engine.current.cipherMajor >= 4 ? CipherProfile.sqlcipher4 : .sqlcipher3
      try set(profile, on: connection)
      defer { try? set(own, on: connection) }
      try body()
    }
  }

  private static func set(_ profile: CipherProfile, on connection: Connection) throws {
    try connection.executeScript(profile.pragmas("cipher_default_"))
  }
}
