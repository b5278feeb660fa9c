// Restores a backup over a file that may be damaged, may have a log next to it, and may be in use.

private import Foundation

extension Connection {
  /// Replaces a file with a backup.
  ///
  /// First the backup is opened, every page of it is authenticated, and its structure is checked. Then the
  /// backup is copied to a new file next to the target, and the new file is compared with the backup.
  /// Only then does the new file get the target's name, owner, group and mode. The backup is not changed.
  /// - Parameters:
  ///   - backup: An encrypted file.
  ///   - path: The target.
  ///   - key: The backup's key, which is the target's key afterwards.
  ///   - profile: The backup's settings, as in ``Configuration/profile``.
  ///   - replacesExisting: Whether an existing file may be replaced. The existing file is kept until the new
  ///     one takes its name. No other process can open it meanwhile.
  ///   - busyTimeout: How long to wait for connections that use the target, in seconds.
  ///   - prepare: Registers the collations and functions that the schema needs.
  ///   - progress: Called with the number of pages copied and in total. If it throws, the restore ends.
  /// - Throws: As ``open(_:key:configuration:)`` for the backup;
  ///   ``SQLError/verificationFailed(file:reason:)`` if its structure is damaged, or the new file differs
  ///   from it; ``SQLError/alreadyExists(file:)``; ``SQLError/notReplaceable(file:kind:)`` if the target
  ///   is not a store; ``SQLError/pathUnusable(file:reason:)`` if it is the backup itself;
  ///   ``SQLError/leftBeside(file:name:)``; ``SQLError/busy(file:waitedSeconds:holders:)`` while another
  ///   connection uses the target; ``SQLError/ownerWouldChange(file:)``,
  ///   ``SQLError/severalNames(file:count:)``. The target is then unchanged.
  public static func restore(
    _ backup: String, to path: String, key: Key, profile: CipherProfile? = nil,
    replacesExisting: Bool = false, busyTimeout: Double = 5, prepare: (Connection) throws -> Void = { _ in },
    progress: (_ copied: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws {
    let target = try DatabasePath(path)
    if !replacesExisting { try PathState.ensureAbsent(target) }
    if FileStatus(target.path) == nil {
      try PathState.ensureNothingBeside(target)
    } else if let original = FileStatus(try DatabasePath(backup).path),
      FileStatus(target.path)?.isSameFile(as: original) ?? false
    {
      throw SQLError.pathUnusable(file: path, reason: "it is the backup itself")
    } else {
      try Replaceable.check(target)
    }
    let source = try Inspection(path: backup, key: key, busyTimeout: busyTimeout, profile: profile)
    try prepare(source.connection)
    let damaged = source.connection.auditPages()
    guard damaged.isEmpty else { throw SQLError.corrupted(file: backup, pages: damaged) }
    if let problem = try source.connection.integrityErrors().first {
      throw SQLError.verificationFailed(file: backup, reason: problem)
    }
    let unlocked = source.connection.unlocked
    let hold = try held(target, key: key, profile: profile, busyTimeout: busyTimeout)
    // The target may have been created while the backup was checked.
    guard hold == nil || replacesExisting else { throw SQLError.alreadyExists(file: path) }
    let sealed = try source.connection.copyPages(to: NewFile(at: target), under: unlocked, progress)
    if let hold { try hold.replace(with: sealed) } else { try sealed.publish() }
  }

  /// Locks the file at the target; returns nil if there is none.
  private static func held(
    _ target: DatabasePath, key: Key, profile: CipherProfile?, busyTimeout: Double
  ) throws -> FileReplacement? {
    switch try PathState.of(target) {
    case .absent where !target.isDanglingLink: return nil
    // An empty file is locked and replaced as a store is.
    case .file, .empty: break
    default: try PathState.existing(target)
    }
    var settings = Configuration()
    settings.busyTimeout = busyTimeout
    settings.profile = profile
    return try FileReplacement.take(target, key: key, configuration: settings)
  }
}
