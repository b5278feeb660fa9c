// A callback for the engine's writes to a connection's files: see FileCallInterceptor.

extension Connection {
  /// Calls `body` before each write and sync of the connection's file and of its log, and after each
  /// commit. nil removes the callback.
  ///
  /// If the file has no log, only the file itself is watched. Its journal is not, because the engine creates
  /// and deletes it for each transaction.
  /// - Parameter body: Called on the connection's own thread. It must not use the connection.
  package func onFileCall(_ body: ((FileCall) -> FileAnswer)?) throws {
    unsafe fileCallInterceptor?.end(handle)
    fileCallInterceptor = nil
    guard let body else { return }
    // The engine opens the log at the first read.
    _ = try value("SELECT count(*) FROM sqlite_master")
    fileCallInterceptor = unsafe FileCallInterceptor(handle, body)
  }
}
