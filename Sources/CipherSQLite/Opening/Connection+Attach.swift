// A second encrypted file on the same connection, with a key of its own.

private import CSQLCipher

extension Connection {
  /// Makes another encrypted file readable and writable here, as `name.table`.
  ///
  /// ```swift
  /// let key = Key.passphrase("other horse")
  /// try connection.attach("archive.store", as: "archive", key: key)
  /// try connection.execute(
  ///   "INSERT INTO archive.note SELECT * FROM main.note WHERE year < \(2020)")
  /// ```
  /// A transaction over both is whole in both (in WAL mode: whole in each, as SQLite documents of ATTACH).
  /// - Parameters:
  ///   - path: The file, which exists.
  ///   - name: How SQL calls it; not `main` or `temp`.
  ///   - key: Its key, which costs a derivation.
  ///   - profile: Its settings, as in ``Configuration/profile``.
  /// - Throws: As ``open(_:key:configuration:)``; ``SQLError/engine(code:extendedCode:message:sql:)`` inside a
  ///   transaction, or for a name that is taken.
  public func attach(_ path: String, as name: String, key: Key, profile: CipherProfile? = nil) throws {
    _ = try opened()
    let file = try DatabasePath(path)
    try PathState.existing(file)
    try attach(
      file, as: name,
      unlocked: UnlockedKey.unlock(path: file, key: key, profile: profile, seconds: configuration.busyTimeout)
    )
  }

  /// Lets go of a file that was attached.
  public func detach(_ name: String) throws {
    cache.removeIdle()
    try execute(sql: "DETACH DATABASE \(quoted(name))")
  }

  private func attach(_ file: DatabasePath, as name: String, unlocked: UnlockedKey) throws {
    try retryingWhileBusy { try attachOnce(file, as: name, unlocked: unlocked) }
  }

  private func attachOnce(_ file: DatabasePath, as name: String, unlocked: UnlockedKey) throws {
    try CipherDefaults.withProfile(unlocked.profile, on: self) {
      let statement = try prepare(sql: "ATTACH DATABASE ? AS \(quoted(name)) KEY ?")
      try statement.bind(file.path, at: 1)
      try unlocked.withKeySpecification { text in
        // Not copied: the text lies in memory that is wiped, and outlives the statement's run.
        let code = sqlite3_bind_text(
          statement.raw, 2, text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(text.count), nil)
        defer { sqlite3_clear_bindings(statement.raw) }
        // Unbound, it would be NULL, and the file in clear.
        guard code == SQLITE_OK else { throw error(code, sql: "attach") }
        try FileGate.opening {
          // The engine reads the file within this statement. Nobody else in this process opens a file meanwhile, so
          // it does not wait for a lock here.
          sqlite3_busy_handler(handle, nil, nil)
          defer { installBusyHandler() }
          try statement.run()
        }
      }
    }
  }
}
