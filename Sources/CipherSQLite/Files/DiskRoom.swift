// How much may still be written in a folder, as far as its file system says.

private import Foundation

enum DiskRoom {
  /// The bytes that this user may still write in a folder; nil where that is unknown: the system does not answer, or the file
  /// system gives no sizes.
  static func bytes(in folder: String) -> Int? {
    var information = statvfs()
    guard unsafe statvfs(folder, &information) == 0 else { return nil }
    // Without a block it could not hold the folder: ramfs, and many file systems in user space, give no sizes.
    guard information.f_blocks > 0 else { return nil }
    let bytes = UInt64(information.f_bavail).multipliedReportingOverflow(by: UInt64(information.f_frsize))
    return bytes.overflow ? Int.max : Int(clamping: bytes.partialValue)
  }

  /// The bytes that this process may still write to one file in a folder, which a limit may bound; no bound where that is unknown.
  static func bytesOfFile(in folder: String) -> Int {
    let room = bytes(in: folder) ?? .max
    var limit = rlimit()
    #if canImport(Darwin)
      let hasLimit = getrlimit(RLIMIT_FSIZE, &limit) == 0
    #else
      let hasLimit = unsafe getrlimit(__rlimit_resource_t(UInt32(RLIMIT_FSIZE.rawValue)), &limit) == 0
    #endif
    return hasLimit ? min(room, Int(clamping: UInt64(limit.rlim_cur))) : room
  }
}
