// Returns the free space of the file to the disk.

internal import CipherSQLite
public import Foundation

extension Store {
  /// Rewrites the file without free pages, and so returns the space of deleted rows to the disk.
  ///
  /// Without it, new rows use that space, and the file does not grow until the space is used up. So call it
  /// only after much was deleted, or after a migration step that rewrote a large table.
  ///
  /// Reads continue meanwhile, and writes wait. It costs about as much as reading the file once and writing
  /// it twice, and needs the file's size in memory and once more on the disk. If another connection reads
  /// for longer than the busy timeout, the file becomes smaller at a later checkpoint. Ids and contents do
  /// not change.
  /// - Parameter progress: Counts each page twice: written to the log, and copied to the file. Cancelling it
  ///   or the task ends the work.
  /// - Throws: ``StoreError/notEnoughSpace(file:neededBytes:freeBytes:)`` before anything is written;
  ///   `SQLError.diskFull`; `SQLError.busy` if another process writes for longer than the busy timeout;
  ///   `CancellationError`. The file is unchanged then.
  public func vacuum(progress: Progress? = nil) async throws {
    let (pool, path) = (pool, core.path)
    try await cancellable(by: progress) { run in
      try pool.withWriter { connection in
        if let needed = connection.contentBytes, let free = try DatabasePath(path).freeBytes, free < needed {
          throw StoreError.notEnoughSpace(file: path, neededBytes: needed, freeBytes: free)
        }
        try run.run(connection) { try connection.vacuum { try run.show(progress, $0, of: $1) } }
      }
    }
  }
}
