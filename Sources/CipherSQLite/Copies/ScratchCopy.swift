// A temporary encrypted copy on which migration steps are tried, with the key of the original.

private import Foundation

/// A copy of a database in a private folder. It is removed with this object. If the process is killed,
/// the next process that makes such a copy removes it.
package final class ScratchCopy {
  /// The copy's file name in its folder.
  package static let fileName = "copy.store"

  /// A connection to the copy, open for writing. Its errors name the original.
  package let connection: Connection
  private let folder: PrivateFolder

  /// Copies one snapshot of a database. Other connections may read and write the original meanwhile.
  /// - Parameters:
  ///   - source: The original.
  ///   - room: The number of bytes that must be free in addition to the size of the copy.
  ///   - others: The names of other files that the caller will create next to the copy. A folder that
  ///     contains any other file is not removed.
  ///   - check: Called every 256 pages. If it throws, the copying ends.
  /// - Throws: ``SQLError/diskFull(file:)`` for the folder of temporary files,
  ///   before the copying or during it.
  package init(of source: Connection, room: Int, others: Set<String>, check: () throws -> Void) throws {
    let parent = PrivateFolder.temporary
    let needed = (source.contentBytes ?? 0).addingReportingOverflow(room)
    guard !needed.overflow, needed.partialValue <= FreeSpace.bytes(in: parent) ?? .max else {
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
      // The transaction's snapshot begins with its first read.
      _ = try value("SELECT count(*) FROM sqlite_master")
      try copyPages(to: target) { _, _ in try check() }
    }
  }
}
