// Deletes a database with the files that belong to it. No key is needed.

private import Foundation

enum FileRemoval {
  /// Deletes a database, its log, its index and its journal, and the files that killed processes left beside
  /// it while they built or replaced it.
  ///
  /// The file is locked exclusively until it has no name, as for a replacement, and its beginning is then
  /// overwritten: a process that waited for the lock gets an error instead of the former rows. The file is
  /// deleted last, so that an interrupted deletion can be repeated.
  /// - Parameters:
  ///   - file: The database.
  ///   - isOpened: Whether it was opened with its key. If not, its content must look like that of a database.
  ///   - seconds: How long to wait for other connections.
  ///   - alongside: Deletes what the layer above keeps beside the file, under the same lock.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` while another connection has the file open in
  ///   WAL mode, or reads or writes it; ``SQLError/notReplaceable(file:kind:)`` for a file that is certainly
  ///   no encrypted database; ``SQLError/companionUnusable(file:kind:)``,
  ///   ``SQLError/severalNames(file:count:)``, ``SQLError/readOnly(file:)``,
  ///   ``SQLError/folderNotWritable(folder:)``; as ``PathState/existing(_:)``. Nothing was deleted then. If
  ///   the system refuses to delete one of the files, others may be deleted already: call it again.
  static func remove(_ file: DatabasePath, isOpened: Bool, seconds: Double, alongside: () -> Void) throws {
    try PathState.requireNoCompanionName(file)
    try PathState.existing(file)
    if !isOpened { try Replaceable.check(file, isDeletion: true) }
    guard PathState.isWritable(file) else { throw SQLError.readOnly(file: file.given) }
    guard unsafe access(file.folder, W_OK | X_OK) == 0 else {
      throw SQLError.folderNotWritable(folder: file.folder)
    }
    let held = try RawFile.open(file, holding: .exclusive, seconds: seconds)
    defer { held.unlock() }
    try PathState.requireOneName(file)
    try PathState.checkCompanions(file, isRead: true)
    guard let status = FileStatus(file.path) else { throw SQLError.notFound(file: file.given) }
    // The log and the journal get their names back if a killed process has renamed them: they are then
    // deleted with the others.
    let renamed = RenamedLogs(of: file, status)
    renamed.restoreNames()
    alongside()
    Leftovers.sweep(file.folder, Leftovers.names(in: file.folder)) { $0 == file.name }
    for path in [file.journal, file.log, file.sharedMemory, file.path] {
      guard unsafe unlink(path) == 0 || errno == ENOENT else {
        throw SQLError.failed("unlink", on: file.given)
      }
    }
    renamed.remove()
    held.overwriteBeginning()
    syncFolder(file.folder)
  }
}

extension Connection {
  /// Deletes a database that is not open, with its log, its index and its journal.
  /// - Parameters:
  ///   - path: The file, or a link to it.
  ///   - busyTimeout: How long to wait for connections that use it, in seconds.
  ///   - alongside: Deletes what the layer above keeps beside the file, under the same lock.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``, ``SQLError/notReplaceable(file:kind:)``,
  ///   ``SQLError/notFound(file:)`` and others; nothing was deleted then.
  package static func destroy(
    _ path: String, busyTimeout: Double, alongside: (DatabasePath) -> Void
  ) throws {
    let file = try DatabasePath(path)
    try FileRemoval.remove(file, isOpened: false, seconds: busyTimeout) { alongside(file) }
  }
}
