// Reads and writes that block the calling thread, for programs without `async`.

internal import CipherSQLite

extension Store {
  /// Runs `body` as ``read(_:)`` does, on the calling thread.
  ///
  /// ```swift
  /// func count(in store: Store) throws -> Int {
  ///   try store.readAndWait { try $0.fetch(User.self).count() }
  /// }
  /// ```
  ///
  /// For code that cannot suspend: a command-line program, a callback of C, a data source of a table. The
  /// compiler rejects the call in an asynchronous function, where it would block one of the few threads
  /// that all tasks share; use `await store.read` there. In an app, call it on the main thread only for
  /// reads that take a moment.
  ///
  /// It cannot be cancelled. It never waits for another read: if all readers are in use, it opens a
  /// further one. Inside a write it reads the last commit, without the changes of that write.
  /// - Parameter body: Gets the context, which can only read. It must not start a task and wait for it.
  /// - Returns: The result of `body`.
  /// - Throws: As ``read(_:)``.
  @available(*, noasync, message: "use 'await read(_:)', which does not block a thread of the tasks")
  public func readAndWait<Result: Sendable>(
    _ body: (ObjectContext) throws -> Result
  ) throws -> Result {
    let work = ReadingWork(core: core, pool: pool)
    return try pool.readAndWait { try work.run(on: $0, body) }
  }

  /// Runs `body` as ``write(_:)`` does, on the calling thread, after the writes that were called before.
  ///
  /// ```swift
  /// func add(_ name: String, to store: Store) throws {
  ///   try store.writeAndWait { context in
  ///     _ = context.insert(User.self) { $0.name = name }
  ///   }
  /// }
  /// ```
  ///
  /// For code that cannot suspend, as ``readAndWait(_:)``. The call blocks until the commit, however many
  /// writes are before it. Inside a write of the same store it would wait for itself, and throws
  /// `SQLError.nestedWrite` instead.
  /// - Parameter body: Gets the context. It must not wait for another write of this store.
  /// - Returns: The result of `body`, which cannot be an object.
  /// - Throws: As ``write(_:)``; `SQLError.nestedWrite`.
  @available(*, noasync, message: "use 'await write(_:)', which does not block a thread of the tasks")
  @discardableResult
  public func writeAndWait<Result: Sendable>(
    _ body: (ObjectContext) throws -> Result
  ) throws -> Result {
    let work = WritingWork(core: core, pool: pool)
    do {
      let result = try pool.writeAndWait { connection in
        try work.run(on: connection, body)
      } committed: {
        work.publish()
      }
      work.end()
      return result
    } catch {
      work.abandon()
      throw error
    }
  }
}
