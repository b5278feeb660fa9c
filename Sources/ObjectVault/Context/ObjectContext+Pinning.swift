// Pinning: all reads of a context see one state of the store.

internal import CipherSQLite

extension ObjectContext {
  /// Lets all reads of the context see the present state of the store, however much others commit, until
  /// ``unpin()``.
  ///
  /// ```swift
  /// try context.pin()
  /// let total = try context.fetch(Status.self).count()
  /// let newest = try context.fetch(Status.self)
  ///   .sorted(by: \.createdAt, .reverse).limit(20).all()
  /// context.unpin()
  /// ```
  ///
  /// For a report or a screen whose parts must fit together, over several calls. A fetch, a fault, a to-many
  /// and a prefetch all read that state. Objects in memory without changes are read again when they are next
  /// needed, so that they belong to the state, too. With ``automaticallyMergesChanges``, commits of others
  /// wait until the context is unpinned. A second call moves the context to the state that is then present.
  ///
  /// A save is checked against the last commit, as in a context that is not pinned, so that the newer change
  /// of another writer is a conflict. A save of this context, a bulk change and ``execute(_:)`` move it to
  /// the state after them. ``rollback()`` and ``refreshAll()`` do not.
  ///
  /// Uses one more connection, which opens in under a millisecond. The log cannot be restarted while it
  /// exists and grows with each commit, and a change of the key waits for it until the busy timeout: unpin
  /// soon. In ``Store/read(_:)`` and ``Store/write(_:)``, which are one state anyway, the call does nothing.
  /// If the new state cannot be opened after a save, the context is not pinned any more: see ``isPinned``.
  /// - Throws: `SQLError.closed`, and other errors of opening a connection;
  ///   ``StoreError/storeMigratedElsewhere(file:)``. The context is then as before.
  public func pin() throws {
    guard case .pooled(let pool) = access else { return }
    let new = try pool.snapshot()
    do { try new.withConnection(core.checkGeneration) } catch {
      new.close()
      throw error
    }
    pinned?.close()
    pinned = new
    notifyingObservers(forgetCleanRows)
  }

  /// Lets each read see the last commit again. With ``automaticallyMergesChanges``, commits of others are
  /// merged at the next fetch; otherwise objects in memory stay as they are until they are refreshed.
  public func unpin() {
    pinned?.close()
    pinned = nil
  }

  /// Whether the context reads one state: see ``pin()``.
  public var isPinned: Bool { pinned != nil }

  /// Moves a pinned context to the state after its own commit. If that fails, the context is not pinned any
  /// more: it would not see what it has saved.
  func renewPin() {
    guard pinned != nil, case .pooled(let pool) = access else { return }
    let new = try? pool.snapshot()
    pinned?.close()
    pinned = new
    notifyingObservers(forgetCleanRows)
  }

  /// Runs `body` with a connection of the pool, or with that of the pinned state.
  func withReader<Result>(
    of pool: ConnectionPool, _ body: (Connection) throws -> Result
  ) throws -> Result {
    guard let pinned else { return try pool.withReader(body) }
    if pool.isClosed {
      unpin()
      throw SQLError.closed(file: pool.path)
    }
    return try pinned.withConnection { connection in
      // What `body` reads in addition, as a hook does, uses the connection that it has.
      snapshot = connection
      defer { snapshot = nil }
      return try body(connection)
    }
  }
}
