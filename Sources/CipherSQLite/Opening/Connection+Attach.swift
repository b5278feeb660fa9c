// Attaches a second encrypted file to a connection, with its own key.

private import CSQLCipher

extension Connection {
  /// Attaches another encrypted file for reading and writing; its tables are available as `name.table`.
  ///
  /// ```swift
  /// let key = Key.passphrase("other horse")
  /// try connection.attach("archive.store", as: "archive", key: key)
  /// try connection.execute(
  ///   "INSERT INTO archive.note SELECT * FROM main.note WHERE year < \(2020)")
  /// ```
  /// A transaction over both files is committed in both or in none. In WAL mode a crash during the commit
  /// may leave it in one of them only, as SQLite documents for ATTACH.
  /// - Parameters:
  ///   - path: The file, which exists.
  ///   - name: Its schema name in SQL; not `main` or `temp`.
  ///   - key: Its key, which costs a derivation.
  ///   - profile: Its settings, as in ``Configuration/profile``.
  /// - Throws: As ``open(_:key:configuration:)``; ``SQLError/engine(code:extendedCode:message:sql:)``
  ///   inside a transaction, or for a name that is taken.
  public func attach(_ path: String, as name: String, key: Key, profile: CipherProfile? = nil) throws {
    try checkOpen()
    let file = try DatabasePath(path)
    try PathState.existing(file)
    try attach(
      file, as: name,
      unlocked: UnlockedKey.unlock(path: file, key: key, profile: profile, seconds: configuration.busyTimeout)
    )
  }

  /// Detaches a file that was attached.
  /// - Parameter name: The name that the file was attached as.
  /// - Throws: ``SQLError/engine(code:extendedCode:message:sql:)`` for an unknown name, or while
  ///   a transaction uses the file.
  public func detach(_ name: String) throws {
    unsafe cache.removeIdle()
    try execute(sql: "DETACH DATABASE \(quoted(name))")
  }

  private func attach(_ file: DatabasePath, as name: String, unlocked: UnlockedKey) throws {
    try retryingWhileBusy { try attachOnce(file, as: name, unlocked: unlocked) }
  }

  private func attachOnce(_ file: DatabasePath, as name: String, unlocked: UnlockedKey) throws {
    try CipherDefaults.withProfile(unlocked.profile, on: self) {
      let statement = try prepare(sql: "ATTACH DATABASE ? AS \(quoted(name)) KEY ?")
      try statement.bind(file.path, at: 1)
      try unsafe unlocked.withKeySpecification { text in
        // Not copied: the text is in memory that is wiped, and outlives the statement's run.
        let code = unsafe sqlite3_bind_text(
          statement.raw, 2, text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(text.count), nil)
        defer { unsafe sqlite3_clear_bindings(statement.raw) }
        // An unbound key would be NULL, and the file would be opened as clear text.
        guard code == SQLITE_OK else { throw error(code, sql: "attach") }
        try FileGate.opening {
          // The engine reads the file within this statement. No other thread of this process can open a
          // file meanwhile, so the statement does not wait for a lock here; `retryingWhileBusy` repeats
          // it.
          unsafe sqlite3_busy_handler(handle, nil, nil)
          defer { installBusyHandler() }
          try statement.run()
        }
      }
    }
  }
}
