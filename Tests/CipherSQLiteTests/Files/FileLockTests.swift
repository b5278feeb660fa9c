// The holders of a file's locks, parsed from a list in the format of `/proc/locks`.

import CipherSQLite
import Testing

@Suite(.tags(.pure)) struct FileLocks {
  private static let list = """
    1: POSIX  ADVISORY  WRITE 11 fe:00:4711 120 120
    2: POSIX  ADVISORY  READ 12 fe:01:4711 123 123
    2: -> POSIX  ADVISORY  WRITE 13 fe:00:4711 120 120
    3: FLOCK  ADVISORY  WRITE 14 fe:00:14711 0 EOF
    4: POSIX  ADVISORY  WRITE 15 00:2b:4711 0 EOF
    nonsense
    """

  @Test(arguments: [
    ("fe:00", [Int32(11)]), ("fe:01", [12]),
    // No lock on this disk: the locks on other disks belong to other files.
    ("fe:02", []),
    // The list names a layered file system differently, so the file's number has to suffice.
    ("00:2c", [11, 12, 15]), ("00:2b", [15]),
  ])
  func `the locks of two files with one number are distinguished by their disks`(
    _ device: String, _ holders: [Int32]
  ) {
    #expect(FileLock.held(in: Self.list, device: device, number: 4711).map(\.processID) == holders)
    #expect(FileLock.held(in: Self.list, device: device, number: 4712).isEmpty)
  }
}
