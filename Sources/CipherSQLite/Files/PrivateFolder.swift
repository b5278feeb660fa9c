// A private folder for files that a process needs temporarily. If a process is killed, the next process
// that makes a folder of the same kind in the same place removes the folder that was left.

private import Foundation

/// A folder of this process, of mode 0700, by default in the system's folder for temporary files. It is
/// deleted with this object, or earlier by ``remove()``.
package final class PrivateFolder: Sendable {
  /// The purpose of a folder, by which leftover folders are recognized.
  package struct Kind: Sendable {
    /// The start of its name; six random characters follow.
    let prefix: String
    /// The files that may be in it, without the companions that the engine keeps next to them. A folder
    /// that has any other file is not ours and stays.
    let files: Set<String>

    /// Describes a purpose by the prefix of its folders and the files that they may have.
    package init(prefix: String, files: Set<String>) { (self.prefix, self.files) = (prefix, files) }

    fileprivate func owns(_ name: String) -> Bool {
      if name == PrivateFolder.lockName || TemporaryName.base(of: name).map(files.contains) ?? false {
        return true
      }
      return ([""] + DatabasePath.companionSuffixes).contains {
        name.hasSuffix($0) && files.contains(String(name.dropLast($0.count)))
      }
    }
  }

  private static let lockName = "lock"

  /// The folder's path.
  package let path: String
  private let kind: Kind
  /// Descriptor of the lock file: its lock marks the folder as in use, until the descriptor is closed or
  /// this process ends.
  private let guardian: Int32
  private let isRemoved = Locked(false)

  /// The system's folder for temporary files. For an empty TMPDIR, Foundation returns the root of the file
  /// system.
  package static var temporary: String {
    ProcessInfo.processInfo.environment["TMPDIR"] == "" ? "/tmp" : NSTemporaryDirectory()
  }

  /// The folder of a file system in memory in which this user may create files; nil if there is none. On
  /// Linux it is the folder of POSIX shared memory.
  package static var memory: String? {
    #if os(Linux)
      let folder = "/dev/shm"
      let isUsable = unsafe access(folder, W_OK | X_OK) == 0 && FileStatus(folder)?.isDirectory ?? false
      return isUsable ? folder : nil
    #else
      return nil
    #endif
  }

  /// Creates a folder, and removes leftover folders of the same kind.
  /// - Parameters:
  ///   - kind: What the folder is for.
  ///   - parent: The folder in which it is created; by default the system's folder for temporary files.
  /// - Throws: ``SQLError/pathUnusable(file:reason:)``, ``SQLError/folderNotWritable(folder:)``,
  ///   ``SQLError/diskFull(file:)``, ``SQLError/system(file:operation:code:)``; `CancellationError` when
  ///   the process is ending.
  package init(_ kind: Kind, in parent: String = PrivateFolder.temporary) throws {
    var parent = parent
    while parent.hasSuffix("/"), parent != "/" { parent.removeLast() }
    var status = stat()
    let isThere = unsafe stat(parent, &status) == 0
    guard isThere, status.st_mode & S_IFMT == S_IFDIR else {
      throw SQLError.pathUnusable(
        file: parent,
        reason: "it is the folder for temporary files and \(isThere ? "is not a folder" : "does not exist"); "
          + "set TMPDIR to choose another")
    }
    Self.sweep(parent, kind)
    self.kind = kind
    do { (path, guardian) = try Self.make(kind, in: parent) } catch SQLError.permissionDenied {
      throw SQLError.folderNotWritable(folder: parent)
    }
  }

  deinit { remove() }

  /// Deletes the folder and its files. Further calls do nothing.
  package func remove() {
    let isFirst = isRemoved.withLock { isRemoved in
      defer { isRemoved = true }
      return !isRemoved
    }
    guard isFirst else { return }
    Self.remove(path, kind)
    Temporaries.unregister(path)
    close(guardian)
  }

  /// Creates a folder and locks it.
  private static func make(_ kind: Kind, in parent: String) throws -> (path: String, guardian: Int32) {
    // Between creating and locking the lock file, another process's sweep may lock it, because the folder
    // looks like a leftover. That sweep or a later one removes the folder; this loop creates another one.
    for _ in 0..<100 {
      var template = Array(((parent == "/" ? "" : parent) + "/" + kind.prefix + "XXXXXX").utf8CString)
      // The system replaces each X by an ASCII letter or digit.
      let folder = try Temporaries.registerFolder {
        guard unsafe mkdtemp(&template) != nil else { throw SQLError.failed("mkdtemp", on: parent) }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      }
      let lock = folder + "/" + lockName
      let guardian = unsafe open(lock, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0o600)
      let code = guardian < 0 || flock(guardian, LOCK_EX | LOCK_NB) != 0 ? errno : 0
      // A lock on a file that was deleted excludes no other process.
      if code == 0, let held = FileStatus(descriptor: guardian),
        FileStatus(lock)?.isSameFile(as: held) ?? false
      {
        return (folder, guardian)
      }
      if guardian >= 0 { close(guardian) }
      Temporaries.unregister(folder)
      guard code == 0 || code == EWOULDBLOCK else {
        remove(folder, kind)
        throw SQLError.failed("lock", on: folder, code: code)
      }
    }
    throw SQLError.failed("lock", on: parent, code: EWOULDBLOCK)
  }

  /// Removes the folders of processes that were killed: their locks ended with them.
  private static func sweep(_ parent: String, _ kind: Kind) {
    for name in Leftovers.names(in: parent)
    where name.hasPrefix(kind.prefix) && name.utf8.count == kind.prefix.utf8.count + 6 {
      let folder = parent + "/" + name
      guard let status = FileStatus(folder), status.isDirectory, status.isOwn,
        Leftovers.names(in: folder).allSatisfy({ [".", ".."].contains($0) || kind.owns($0) })
      else { continue }
      let descriptor = unsafe open(folder + "/" + lockName, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { remove(folder, kind) }
      close(descriptor)
    }
  }

  /// Deletes a folder. The lock file is deleted last: without it, a later sweep could not determine
  /// whether the rest is a leftover.
  private static func remove(_ folder: String, _ kind: Kind) {
    for name in Leftovers.names(in: folder) where name != lockName && kind.owns(name) {
      unsafe unlink(folder + "/" + name)
    }
    unsafe unlink(folder + "/" + lockName)
    unsafe rmdir(folder)
  }
}
