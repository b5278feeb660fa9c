// Text files that other programs read by name, such as generated sources. They are written as databases
// and key files are (`NewFile`): if a process is stopped, the file has the old text or the new one. The
// errors of all functions here name the file or its folder.

private import Foundation

package enum TextFile {
  /// Creates or replaces a text file, in one atomic step. A link is followed, and stays a link. An
  /// existing file keeps its mode; a new one gets the mode of any new file of this process.
  /// - Throws: As ``NewFile``; ``SQLError/pathUnusable(file:reason:)``.
  package static func write(_ bytes: [UInt8], to path: String) throws {
    let target = try DatabasePath(path)
    let old = FileStatus(target.path)
    try NewFile(at: target, isPrivate: false).sealed(holding: bytes).replaceText(old)
  }

  /// Creates a text file at a path where nothing exists, in one atomic step.
  /// - Throws: As ``NewFile``; ``SQLError/alreadyExists(file:)``,
  ///   ``SQLError/pathUnusable(file:reason:)``.
  package static func create(_ bytes: [UInt8], at path: String) throws {
    try NewFile(at: DatabasePath(path), isPrivate: false).sealed(holding: bytes).publish()
  }

  /// Returns the bytes of a file; nil where there is none, also for a dangling link. An unreadable file
  /// is an error, because a caller that treated it as missing would overwrite it.
  /// - Throws: ``SQLError/isDirectory(file:)``, ``SQLError/notAFile(file:kind:)``,
  ///   ``SQLError/permissionDenied(file:)``, ``SQLError/system(file:operation:code:)``.
  package static func read(_ path: String) throws -> [UInt8]? {
    // O_NONBLOCK: opening a pipe does not block.
    let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if [ENOENT, ENOTDIR].contains(errno) { return nil }
      throw SQLError.failed("open", on: path)
    }
    defer { close(descriptor) }
    guard let status = FileStatus(descriptor: descriptor) else { throw SQLError.failed("stat", on: path) }
    guard !status.isDirectory else { throw SQLError.isDirectory(file: path) }
    guard status.isRegular else { throw SQLError.notAFile(file: path, kind: status.kind) }
    var (bytes, part) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
    while true {
      let count = unsafe part.withUnsafeMutableBytes {
        unsafe Foundation.read(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SQLError.failed("read", on: path) }
      guard count > 0 else { return bytes }
      bytes += part.prefix(count)
    }
  }

  /// Renames a file to a name that nothing has.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/folderNotWritable(folder:)``,
  ///   ``SQLError/diskFull(file:)``, ``SQLError/system(file:operation:code:)``.
  package static func move(_ path: String, to name: String) throws {
    do { try ExclusiveRename.give(name, to: path) } catch SQLError.permissionDenied {
      throw SQLError.folderNotWritable(folder: DatabasePath.split(name).folder)
    }
  }

  /// Removes a file.
  /// - Throws: ``SQLError/notFound(file:)``, ``SQLError/folderNotWritable(folder:)``,
  ///   ``SQLError/system(file:operation:code:)``.
  package static func remove(_ path: String) throws {
    guard unsafe unlink(path) != 0 else { return }
    switch errno {
    case ENOENT: throw SQLError.notFound(file: path)
    case EACCES, EPERM, EROFS: throw SQLError.folderNotWritable(folder: DatabasePath.split(path).folder)
    default: throw SQLError.failed("unlink", on: path)
    }
  }

  /// Creates a folder, and its missing parents. If anything exists at the path, even a file, it stays as
  /// it is, and this is no error.
  /// - Throws: ``SQLError/folderNotWritable(folder:)``, ``SQLError/diskFull(file:)``,
  ///   ``SQLError/pathUnusable(file:reason:)``, ``SQLError/system(file:operation:code:)``.
  package static func makeFolder(_ path: String) throws {
    if unsafe mkdir(path, 0o777) == 0 { return }
    let above = DatabasePath.split(path).folder
    switch errno {
    case EEXIST: return
    case ENOENT where above != path && above != ".":
      try makeFolder(above)
      guard unsafe mkdir(path, 0o777) != 0, errno != EEXIST else { return }
      throw SQLError.failed("mkdir", on: path)
    case EACCES, EPERM, EROFS: throw SQLError.folderNotWritable(folder: above)
    case ENOTDIR: throw SQLError.pathUnusable(file: path, reason: "a part of it is a file, not a folder")
    default: throw SQLError.failed("mkdir", on: path)
    }
  }

  /// Removes the temporary files that killed processes left in a folder. Files with other names stay.
  package static func sweep(_ folder: String) { Leftovers.sweep(folder) }
}
