// A folder for one test, which is removed with the last reference to it.

internal import CipherSQLite
package import Foundation

/// A folder that is removed when the value is released.
package final class TestFolder: Sendable {
  package let url: URL

  /// Creates the folder.
  /// - Parameter isInMemory: Whether it is created in a memory file system, if the system has one.
  package init(isInMemory: Bool = false) throws {
    let memory = isInMemory ? PrivateFolder.memory : nil
    let parent =
      memory.map { URL(fileURLWithPath: $0, isDirectory: true) } ?? FileManager.default.temporaryDirectory
    url = parent.appendingPathComponent("vault-test-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }
}

/// The suffixes of the files that contain a database after a crash: the file itself, the WAL and the
/// rollback journal.
private let databaseFileSuffixes = ["", "-wal", "-journal"]

/// Copies the files of a database as they are: as a process that is killed at this moment would leave
/// them.
///
/// Closing a file releases all locks that this process has on it. Use this only for a file that no other
/// process uses.
func copyDatabaseFiles(_ file: URL, to target: URL) throws {
  for suffix in databaseFileSuffixes where FileManager.default.fileExists(atPath: file.path + suffix) {
    try FileManager.default.copyItem(atPath: file.path + suffix, toPath: target.path + suffix)
  }
}
