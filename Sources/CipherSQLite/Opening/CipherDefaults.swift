// The engine's default cipher settings, which apply to the whole process and to files that are attached.

/// Changes the process-wide cipher defaults while a file is attached. The engine reads a file while it
/// attaches it, and takes the settings from these defaults only. Meanwhile no other connection is given
/// its own key, because it would start with these defaults.
enum CipherDefaults {
  // Not Void: a value of size zero shares its address with what follows, which the thread sanitizer
  // reports.
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
