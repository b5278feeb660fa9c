// An encrypted copy to run steps on, under the key of the file.

private import Foundation

/// A copy of a database in a private folder. It is removed with this object; where the process was killed, by the next one.
package final class ScratchCopy {
  /// What it is called in its folder.
  package static let fileName = "copy.store"

  /// Open for writing. Its errors name the original.
  package let connection: Connection
  private let folder: PrivateFolder

  /// Copies a database as it is at one moment. Others may read and write it meanwhile.
  /// - Parameters:
  ///   - source: The original.
  ///   - room: How many bytes there must be free in addition to those of the copy.
  ///   - others: The names of files that are put beside it meanwhile, beyond those of the engine: a folder with any other file is
  ///     not removed.
  ///   - check: Called every 256 pages; what it throws ends the copying.
  /// - Throws: ``SQLError/diskFull(file:)`` for the folder of temporary files, before anything is copied or meanwhile.
  package init(of source: Connection, room: Int, others: Set<String>, check: () throws -> Void) throws {
    let parent = NSTemporaryDirectory()
    let needed = (source.contentBytes ?? 0).addingReportingOverflow(room)
    guard !needed.overflow, needed.partialValue <= DiskRoom.bytes(in: parent) ?? .max else {
      throw SQLError.diskFull(file: parent)
    }
    folder = try PrivateFolder(.init(prefix: "vault-rehearse-", files: others.union([Self.fileName])))
    let file = DatabasePath(temporary: folder.path + "/" + Self.fileName, of: source.file)
    let descriptor = unsafe open(file.path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SQLError.failed("open", on: folder.path) }
    close(descriptor)
    do {
      try source.copySnapshot(to: file, check)
      connection = try Connection.open(
        file, unlocked: source.unlocked, configuration: Connection.Configuration())
    } catch SQLError.diskFull {
      throw SQLError.diskFull(file: parent)
    }
  }

  deinit { connection.close() }
}

extension Connection {
  /// Fills an empty file with the pages of this database.
  fileprivate func copySnapshot(to file: DatabasePath, _ check: () throws -> Void) throws {
    let target = try Connection.keyed(file, unlocked: unlocked, configuration: Configuration())
    defer { target.close() }
    try transaction(.deferred) {
      // The transaction begins with its first read.
      _ = try value("SELECT count(*) FROM sqlite_master")
      try copyPages(to: target) { _, _ in try check() }
    }
  }
}
