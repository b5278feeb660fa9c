// Closes a pool and deletes its file.

extension ConnectionPool {
  /// Closes all connections, and deletes the file with the files that belong to it.
  ///
  /// Waits for the running write, and up to the busy timeout for running reads and other connections.
  /// - Parameter alongside: Deletes what the layer above keeps beside the file, while no other connection
  ///   can open it.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``, ``SQLError/fileReplaced(file:)`` if another
  ///   file has the path now, ``SQLError/nestedWrite(file:)``, ``SQLError/severalNames(file:count:)``,
  ///   ``SQLError/readOnly(file:)`` and others. Nothing was deleted then, and the pool stays open.
  package func destroy(alongside: (DatabasePath) -> Void) throws {
    guard !isInsideWrite else { throw SQLError.nestedWrite(file: path) }
    try writerQueue.sync {
      guard try !openWriter().hasMoved else { throw SQLError.fileReplaced(file: path) }
      let timeout = configuration.connection.busyTimeout
      guard readers.bar(seconds: timeout) else {
        throw SQLError.busy(file: path, waitedSeconds: timeout, holders: [.thisProcess])
      }
      defer { readers.unbar() }
      // The writer's own lock would prevent the deletion.
      closeWriter()
      do { try FileRemoval.remove(file, isOpened: true, seconds: timeout) { alongside(file) } } catch {
        _ = try? openWriter()
        throw error
      }
      writer.isClosed = true
      readers.close()
      configuration.folder?.remove()
    }
  }
}
