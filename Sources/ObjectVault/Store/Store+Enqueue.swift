// Small writes that share a transaction.

internal import CipherSQLite

extension Store {
  /// Runs `body` as ``write(_:)`` does, and returns before the commit: small writes that follow each other
  /// share one transaction.
  ///
  /// ```swift
  /// for name in ["Ann", "Bob"] {
  ///   try await store.enqueue { context in
  ///     _ = context.insert(User.self) { $0.name = name }
  ///   }
  /// }
  /// try await store.flush()
  /// ```
  ///
  /// For many small changes that arrive one by one, such as messages or positions, each of which would
  /// otherwise be a commit of its own. The changes are checked, saved and visible when the call returns:
  /// every read and every other write of this store, and every fetch of its contexts, commits them first.
  /// Such a read also waits for a `body` that runs, so a body should be short. Listeners, live results and
  /// other processes learn of the changes by the commit.
  ///
  /// The transaction is committed ``Configuration/enqueueInterval`` seconds after its first write, after
  /// ``Configuration/enqueueLimit`` writes, by ``flush()`` and by ``close()``. **If the process ends before
  /// the commit, all writes of the open transaction are lost, and never a part of them.** Call ``flush()``
  /// where that matters. Until the commit, other processes cannot write to the store.
  ///
  /// An error of `body` undoes the changes of this call alone. If the common transaction fails, as on a full
  /// disk, the writes that had returned are lost, and the next ``flush()`` or `enqueue` throws
  /// `SQLError.sharedWritesLost`; reads and other writes go on without them. Ids that lost writes have
  /// returned may be issued again. A store that is released stays open until its enqueued writes are
  /// committed.
  ///
  /// A context's committed values (``ObjectContext/pendingChanges``, ``ManagedObject/committedValues``) are
  /// those of the last commit, which may be before other enqueued writes. Cancelling the task has an effect
  /// only before `body` begins.
  /// - Parameter body: Gets the context. It must not wait for another task or thread that uses this store.
  ///   Reads by other contexts see the last commit in it.
  /// - Returns: The result of `body`, with final ids.
  /// - Throws: The errors of `body` and of its save; `CancellationError`; `SQLError.sharedWritesLost` for
  ///   earlier writes, before `body` begins, and for all of them with this one if it reaches
  ///   ``Configuration/enqueueLimit`` and the commit fails; ``StoreError/storeMigratedElsewhere(file:)``;
  ///   `SQLError.busy` if another process keeps the lock longer than the busy timeout.
  @discardableResult
  public func enqueue<Result: Sendable>(
    _ body: @escaping @Sendable (ObjectContext) throws -> Result
  ) async throws -> Result {
    let work = WritingWork(core: core, pool: pool, sharesTransaction: true)
    do {
      return try await pool.enqueue {
        try work.run(on: $0, body)
      } ending: { isCommitted in
        if isCommitted { work.publish() } else { work.abandon() }
        work.end()
      }
    } catch {
      work.abandon()
      throw error
    }
  }

  /// Commits the writes of ``enqueue(_:)``. Returns when they are in the file; without such writes, after the
  /// running write. Works after ``close()``, too. Cancelling the task has no effect.
  /// - Throws: `SQLError.sharedWritesLost`, once for all enqueued writes that were lost since it was last
  ///   thrown by this call or by ``enqueue(_:)``.
  public func flush() async throws { try await pool.flush() }
}
