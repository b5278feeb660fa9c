// A run on a connection: while it lasts, the connection's waiting ends when the run is cancelled.

extension CancellableRun {
  /// Runs `body`, which works on `connection` alone.
  /// - Throws: `CancellationError` when cancelled before or meanwhile; else what `body` throws.
  package func run<Result>(_ connection: Connection, _ body: () throws -> Result) throws -> Result {
    // A run may lie in another one, which goes on afterwards.
    let outer = connection.waiting.run
    connection.waiting.run = self
    connection.watchForCancellation()
    defer { connection.waiting.run = outer }
    return try interrupting(connection.interruptor, body)
  }
}
