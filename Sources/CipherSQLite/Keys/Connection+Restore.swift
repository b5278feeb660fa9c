// A backup in the place of a file that may be damaged, may have a log beside it, and may be in use.

private import Foundation

extension Connection {
  /// Puts a backup in the place of a file.
  ///
  /// The backup is opened, every page of it authenticated and its structure checked; then it is copied to a new
  /// file beside the target, which is checked in its turn; only then it takes the target's name. The backup
  /// stays as it is.
  /// - Parameters:
  ///   - backup: An encrypted file.
  ///   - path: Where it goes.
  ///   - key: The backup's key; the target has it afterwards.
  ///   - profile: The backup's settings, as in ``Configuration/profile``.
  ///   - replacesExisting: Whether a file that is there may go. It goes when the new one has its name.
  ///   - prepare: Registers the collations and functions that the schema needs.
  /// - Throws: As ``open(_:key:configuration:)`` for the backup; ``SQLError/alreadyExists(file:)``;
  ///   ``SQLError/busy(file:waitedSeconds:holders:)`` while somebody uses the target. The target is then as it was.
  public static func restore(
    _ backup: String, to path: String, key: Key, profile: CipherProfile? = nil,
    replacesExisting: Bool = false, prepare: (Connection) throws -> Void = { _ in }
  ) throws {
    let isThere = FileManager.default.fileExists(atPath: path)
    guard !isThere || replacesExisting else { throw SQLError.alreadyExists(file: path) }
    let source = try Inspection(path: backup, key: key, profile: profile)
    try prepare(source.connection)
    let damaged = source.connection.auditPages()
    guard damaged.isEmpty else { throw SQLError.corrupted(file: backup, pages: damaged) }
    if let problem = try source.connection.integrityErrors().first {
      throw SQLError.verificationFailed(file: backup, reason: problem)
    }
    guard isThere else { return try source.connection.backup(to: path) }

    let staged = try NewFile(at: path)
    try staged.discard()
    try source.connection.backup(to: staged.temporary)
    let guardian = try retire(path, key: key, profile: profile)
    defer { guardian?.close() }
    // A log of the old file would be taken for one of the new file.
    for suffix in ["-wal", "-journal", "-shm"] { unlink(path + suffix) }
    try staged.replace()
  }

  /// Sees to it that nobody works with a file that is about to be replaced, and that its log is in it.
  private static func retire(_ path: String, key: Key, profile: CipherProfile?) throws -> Connection? {
    var settings = Configuration()
    settings.busyTimeout = 1
    settings.profile = profile
    do {
      let connection = try open(path, key: key, configuration: settings)
      try connection.setJournalMode(.delete)
      try connection.execute("BEGIN EXCLUSIVE")
      return connection
    } catch let error as SQLError where error.isBusy {
      throw error
    } catch {
      // It does not open, which may be why it is replaced. Then only the kernel's list tells whether it is in use.
      guard !isLocked(path), !isLocked(path + "-shm") else {
        throw SQLError.busy(
          file: path, waitedSeconds: 0, holders: LockHolder.blocking(path, isWriting: false))
      }
      return nil
    }
  }
}
