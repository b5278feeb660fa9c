// A folder of a test's own, removed when nothing in it is in use any more.

package import Foundation

/// A folder that is removed on release.
package final class TestFolder: Sendable {
  package let url: URL

  /// - Parameter isInMemory: Whether it lies in a file system that is memory, where the system has one.
  package init(isInMemory: Bool = false) throws {
    let memory = "/dev/shm"
    let parent =
      isInMemory && FileManager.default.isWritableFile(atPath: memory)
      ? URL(fileURLWithPath: memory, isDirectory: true) : FileManager.default.temporaryDirectory
    url = parent.appendingPathComponent("vault-test-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }
}

/// What a database's file has beside it that is part of its content after a crash: the log, and the rollback journal.
private let sideFiles = ["", "-wal", "-journal"]

/// Copies a database as it lies there, as a process that is killed in this moment would leave it.
///
/// Closing a file drops the locks that this process has on it, so this is for files that nobody else may use.
func copyAsItLies(_ file: URL, to target: URL) throws {
  for suffix in sideFiles where FileManager.default.fileExists(atPath: file.path + suffix) {
    try FileManager.default.copyItem(atPath: file.path + suffix, toPath: target.path + suffix)
  }
}
