// A file that is built under a temporary name and takes its own only when it is whole: a crash leaves either
// nothing at the path or all of it. What is built here must be sealed before it can get its name (SealedFile), so that
// no caller can forget the proof.

private import Foundation

/// A file that is being built. What is left of it goes with this object.
final class NewFile {
  /// The name that it is to have.
  let target: DatabasePath
  /// The name under which it is built, in the same folder. Empty at first. Errors name the target.
  let file: DatabasePath
  /// Holds a lock that says that somebody builds this file; -1 once the file has its name. Not SQLite's kind of lock.
  private var guardian: Int32 = -1

  /// Whether it is a database, whose log would be looked for beside it.
  fileprivate private(set) var isDatabase = false

  /// Makes the file, and removes what builders that were killed left in the folder.
  /// - Parameter isPrivate: Whether it has mode 0600; else the process's umask says who may read it.
  /// - Throws: ``SQLError/pathUnusable(file:reason:)`` for a name that SQLite gives to a file of its own;
  ///   ``SQLError/folderNotWritable(folder:)``, ``SQLError/folderMissing(folder:)``, ``SQLError/diskFull(file:)``,
  ///   ``SQLError/system(file:operation:code:)``.
  init(at target: DatabasePath, isPrivate: Bool = true) throws {
    try PathState.requireOwnName(target)
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

  /// Makes an empty file and locks it; nil when another process swept it away between the two.
  private static func made(_ file: DatabasePath, _ isPrivate: Bool) throws -> Int32? {
    // O_EXCL and O_NOFOLLOW: a planted file or link of that name is refused, never written to.
    let descriptor = unsafe Foundation.open(
      file.path, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, isPrivate ? 0o600 : 0o666)
    guard descriptor >= 0 else {
      if errno == EEXIST { return nil }
      if errno == ENOENT { throw SQLError.folderMissing(folder: file.folder) }
      // The folder says no, and not a file that does not exist yet.
      if [EACCES, EPERM, EROFS].contains(errno) { throw SQLError.folderNotWritable(folder: file.folder) }
      throw SQLError.failed("open", on: file.given)
    }
    // Whatever the umask says.
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

  /// Writes the whole content of a small file, and proves that it is there.
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
      throw SQLError.verificationFailed(file: target.given, reason: "the file does not hold what was written")
    }
    return try synced()
  }

  /// Seals a database, which no connection has open any more.
  /// - Parameter proof: Reads it, and throws when it is not whole. Called when nothing of it is left in a log.
  /// - Throws: ``SQLError/verificationFailed(file:reason:)``; what `proof` throws.
  func sealed(asDatabase proof: () throws -> Void) throws -> SealedFile {
    isDatabase = true
    for rest in [file.log, file.journal] where FileStatus(rest)?.byteCount ?? 0 > 0 {
      throw SQLError.verificationFailed(
        file: target.given, reason: "not all that was written is in the file itself, as on a full disk")
    }
    try proof()
    return try synced()
  }

  private func synced() throws -> SealedFile {
    #if canImport(Darwin)
      // There fsync hands the bytes to the disk, which may keep them to itself.
      if fcntl(guardian, F_FULLFSYNC) == 0 { return SealedFile(self) }
    #endif
    guard fsync(guardian) == 0 else { throw SQLError.failed("fsync", on: target.given) }
    return SealedFile(self)
  }

  // MARK: Naming, for SealedFile

  /// Gives the file its name by `rename`, in a moment in which nobody in this process opens a file: from then on the
  /// descriptor that guards it must not be closed any more, because that would drop the locks of who opened it.
  /// - Returns: The descriptor with the lock, for who asks to keep it; else it is closed.
  @discardableResult
  fileprivate func named(
    keepsLock: Bool = false, _ rename: (_ from: String, _ to: String) throws -> Void
  ) throws -> Int32? {
    // SQLite's leavings of a log that was emptied; under the new name nobody would look for them.
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

/// A file that is whole and on the disk, and may get its name.
struct SealedFile {
  private let built: NewFile

  fileprivate init(_ built: NewFile) { self.built = built }

  /// Gives the file its name, where nothing has it.
  /// - Parameter isTemporary: Whether a process that ends removes it under that name, too, until ``Temporaries`` are told otherwise.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/leftBeside(file:name:)``; `CancellationError` of a temporary one, when the
  ///   process is ending.
  func publish(isTemporary: Bool = false) throws {
    if built.isDatabase { try PathState.ensureNothingBeside(built.target) }
    var isNamed = false
    func name() throws {
      try built.named { from, to in
        try NewName.give(to, naming: built.target.given, to: from)
        isNamed = true
      }
    }
    do { try isTemporary ? Temporaries.register(built.target.path, making: name) : name() } catch {
      // The folder could not be synced: a name that may be gone tomorrow is none.
      if isNamed { unsafe unlink(built.target.path) }
      throw error
    }
  }

  /// Puts the file in the place of another, in one step that is done or not done. It gets that one's owner, group and
  /// mode. For databases this is ``FileHold``'s to call, which keeps everybody else away meanwhile.
  /// - Parameter old: What is there now; nil when nothing is, or a link, which is replaced and not followed.
  /// - Throws: ``SQLError/ownerWouldChange(file:)``, ``SQLError/severalNames(file:count:)``.
  func replace(_ old: FileStatus?) throws { _ = try replace(old, keepsLock: false) }

  /// The same of a file that is no database, whose lock goes on.
  /// - Returns: A descriptor of the new file with an exclusive `flock` on it, which the caller closes.
  func replaceKeepingLock(_ old: FileStatus?) throws -> Int32? { try replace(old, keepsLock: true) }

  /// The same of a text, which is nobody's secret: it has the mode of the former one, and is whose that was where the system
  /// allows it. Other names of that keep the former text.
  func replaceText(_ old: FileStatus?) throws {
    if let old, old.isRegular {
      _ = unsafe lchown(built.file.path, uid_t(old.owner), gid_t(old.group))
      guard unsafe chmod(built.file.path, mode_t(old.mode & 0o7777)) == 0 else {
        throw SQLError.failed("chmod", on: built.target.given)
      }
    }
    try built.named { try rename($0, $1) }
  }

  private func rename(_ from: String, _ to: String) throws {
    guard unsafe Foundation.rename(from, to) == 0 else {
      throw SQLError.failed("rename", on: built.target.given)
    }
  }

  private func replace(_ old: FileStatus?, keepsLock: Bool) throws -> Int32? {
    if let old, old.isRegular { try takeOver(old) }
    return try built.named(keepsLock: keepsLock) { try rename($0, $1) }
  }

  private func takeOver(_ old: FileStatus) throws {
    let (path, given) = (built.file.path, built.target.given)
    guard old.names <= 1 else { throw SQLError.severalNames(file: given, count: old.names) }
    guard let own = FileStatus(path) else { throw SQLError.failed("stat", on: given) }
    if own.owner != old.owner || own.group != old.group {
      guard unsafe lchown(path, uid_t(old.owner), gid_t(old.group)) == 0 else {
        throw errno == EPERM ? SQLError.ownerWouldChange(file: given) : .failed("chown", on: given)
      }
    }
    // After the owner, whose change takes the set-user-ID bits away.
    guard unsafe chmod(path, mode_t(old.mode & 0o7777)) == 0 else {
      throw SQLError.failed("chmod", on: given)
    }
  }
}
