// A folder for what a process builds aside and keeps from all others. What a process leaves that was killed, the next one of
// the same kind removes.

private import Foundation

/// A folder of this process, of mode 0700, below the system's for temporary files. It goes with this object.
package final class PrivateFolder {
  /// What a folder is for, by which those that were left are known.
  package struct Kind: Sendable {
    /// What stands in front of six signs of chance.
    let prefix: String
    /// The files that may be in it, without what the engine keeps beside them. A folder with any other is somebody's and
    /// stays.
    let files: Set<String>

    /// A kind of its own.
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

  /// Where it is.
  package let path: String
  private let kind: Kind
  /// Says that somebody uses the folder, until this process ends.
  private let guardian: Int32

  /// Makes a folder, and removes those of the same kind that were left.
  /// - Throws: ``SQLError/pathUnusable(file:reason:)``, ``SQLError/diskFull(file:)``,
  ///   ``SQLError/system(file:operation:code:)``; `CancellationError` when the process is ending.
  package init(_ kind: Kind) throws {
    let parent = NSTemporaryDirectory()
    guard FileStatus(parent) != nil else {
      throw SQLError.pathUnusable(
        file: parent, reason: "it is the folder for temporary files, and does not exist; TMPDIR names another"
      )
    }
    Self.sweep(parent, kind)
    self.kind = kind
    (path, guardian) = try Self.make(kind, in: parent)
  }

  deinit {
    Self.remove(path, kind)
    Temporaries.unregister(path)
    if guardian >= 0 { close(guardian) }
  }

  /// Makes a folder and locks it.
  private static func make(_ kind: Kind, in parent: String) throws -> (path: String, guardian: Int32) {
    // Between the making of the lock and the locking somebody's sweep may have it, and takes the folder for one that
    // was left. It goes then, by that sweep or by the next, and another one is made.
    for _ in 0..<100 {
      var template = Array((parent + "/" + kind.prefix + "XXXXXX").utf8CString)
      // The system writes plain letters and digits in the place of the X.
      let folder = try Temporaries.registerFolder {
        guard unsafe mkdtemp(&template) != nil else { throw SQLError.failed("mkdtemp", on: parent) }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      }
      let lock = folder + "/" + lockName
      let guardian = unsafe open(lock, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0o600)
      let code = guardian < 0 || flock(guardian, LOCK_EX | LOCK_NB) != 0 ? errno : 0
      // A lock on a file that is gone keeps nobody away.
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

  /// Its lock goes last: without it nobody would know afterwards whether the rest was left.
  private static func remove(_ folder: String, _ kind: Kind) {
    for name in Leftovers.names(in: folder) where name != lockName && kind.owns(name) {
      unsafe unlink(folder + "/" + name)
    }
    unsafe unlink(folder + "/" + lockName)
    unsafe rmdir(folder)
  }
}
