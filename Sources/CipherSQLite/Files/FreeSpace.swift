// How much can still be written in a folder, as far as its file system reports it.

private import Foundation

enum FreeSpace {
  /// Returns the bytes that this user can still write in a folder; nil where that is unknown: the system
  /// call fails, or the file system reports no sizes.
  static func bytes(in folder: String) -> Int? {
    var information = statvfs()
    guard unsafe statvfs(folder, &information) == 0 else { return nil }
    // A file system that contains a folder has blocks. A count of 0 means that it reports no sizes, as
    // ramfs and many file systems in user space do.
    guard information.f_blocks > 0 else { return nil }
    let bytes = UInt64(information.f_bavail).multipliedReportingOverflow(by: UInt64(information.f_frsize))
    return bytes.overflow ? Int.max : Int(clamping: bytes.partialValue)
  }

  /// Returns the bytes that this process can write to one file in a folder: the free space, or the limit
  /// `RLIMIT_FSIZE` where that is lower; `Int.max` where both are unknown.
  static func writableBytesPerFile(in folder: String) -> Int {
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
