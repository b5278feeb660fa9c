// A file is built under a temporary name and gets its own name only when it is complete: after a crash
// the path has the whole new file, or what it had before (nothing, or the file that was to be replaced).
// A file must be sealed before it can get its name (`SealedFile`), so no caller can omit the
// verification.

private import Foundation

/// A file that is being built. If it did not get its name, it is deleted with this object.
final class NewFile {
  /// The final path of the file.
  let target: DatabasePath
  /// The temporary path, in the same folder. The file is empty at first. Errors name the target.
  let file: DatabasePath
  /// Descriptor with the `flock` that marks the file as being built; -1 once the file has its name.
  /// SQLite uses another kind of lock.
  private var guardian: Int32 = -1

  /// Whether it is a database, next to which the engine would search for a log.
  fileprivate private(set) var isDatabase = false

  /// Creates the file, and removes what killed builders left in the folder.
  /// - Parameters:
  ///   - target: The path that the file is to get.
  ///   - isPrivate: Whether the file has mode 0600; otherwise the process's umask decides.
  /// - Throws: ``SQLError/pathUnusable(file:reason:)`` for a name that SQLite uses for a companion of
  ///   another file; ``SQLError/folderNotWritable(folder:)``, ``SQLError/folderMissing(folder:)``,
  ///   ``SQLError/diskFull(file:)``, ``SQLError/system(file:operation:code:)``; `CancellationError` when
  ///   the process is ending.
  init(at target: DatabasePath, isPrivate: Bool = true) throws {
    try PathState.requireNoCompanionName(target)
    self.target = target
    Leftovers.sweep(target.folder)
    while true {
      let candidate = target.temporary(try TemporaryName.random(for: target.name))
      let descriptor = try Temporaries.register(candidate.path) {
        try Self.made(candidate, isPrivate)
      }
      if let descriptor {
        (file, guardian) = (candidate, descriptor)
        return
      }
      Temporaries.unregister(candidate.path)
    }
  }

  /// Creates an empty file and locks it; nil when the name is taken, or when another process locked or
  /// removed the file between these two steps.
  private static func made(_ file: DatabasePath, _ isPrivate: Bool) throws -> Int32? {
    // O_EXCL and O_NOFOLLOW: a planted file or link of that name is refused, never written to.
    let descriptor = unsafe Foundation.open(
      file.path, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, isPrivate ? 0o600 : 0o666)
    guard descriptor >= 0 else {
      if errno == EEXIST { return nil }
      if errno == ENOENT { throw SQLError.folderMissing(folder: file.folder) }
      // The error is about the folder, because the file does not exist yet.
      if [EACCES, EPERM, EROFS].contains(errno) { throw SQLError.folderNotWritable(folder: file.folder) }
      throw SQLError.failed("open", on: file.given)
    }
    // Independent of the umask.
    if isPrivate { fchmod(descriptor, 0o600) }
    let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0
    guard isLocked || errno != EWOULDBLOCK, let status = FileStatus(descriptor: descriptor),
      let named = FileStatus(file.path), named.isSameFile(as: status)
    else {
      Foundation.close(descriptor)
      return nil
    }
    return descriptor
  }

  deinit {
    if guardian >= 0 {
      for suffix in [""] + DatabasePath.companionSuffixes { unsafe unlink(file.path + suffix) }
      Foundation.close(guardian)
    }
    Temporaries.unregister(file.path)
  }

  // MARK: Sealing

  /// Writes the whole content of a small file, reads it back to verify it, and syncs it.
  func sealed(holding bytes: [UInt8]) throws -> SealedFile {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe pwrite(
          guardian, $0.baseAddress.map { unsafe $0 + written }, bytes.count - written, off_t(written))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw SQLError.failed("write", on: target.given, code: count == 0 ? ENOSPC : errno)
      }
      written += count
    }
    var found = [UInt8](repeating: 0, count: bytes.count + 1)
    let count = unsafe found.withUnsafeMutableBytes { unsafe pread(guardian, $0.baseAddress, $0.count, 0) }
    guard count == bytes.count, found.prefix(bytes.count).elementsEqual(bytes) else {
      throw SQLError.verificationFailed(
        file: target.given, reason: "the file does not contain what was written")
    }
    return try synced()
  }

  /// Seals a database that no connection has open any more.
  /// - Parameter proof: Reads the database, and throws when it is incomplete. Called after checking that
  ///   its log and its journal are empty.
  /// - Throws: ``SQLError/verificationFailed(file:reason:)``; what `proof` throws.
  func sealed(asDatabase proof: () throws -> Void) throws -> SealedFile {
    isDatabase = true
    for rest in [file.log, file.journal] where FileStatus(rest)?.byteCount ?? 0 > 0 {
      throw SQLError.verificationFailed(
        file: target.given,
        reason: "not everything that was written is in the file itself; the disk may be full")
    }
    try proof()
    return try synced()
  }

  private func synced() throws -> SealedFile {
    #if canImport(Darwin)
      // On Darwin, fsync only passes the bytes to the disk, which may keep them in its cache.
      if fcntl(guardian, F_FULLFSYNC) == 0 { return SealedFile(self) }
    #endif
    guard fsync(guardian) == 0 else { throw SQLError.failed("fsync", on: target.given) }
    return SealedFile(self)
  }

  // MARK: Naming, for SealedFile

  /// Gives the file its name by `rename`, while no thread of this process opens a file. The descriptor
  /// with the lock is closed before any thread opens the file by its name: closing it later would drop the
  /// locks of a connection that opened the file.
  /// - Returns: The descriptor with the lock if `keepsLock` is set; otherwise it is closed, and the
  ///   result is nil.
  @discardableResult
  fileprivate func named(
    keepsLock: Bool = false, _ rename: (_ from: String, _ to: String) throws -> Void
  ) throws -> Int32? {
    // Remains of a log that SQLite emptied. After the rename nothing would remove them.
    for suffix in DatabasePath.companionSuffixes { unsafe unlink(file.path + suffix) }
    let kept: Int32? = try FileGate.withoutOpenings {
      try rename(file.path, target.path)
      defer { guardian = -1 }
      if keepsLock { return guardian }
      Foundation.close(guardian)
      return nil
    }
    guard syncFolder(target.folder) else {
      if let kept { Foundation.close(kept) }
      throw SQLError.failed("fsync", on: target.given)
    }
    return kept
  }
}

