// A cancellable run on a connection. Cancelling it also ends the connection's wait for a lock.

extension CancellableRun {
  /// Runs `body`, which must use no other connection than `connection`.
  /// - Throws: `CancellationError` if the run was cancelled before `body`, or before `body` threw;
  ///   otherwise what `body` throws.
  package func run<Result>(_ connection: Connection, _ body: () throws -> Result) throws -> Result {
    // Runs can be nested: the outer run is restored afterwards.
    let outer = connection.waiting.run
    connection.waiting.run = self
    connection.watchForCancellation()
    defer { connection.waiting.run = outer }
    return try interrupting(connection.interruptor, body)
  }
}
