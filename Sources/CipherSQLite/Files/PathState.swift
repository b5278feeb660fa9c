// What lies at a path, before any key is tried.

private import Foundation

enum PathState {
  case absent
  case file(byteCount: Int)

  /// - Throws: ``SQLError/isDirectory(file:)``, ``SQLError/notAFile(file:kind:)``, ``SQLError/emptyFile(file:)``,
  ///   ``SQLError/permissionDenied(file:)``.
  static func of(_ file: DatabasePath) throws -> PathState {
    var status = stat()
    guard stat(file.path, &status) == 0 else {
      switch errno {
      case ENOENT: return .absent
      case EACCES: throw SQLError.permissionDenied(file: file.given)
      default: throw SQLError.failed("stat", on: file.given)
      }
    }
    guard let found = FileStatus(file.path) else { return .absent }
    guard !found.isDirectory else { throw SQLError.isDirectory(file: file.given) }
    guard found.isRegular else { throw SQLError.notAFile(file: file.given, kind: found.kind) }
    guard found.byteCount > 0 else { throw SQLError.emptyFile(file: file.given) }
    guard access(file.path, R_OK) == 0 else { throw SQLError.permissionDenied(file: file.given) }
    return .file(byteCount: found.byteCount)
  }

  /// Goes on when there is a file.
  /// - Throws: ``SQLError/notFound(file:)``, ``SQLError/danglingLink(file:target:)``; as ``of(_:)``.
  @discardableResult
  static func existing(_ file: DatabasePath) throws -> Int {
    guard case .file(let byteCount) = try of(file) else {
      throw file.isDanglingLink
        ? SQLError.danglingLink(file: file.given, target: file.path) : .notFound(file: file.given)
    }
    return byteCount
  }

  /// Goes on when there is nothing, so that a file can be made.
  /// - Throws: ``SQLError/isDirectory(file:)``; ``SQLError/alreadyExists(file:)``, also for a link that leads nowhere: a new file is made where it was
  ///   asked for, and not where a link leads.
  static func ensureAbsent(_ file: DatabasePath) throws {
    let found = FileStatus(file.path)
    if found?.isDirectory ?? false { throw SQLError.isDirectory(file: file.given) }
    guard !file.isDanglingLink, found == nil else { throw SQLError.alreadyExists(file: file.given) }
  }

  /// Whether the file may be written. Its mode bits count for the superuser too: who marked it read-only meant it.
  static func isWritable(_ file: DatabasePath) -> Bool {
    guard let status = FileStatus(file.path) else { return false }
    return status.mode & 0o222 != 0 && access(file.path, W_OK) == 0
  }

  /// Bytes that this process may still write to one file of a folder.
  static func room(in folder: String) -> Int {
    var (information, limit) = (statvfs(), rlimit())
    guard statvfs(folder, &information) == 0 else { return 0 }
    #if canImport(Darwin)
      let hasLimit = getrlimit(RLIMIT_FSIZE, &limit) == 0
    #else
      let hasLimit = getrlimit(__rlimit_resource_t(UInt32(RLIMIT_FSIZE.rawValue)), &limit) == 0
    #endif
    let free = UInt64(information.f_bavail).multipliedReportingOverflow(by: UInt64(information.f_frsize))
    let room = free.overflow ? Int.max : Int(clamping: free.partialValue)
    return hasLimit ? min(room, Int(clamping: UInt64(limit.rlim_cur))) : room
  }

  /// Whether nobody at all can write there: not this user's rights, but the medium's.
  static func isOnReadOnlyMedium(_ file: DatabasePath) -> Bool {
    var information = statvfs()
    return statvfs(file.path, &information) == 0 && information.f_flag & UInt(ST_RDONLY) != 0
  }
}
