// One command at a time writes into a folder of steps: what one reads, another would change meanwhile.
//
// The lock is on the folder itself, and ends with the process, whichever way that ends: nothing is left in
// the folder.

import CipherSQLite
import Foundation
import ObjectVault

/// The folders that this process has locked, and their locks.
private enum StepFolderLock {
  /// Those of the present task: who has one reads in it without asking again, which would wait for itself.
  @TaskLocal static var held: Set<String> = []

  /// Whether a path still leads to an open folder: one that was locked may have been taken away before it
  /// was.
  static func isThere(_ folder: URL, _ descriptor: Int32) -> Bool {
    var (opened, named) = (stat(), stat())
    guard unsafe fstat(descriptor, &opened) == 0, unsafe stat(folder.path, &named) == 0 else { return false }
    return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
  }
}

extension Session {
  /// Runs `body`, which writes into a folder of steps, while nobody else does.
  /// - Parameter makes: Whether the folder is made where there is none, and taken away again when `body` throws.
  /// - Throws: ``RefusedError`` when another command is at it for a minute; what `body` throws.
  func writing<Result>(
    to folder: URL, makes: Bool = false, _ body: () async throws -> Result
  ) async throws -> Result {
    let (descriptor, isNew) = try lock(folder, LOCK_EX, makes: makes)
    defer { if let descriptor { close(descriptor) } }
    // What one that was killed has left there; its own lock on it went with it.
    if descriptor != nil { TextFile.sweep(folder.path) }
    do {
      return try await StepFolderLock.$held.withValue(StepFolderLock.held.union([folder.path])) {
        try await body()
      }
    } catch {
      // Of a folder with something in it the system takes nothing away. Before the lock ends, as then it is
      // another's.
      if isNew { unsafe rmdir(folder.path) }
      throw error
    }
  }

  /// Runs `body`, which reads a folder of steps as a whole, while nobody writes into it but this task itself.
  /// - Throws: ``RefusedError`` when another command writes for a minute; what `body` throws.
  func reading<Result>(_ folder: URL, _ body: () throws -> Result) throws -> Result {
    guard !StepFolderLock.held.contains(folder.path) else { return try body() }
    let (descriptor, _) = try lock(folder, LOCK_SH, makes: false)
    defer { if let descriptor { close(descriptor) } }
    return try StepFolderLock.$held.withValue(StepFolderLock.held.union([folder.path])) { try body() }
  }

  /// Waits for a lock. A signal ends the process meanwhile, as nothing is under way.
  /// - Returns: The open folder, nil where there is none; whether it was made.
  private func lock(_ folder: URL, _ kind: Int32, makes: Bool) throws -> (descriptor: Int32?, isNew: Bool) {
    let end = ContinuousClock.now + .seconds(60)
    var hasSaid = false
    while true {
      let isNew = makes && !FileManager.default.fileExists(atPath: folder.path)
      if isNew { try TextFile.makeFolder(folder.path) }
      // What is no folder is told by who reads it.
      let descriptor = unsafe open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard descriptor >= 0 else {
        guard isNew, errno == ENOENT else { return (nil, isNew) }
        continue
      }
      while flock(descriptor, kind | LOCK_NB) != 0 {
        // A file system that knows no locks leaves it to its users, as it does for git.
        guard errno == EWOULDBLOCK || errno == EINTR else { return (descriptor, isNew) }
        guard ContinuousClock.now < end else {
          close(descriptor)
          throw RefusedError(
            code: .locked,
            description:
              "\(folder.path): another command has been writing into this folder for a minute. Let it end, and try "
              + "again. Nothing was written.")
        }
        if !hasSaid, !arguments.has("--quiet") {
          standardError("store-migrate: Waiting for another command that is at work in \(folder.path).")
          hasSaid = true
        }
        usleep(10_000)
      }
      if StepFolderLock.isThere(folder, descriptor) { return (descriptor, isNew) }
      close(descriptor)
    }
  }
}
