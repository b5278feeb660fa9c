// A backup in the place of a file that may be damaged, may have a log beside it, and may be in use.

private import Foundation

extension Connection {
  /// Puts a backup in the place of a file.
  ///
  /// The backup is opened, every page of it authenticated and its structure checked; then it is copied to a new
  /// file beside the target, which is compared with it; only then it takes the target's name, owner, group and mode. The
  /// backup stays as it is.
  /// - Parameters:
  ///   - backup: An encrypted file.
  ///   - path: Where it goes.
  ///   - key: The backup's key; the target has it afterwards.
  ///   - profile: The backup's settings, as in ``Configuration/profile``.
  ///   - replacesExisting: Whether a file that is there may go. It goes when the new one has its name; nobody can open
  ///     it meanwhile.
  ///   - busyTimeout: How long to wait for who uses the target, in seconds.
  ///   - prepare: Registers the collations and functions that the schema needs.
  ///   - progress: Called with the pages copied and in all. What it throws ends the copying.
  /// - Throws: As ``open(_:key:configuration:)`` for the backup; ``SQLError/alreadyExists(file:)``;
  ///   ``SQLError/busy(file:waitedSeconds:holders:)`` while somebody uses the target;
  ///   ``SQLError/ownerWouldChange(file:)``, ``SQLError/severalNames(file:count:)``. The target is then as it was.
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
    // Somebody may have made one while the backup was checked.
    guard hold == nil || replacesExisting else { throw SQLError.alreadyExists(file: path) }
    let sealed = try source.connection.copyPages(to: NewFile(at: target), under: unlocked, progress)
    if let hold { try hold.replace(with: sealed) } else { try sealed.publish() }
  }

  /// Holds what is at the target; nil when there is nothing.
  private static func held(
    _ target: DatabasePath, key: Key, profile: CipherProfile?, busyTimeout: Double
  ) throws -> FileHold? {
    switch try PathState.of(target) {
    case .absent where !target.isDanglingLink: return nil
    // Without a byte it is replaced as a store is, under its lock.
    case .file, .empty: break
    default: try PathState.existing(target)
    }
    var settings = Configuration()
    settings.busyTimeout = busyTimeout
    settings.profile = profile
    return try FileHold.take(target, key: key, configuration: settings)
  }
}
