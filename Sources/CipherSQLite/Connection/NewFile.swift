// A file that is built under a temporary name and takes its own only when it is whole: a crash leaves either
// nothing at the path or all of it.

private import Foundation

final class NewFile {
  /// The name that it is to have.
  let path: String
  /// The name under which it is built, in the same folder. Mode 0600, empty at first.
  let temporary: String
  /// Holds a lock that says that somebody builds this file; -1 once it is given up. Not SQLite's kind of lock, and
  /// closed before the file has its name: closing any descriptor drops SQLite's locks on the file behind it.
  private var guardian: Int32 = -1

  /// - Throws: ``SQLError/folderMissing(folder:)``, ``SQLError/permissionDenied(file:)``,
  ///   ``SQLError/system(file:operation:code:)``.
  init(at path: String) throws {
    self.path = path
    Self.sweep(path)
    temporary = "\(path).new-" + (try randomSalt().prefix(6).map { String($0, radix: 16) }.joined())
    // O_EXCL and O_NOFOLLOW: a planted file or link of that name is refused, never written to.
    let descriptor = Foundation.open(temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      switch errno {
      case EACCES, EROFS: throw SQLError.permissionDenied(file: path)
      case ENOENT: throw SQLError.folderMissing(folder: (path as NSString).deletingLastPathComponent)
      default: throw SQLError.system(file: temporary, operation: "open", code: Int(errno))
      }
    }
    // 0600 whatever the umask says.
    fchmod(descriptor, 0o600)
    flock(descriptor, LOCK_EX | LOCK_NB)
    guardian = descriptor
  }

  /// Removes what builders of this file left that were killed: their locks ended with them.
  private static func sweep(_ path: String) {
    let (folder, name) = ((path as NSString).deletingLastPathComponent, (path as NSString).lastPathComponent)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
    let companions = ["-journal", "-wal", "-shm"]
    for other in names where other.hasPrefix("\(name).new-") && !companions.contains(where: other.hasSuffix) {
      let stale = (folder as NSString).appendingPathComponent(other)
      // A builder that was killed between the two names: this is the file itself, in use perhaps, and opening it here
      // would drop the locks that this process holds on it.
      if isSameFile(stale, path) {
        unlink(stale)
        continue
      }
      let descriptor = Foundation.open(stale, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(stale + suffix) }
      }
      Foundation.close(descriptor)
    }
  }

  private static func isSameFile(_ one: String, _ other: String) -> Bool {
    var (first, second) = (stat(), stat())
    return lstat(one, &first) == 0 && lstat(other, &second) == 0 && first.st_ino == second.st_ino
      && first.st_dev == second.st_dev
  }

  private func giveUpGuardian() {
    if guardian >= 0 { Foundation.close(guardian) }
    guardian = -1
  }

  deinit {
    giveUpGuardian()
    // After publishing nothing is left of these.
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(temporary + suffix) }
  }

  /// Writes the whole content of a small file.
  func write(_ bytes: [UInt8]) throws {
    let descriptor = Foundation.open(temporary, O_WRONLY | O_TRUNC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw SQLError.system(file: temporary, operation: "open", code: Int(errno)) }
    defer { Foundation.close(descriptor) }
    guard Foundation.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw SQLError.system(file: temporary, operation: "write", code: Int(errno))
    }
  }

  /// Gives the file its name, where no file has it. No connection may be open on it any more.
  /// - Throws: ``SQLError/alreadyExists(file:)``.
  func publish() throws {
    try sync()
    giveUpGuardian()
    // A hard link, because unlike rename it fails where a file appeared meanwhile.
    guard link(temporary, path) == 0 else {
      throw errno == EEXIST
        ? SQLError.alreadyExists(file: path)
        : SQLError.system(file: path, operation: "link", code: Int(errno))
    }
    unlink(temporary)
    syncFolder(of: path)
  }

  /// Frees the temporary name for a builder that makes the file itself.
  func discard() throws {
    giveUpGuardian()
    guard unlink(temporary) == 0 else {
      throw SQLError.system(file: temporary, operation: "unlink", code: Int(errno))
    }
  }

  /// Puts the file in the place of another, in one step that is done or not done.
  func replace() throws {
    try sync()
    giveUpGuardian()
    guard rename(temporary, path) == 0 else {
      throw SQLError.system(file: path, operation: "rename", code: Int(errno))
    }
    syncFolder(of: path)
  }

  private func sync() throws {
    let descriptor = Foundation.open(temporary, O_RDWR | O_NOFOLLOW)
    guard descriptor >= 0 else { throw SQLError.system(file: temporary, operation: "open", code: Int(errno)) }
    defer { Foundation.close(descriptor) }
    guard fsync(descriptor) == 0 else {
      throw SQLError.system(file: temporary, operation: "fsync", code: Int(errno))
    }
  }
}

/// Makes a new name in a folder durable.
func syncFolder(of path: String) {
  let folder = (path as NSString).deletingLastPathComponent
  let descriptor = Foundation.open(folder.isEmpty ? "." : folder, O_RDONLY)
  if descriptor >= 0 {
    fsync(descriptor)
    Foundation.close(descriptor)
  }
}
