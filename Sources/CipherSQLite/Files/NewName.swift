// Giving a file a name that nothing may have yet: a step of its own, because plain renaming replaces what has the name.

private import CVaultShims
private import Foundation

package enum NewName {
  /// What stands behind the name of a copy that is whole and not yet to have its own.
  package static let unfinished = ".unfinished"

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

  /// Takes away what a file was called until it got its name, where that took two steps and the second one has not been done:
  /// who gave it was killed between them, could not do it, or is about to.
  ///
  /// Only in the file's folder, and only a name that leads to the same file and is ours: one of ``TemporaryName``, or the file's
  /// own with ``unfinished`` behind it. What is merely called alike stays.
  package static func finish(_ file: DatabasePath) {
    guard let status = FileStatus(file.path), status.isRegular, status.hasOtherNames else { return }
    for name in Leftovers.names(in: file.folder)
    where name != file.name && (name == file.name + unfinished || TemporaryName.isOurs(name)) {
      let path = file.sibling(name)
      guard let other = FileStatus(path), other.isSameFile(as: status) else { continue }
      unsafe unlink(path)
    }
  }

  /// - Returns: `false` where the file system can do neither.
  private static func renamed(_ from: String, _ to: String, _ given: String) throws -> Bool {
    if unsafe vault_rename_exclusive(from, to) == 0 { return true }
    guard [EINVAL, ENOSYS, ENOTSUP].contains(errno) else { throw error("rename", given) }
    if unsafe link(from, to) == 0 {
      // Where this is not done any more, or fails, whoever opens the file does it (finish).
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
