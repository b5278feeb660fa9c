// Deletes a store with the files that belong to it.

internal import CipherSQLite
public import Foundation

extension Store {
  /// Closes the store, and deletes its file with all files that the library keeps beside it.
  ///
  /// Deleted are the file, its log (`-wal`), the log's index (`-shm`), its journal, and the copies that
  /// steps requested (``Configuration/makesBackups``) and that still are copies of the store; a copy that a
  /// process has open stays. Files that the program asked for stay: those of ``backup(to:key:progress:)``
  /// and ``exportPlaintext(to:progress:)``, copies with another name, and key files. If the store was opened
  /// through a symbolic link, the link stays, and its target is deleted.
  ///
  /// Waits for running writes, and up to the busy timeout for running reads and other connections. After
  /// an error the store is still open, and nothing was deleted; only if the disk fails during the deletion,
  /// some of the files may be gone. The bytes of a deleted file may remain on the disk; they are encrypted.
  /// - Throws: `SQLError.busy` while another process, or another store of this one, has the file open;
  ///   `SQLError.fileReplaced` if another file has the path now; `SQLError.severalNames` for a file with
  ///   several hard links, `SQLError.readOnly`, `SQLError.folderNotWritable`; `SQLError.closed`.
  public func destroy() async throws {
    let pool = pool
    try await LargeStackThread.run {
      try pool.destroy { MigrationLeavings.removeAll(of: $0) }
    }
    core.feed.end()
  }

  /// Deletes a store that is not open, with all files that the library keeps beside it: see ``destroy()``.
  ///
  /// No key is needed. So the call cannot find out whether an encrypted file is a store of this library:
  /// any encrypted database at the path is deleted, and so is a file of random bytes. A file that certainly
  /// is none is refused: a key file, a text, a plain database, a file of less than a page, a common kind of
  /// archive, image or document, and a file whose beginning is not random.
  ///
  /// ```swift
  /// do { try await Store.destroy(at: url) } catch SQLError.notFound {}
  /// ```
  /// - Parameters:
  ///   - url: The file, or a symbolic link to it.
  ///   - busyTimeout: How long to wait for connections that use the store, in seconds.
  /// - Throws: `SQLError.busy` while a store of this process or another process has the file open;
  ///   `SQLError.notFound`, `SQLError.danglingLink`, `SQLError.emptyFile`; `SQLError.notReplaceable`;
  ///   `SQLError.severalNames`, `SQLError.companionUnusable`, `SQLError.readOnly`,
  ///   `SQLError.folderNotWritable`. Nothing was deleted then.
  public static func destroy(at url: URL, busyTimeout: Double = 5) async throws {
    try await LargeStackThread.run {
      try Connection.destroy(url.filePath, busyTimeout: busyTimeout) { MigrationLeavings.removeAll(of: $0) }
    }
  }
}