/// A file that is complete and on the disk, and may get its name.
struct SealedFile {
  private let built: NewFile

  fileprivate init(_ built: NewFile) { self.built = built }

  /// Gives the file its name, if nothing has that name.
  /// - Parameter isTemporary: Whether the final name is registered in ``Temporaries``. The file is then
  ///   removed if the process ends before the name is unregistered.
  /// - Throws: As ``ExclusiveRename/give(_:naming:to:)``; for a database
  ///   ``SQLError/leftBeside(file:name:)``; for a temporary file, `CancellationError` when the process is
  ///   ending.
  func publish(isTemporary: Bool = false) throws {
    if built.isDatabase { try PathState.ensureNothingBeside(built.target) }
    var isNamed = false
    func name() throws {
      try built.named { from, to in
        try ExclusiveRename.give(to, naming: built.target.given, to: from)
        isNamed = true
      }
    }
    do { try isTemporary ? Temporaries.register(built.target.path, making: name) : name() } catch {
      // The folder could not be synced, so a crash could lose the name: nothing counts as published.
      if isNamed { unsafe unlink(built.target.path) }
      throw error
    }
  }

  /// Replaces another file in one atomic step. The new file gets the owner, group and mode of the old one.
  /// For databases only ``FileReplacement`` calls this: it excludes all other connections to the file
  /// first.
  /// - Parameter old: The status of what is there now; nil when nothing is there. A link is replaced, not
  ///   followed.
  /// - Throws: ``SQLError/ownerWouldChange(file:)``, ``SQLError/severalNames(file:count:)``.
  func replace(_ old: FileStatus?) throws { _ = try replace(old, keepsLock: false) }

  /// Replaces another file, as `replace(_:)` does, and keeps the lock. For files that are no databases.
  /// - Returns: A descriptor of the new file with an exclusive `flock` on it, which the caller closes.
  func replaceKeepingLock(_ old: FileStatus?) throws -> Int32? { try replace(old, keepsLock: true) }

  /// Replaces a text file, whose content is not secret. The new file gets the mode of the old one, and its
  /// owner and group where the system allows it. Other hard links of the old file keep the old text.
  func replaceText(_ old: FileStatus?) throws {
    if let old, old.isRegular {
      _ = unsafe lchown(built.file.path, uid_t(old.owner), gid_t(old.group))
      guard unsafe chmod(built.file.path, mode_t(old.mode & 0o7777)) == 0 else {
        throw SQLError.failed("chmod", on: built.target.given)
      }
    }
    try built.named { try rename($0, to: $1) }
  }

  private func rename(_ from: String, to: String) throws {
    guard unsafe Foundation.rename(from, to) == 0 else {
      throw SQLError.failed("rename", on: built.target.given)
    }
  }

  private func replace(_ old: FileStatus?, keepsLock: Bool) throws -> Int32? {
    if let old, old.isRegular { try applyOwnerAndMode(old) }
    return try built.named(keepsLock: keepsLock) { try rename($0, to: $1) }
  }

  private func applyOwnerAndMode(_ old: FileStatus) throws {
    let (path, given) = (built.file.path, built.target.given)
    guard old.names <= 1 else { throw SQLError.severalNames(file: given, count: old.names) }
    guard let own = FileStatus(path) else { throw SQLError.failed("stat", on: given) }
    if own.owner != old.owner || own.group != old.group {
      guard unsafe lchown(path, uid_t(old.owner), gid_t(old.group)) == 0 else {
        throw errno == EPERM ? SQLError.ownerWouldChange(file: given) : .failed("chown", on: given)
      }
    }
    // After the owner: changing the owner clears the set-user-ID bits.
    guard unsafe chmod(path, mode_t(old.mode & 0o7777)) == 0 else {
      throw SQLError.failed("chmod", on: given)
    }
  }
}
