// What the system reports about a file. The file is not opened: closing any descriptor of a database
// drops the locks that this process holds on it.

private import Foundation

/// The identity, owner, size and time of change of a file.
struct FileStatus: Equatable {
  let device: UInt64
  let inode: UInt64
  let byteCount: Int
  /// Seconds and nanoseconds of the last change of its content.
  let modified: [Int]
  let mode: UInt32
  let owner: UInt32
  let group: UInt32
  /// The number of hard links; 0 for an open file whose last link was removed.
  let names: Int

  /// Reads the status of what is at a path, without following a link; nil when nothing is there.
  init?(_ path: String) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Reads the status of an open file.
  init?(descriptor: Int32) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  private init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
    byteCount = Int(status.st_size)
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    modified = [Int(time.tv_sec), Int(time.tv_nsec)]
    mode = UInt32(status.st_mode)
    owner = UInt32(status.st_uid)
    group = UInt32(status.st_gid)
    names = Int(status.st_nlink)
  }

  /// Whether it is a file, and not a directory, a link, a pipe, a socket or a device.
  var isRegular: Bool { mode & UInt32(S_IFMT) == S_IFREG }
  var isDirectory: Bool { mode & UInt32(S_IFMT) == S_IFDIR }
  /// Whether this process's user owns it.
  var isOwn: Bool { owner == UInt32(geteuid()) }

  /// Whether it has more than one hard link.
  var hasOtherNames: Bool { names > 1 }

  func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }

  /// The kind of a file that is not regular, in words.
  var kind: String {
    switch mode_t(mode) & S_IFMT {
    case S_IFIFO: "a pipe"
    case S_IFSOCK: "a socket"
    case S_IFCHR, S_IFBLK: "a device"
    case S_IFLNK: "a link"
    default: "a file"
    }
  }
}
