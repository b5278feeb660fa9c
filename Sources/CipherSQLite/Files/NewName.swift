// Giving a file a name that nothing may have yet: a step of its own, because plain renaming replaces what has the name.

private import CVaultShims
private import Foundation

package enum NewName {
  /// Renames a file, if nothing has the new name.
  /// - Parameters:
  ///   - path: The new name.
  ///   - given: What an error calls it; by default the same.
  ///   - file: The file.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/diskFull(file:)``, ``SQLError/permissionDenied(file:)``,
  ///   ``SQLError/system(file:operation:code:)``.
  package static func give(_ path: String, naming given: String? = nil, to file: String) throws {
    let given = given ?? path
    guard try !renamed(file, path, given) else { return }
    // A file system that knows no such renaming, nor hard links: the name is taken by an empty file first, which is
    // ours then.
    let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw error("open", given) }
    close(descriptor)
    guard unsafe rename(file, path) == 0 else {
      let error = error("rename", given)
      unsafe unlink(path)
      throw error
    }
  }

  /// - Returns: `false` where the file system can do neither.
  private static func renamed(_ from: String, _ to: String, _ given: String) throws -> Bool {
    if unsafe vault_rename_exclusive(from, to) == 0 { return true }
    guard [EINVAL, ENOSYS, ENOTSUP].contains(errno) else { throw error("rename", given) }
    if unsafe link(from, to) == 0 {
      unsafe unlink(from)
      return true
    }
    guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(errno) else { throw error("link", given) }
    return false
  }

  private static func error(_ operation: String, _ given: String) -> SQLError {
    errno == EEXIST ? .alreadyExists(file: given) : .failed(operation, on: given)
  }
}
