// Renames a file to a name that must not exist yet. Plain `rename` would replace a file of that name.

private import CVaultShims
private import Foundation

package enum ExclusiveRename {
  /// The suffix of a copy that is complete and does not have its final name yet.
  package static let unfinished = ".unfinished"

  /// Renames a file, if nothing has the new name.
  /// - Parameters:
  ///   - path: The new name.
  ///   - given: The path that errors report; `path` by default.
  ///   - file: The path of the file that is renamed.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/diskFull(file:)``,
  ///   ``SQLError/permissionDenied(file:)``, ``SQLError/system(file:operation:code:)``.
  package static func give(_ path: String, naming given: String? = nil, to file: String) throws {
    let given = given ?? path
    guard try !renamed(file, to: path, naming: given) else { return }
    // The file system supports neither an exclusive rename nor hard links: an empty file reserves the
    // name first, and is then replaced.
    let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw error("open", on: given) }
    close(descriptor)
    guard unsafe rename(file, path) == 0 else {
      let error = error("rename", on: given)
      unsafe unlink(path)
      throw error
    }
  }

  /// Removes the temporary name of a file that also has its final name already. A file has both names
  /// where the rename takes two steps (`link`, then `unlink`), and the process failed to do the second
  /// one, was killed before it, or is about to do it.
  ///
  /// Removes names in the file's folder only, and only a name of the same file that is ours: one of
  /// ``TemporaryName``, or the file's own name with ``unfinished`` appended. Files with a similar name
  /// stay.
  package static func finish(_ file: DatabasePath) {
    guard let status = FileStatus(file.path), status.isRegular, status.hasOtherNames else { return }
    for name in Leftovers.names(in: file.folder)
    where name != file.name && (name == file.name + unfinished || TemporaryName.isOurs(name)) {
      let path = file.sibling(name)
      guard let other = FileStatus(path), other.isSameFile(as: status) else { continue }
      unsafe unlink(path)
    }
  }

  /// Renames a file by an exclusive rename or by hard links.
  /// - Returns: `false` where the file system supports neither.
  private static func renamed(_ from: String, to: String, naming given: String) throws -> Bool {
    if unsafe vault_rename_exclusive(from, to) == 0 { return true }
    guard [EINVAL, ENOSYS, ENOTSUP].contains(errno) else { throw error("rename", on: given) }
    if unsafe link(from, to) == 0 {
      // If this fails, or the process is killed before it, the next process that opens the file removes
      // the name (`finish`).
      unsafe unlink(from)
      return true
    }
    guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(errno) else { throw error("link", on: given) }
    return false
  }

  private static func error(_ operation: String, on given: String) -> SQLError {
    errno == EEXIST ? .alreadyExists(file: given) : .failed(operation, on: given)
  }
}
