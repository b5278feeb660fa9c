// The lock on a folder of steps. While one command writes into the folder, no other reads or writes it.
//
// The lock is on the folder itself and ends with the process, even after a kill. No file is left in the
// folder.

import CipherSQLite
import Foundation
import ObjectVault

/// The lock on a folder of steps.
private enum StepFolderLock {
  /// The folders that the present task has locked. In these it reads without another lock, which would
  /// wait for the first one and fail.
  @TaskLocal static var held: Set<String> = []

  /// Returns whether a path still refers to an open folder. The folder may have been removed before its
  /// lock was obtained.
  static func isThere(_ folder: URL, _ descriptor: Int32) -> Bool {
    var (opened, named) = (stat(), stat())
    guard unsafe fstat(descriptor, &opened) == 0, unsafe stat(folder.path, &named) == 0 else { return false }
    return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
  }
}

extension Session {
  /// Runs `body`, which writes into a folder of steps, while no other command uses the folder.
  /// - Parameter makes: Whether a missing folder is created. It is removed again when `body` throws.
  /// - Throws: ``RefusedError`` when other commands keep the lock for a minute; the errors of `body`.
  func writing<Result>(
    to folder: URL, makes: Bool = false, _ body: () async throws -> Result
  ) async throws -> Result {
    let (descriptor, isNew) = try lock(folder, LOCK_EX, makes: makes)
    defer { if let descriptor { close(descriptor) } }
    // Under the lock, temporary files can only be those of a killed process, whose own lock ended with
    // it.
    if descriptor != nil { TextFile.sweep(folder.path) }
    do {
      return try await StepFolderLock.$held.withValue(StepFolderLock.held.union([folder.path])) {
        try await body()
      }
    } catch {
      // The system does not remove a folder that has content. The folder is removed before the lock ends,
      // because another command may use the folder afterwards.
      if isNew { unsafe rmdir(folder.path) }
      throw error
    }
  }

  /// Runs `body`, which reads a folder of steps as a whole, while no other task writes into it.
  /// - Throws: ``RefusedError`` when another command keeps the lock for a minute; the errors of `body`.
  func reading<Result>(_ folder: URL, _ body: () throws -> Result) throws -> Result {
    guard !StepFolderLock.held.contains(folder.path) else { return try body() }
    let (descriptor, _) = try lock(folder, LOCK_SH, makes: false)
    defer { if let descriptor { close(descriptor) } }
    return try StepFolderLock.$held.withValue(StepFolderLock.held.union([folder.path])) { try body() }
  }

  /// Waits up to a minute for a lock. A signal ends the process during that time, because nothing is
  /// being changed.
  /// - Returns: The descriptor of the open folder, or nil when it cannot be opened; and whether it was
  ///   created.
  private func lock(_ folder: URL, _ kind: Int32, makes: Bool) throws -> (descriptor: Int32?, isNew: Bool) {
    let end = ContinuousClock.now + .seconds(60)
    var hasSaid = false
    while true {
      let isNew = makes && !FileManager.default.fileExists(atPath: folder.path)
      if isNew { try TextFile.makeFolder(folder.path) }
      // A path that is not a folder is reported by the code that reads it.
      let descriptor = unsafe open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard descriptor >= 0 else {
        guard isNew, errno == ENOENT else { return (nil, isNew) }
        continue
      }
      while flock(descriptor, kind | LOCK_NB) != 0 {
        // Some file systems have no locks. As with git, their users have to avoid concurrent commands.
        guard errno == EWOULDBLOCK || errno == EINTR else { return (descriptor, isNew) }
        guard ContinuousClock.now < end else {
          close(descriptor)
          throw RefusedError(
            code: .locked,
            description:
              "\(folder.path): another command has been writing to this folder for a minute. Wait, and try "
              + "again. Nothing was written.")
        }
        if !hasSaid, !arguments.has("--quiet") {
          standardError("store-migrate: Waiting for another command that is writing to \(folder.path).")
          hasSaid = true
        }
        usleep(10_000)
      }
      if StepFolderLock.isThere(folder, descriptor) { return (descriptor, isNew) }
      close(descriptor)
    }
  }
}
