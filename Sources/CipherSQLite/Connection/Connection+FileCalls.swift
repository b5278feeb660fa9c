// What the engine does to the files of a connection, for who asks: see FileCallWatch.

extension Connection {
  /// Calls `body` before each write and sync of the connection's file and of its log, and behind each commit. nil ends
  /// it.
  ///
  /// Of a file without a log only the file itself is watched: its journal comes and goes.
  /// - Parameter body: Called on the connection's own thread. It must not use the connection.
  package func onFileCall(_ body: ((FileCall) -> FileAnswer)?) throws {
    unsafe fileWatch?.end(handle)
    fileWatch = nil
    guard let body else { return }
    // The log is opened by the first read.
    _ = try value("SELECT count(*) FROM sqlite_master")
    fileWatch = unsafe FileCallWatch(handle, body)
  }
}
