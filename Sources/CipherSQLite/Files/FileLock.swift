// Finds the processes that hold locks on a file, by reading the kernel's own list. Querying a lock
// through a descriptor would drop, when the descriptor is closed, the locks that this process holds on
// the file.

private import Foundation

/// One line of the kernel's list of locks.
package struct FileLock {
  package let processID: Int32
  let isExclusive: Bool
  private let range: ClosedRange<Int>

  func covers(_ other: ClosedRange<Int>) -> Bool { range.overlaps(other) }

  /// Returns the locks that are held on a file, without the requests that wait for a lock.
  static func all(of path: String) -> [FileLock] {
    var status = stat()
    // Read to its end: the kernel generates the list while it is read, and reports no size in advance.
    guard unsafe stat(path, &status) == 0,
      let data = try? FileHandle(forReadingAtPath: "/proc/locks")?.readToEnd()
    else { return [] }
    return held(
      in: String(decoding: data, as: UTF8.self), device: deviceName(status.st_dev),
      number: UInt64(status.st_ino))
  }

  /// Returns the locks on one file, from a list in the format of `/proc/locks`.
  /// - Parameters:
  ///   - list: The text of the list.
  ///   - device: The file's device, such as `fe:00`.
  ///   - number: The file's inode number, which is unique on its device.
  package static func held(in list: String, device: String, number: UInt64) -> [FileLock] {
    let sameNumber = list.split(separator: "\n").map { $0.split(separator: " ") }
      .filter { $0.count >= 8 && $0[1] != "->" && $0[5].hasSuffix(":\(number)") }
    // Files on two devices may have the same number, so the device must match as well. But a file system
    // of several volumes or layers appears in the kernel's list under a device that no system call
    // reports: there the number must suffice. Such devices have no driver, and so the major number 0.
    let sameDevice = sameNumber.filter { $0[5].hasPrefix("\(device):") }
    let isNumberAll = sameDevice.isEmpty && device.hasPrefix("00:")
    return (isNumberAll ? sameNumber : sameDevice).compactMap(FileLock.init(fields:))
  }

  /// Parses one line of the list; nil when it is malformed.
  /// - Parameter fields: `1: POSIX ADVISORY WRITE 4711 fe:00:16351763 120 120`, split at its spaces.
  private init?(fields: [Substring]) {
    guard let process = Int32(fields[4]), let first = Int(fields[6]) else { return nil }
    // EOF: the lock extends to the end of the file, however far the file grows.
    let last = Int(fields[7]) ?? Int.max
    guard first <= last else { return nil }
    (processID, isExclusive, range) = (process, fields[3] == "WRITE", first...last)
  }

  /// Returns a device as the kernel's list writes it: `fe:00`.
  private static func deviceName(_ device: dev_t) -> String {
    // The bit layout of a device number, as `makedev` of the C library defines it.
    let number = UInt64(truncatingIfNeeded: device)
    let major = (number >> 8) & 0xfff | (number >> 32) & ~0xfff
    let minor = number & 0xff | (number >> 12) & ~0xff
    return [major, minor].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
  }
}

extension LockHolder {
  /// Returns the processes that keep others from writing to a database, as far as the system reports
  /// them; empty where it has no list of locks.
  ///
  /// - Parameters:
  ///   - path: The database.
  ///   - isWriting: Whether the waiting connection has a transaction open: a writer in this process may
  ///     then be that connection itself, and is skipped.
  static func blocking(_ path: DatabasePath, isWriting: Bool) -> [LockHolder] {
    // SQLite's file format, "File Locking": PENDING, RESERVED, then 510 SHARED bytes. WAL-index format,
    // "Locks": the writer, the checkpointer, recovery, then the readers.
    let (file, log) = (FileLock.all(of: path.path), FileLock.all(of: path.sharedMemory))
    let writers = log.filter { $0.isExclusive && $0.covers(120...122) } + file.filter(\.isExclusive)
    let readers = (log + file).filter { !$0.isExclusive && ($0.covers(123...127) || $0.covers(sharedBytes)) }
    // Reported are the writers in other processes; without any, a writer in this process, unless it is to
    // be skipped; without any, the readers in other processes; without any, all readers.
    let own = getpid()
    let others = writers.filter { $0.processID != own }
    let otherReaders = readers.filter { $0.processID != own }
    let found = !others.isEmpty ? others : isWriting || writers.isEmpty ? otherReaders : writers
    let processes = Set((found.isEmpty ? readers : found).map(\.processID)).filter { $0 > 0 }
    return processes.sorted().map { LockHolder(process: $0) }
  }

  /// Returns the processes that have a write transaction open on a database, as far as the system reports
  /// them.
  package static func writing(_ path: DatabasePath) -> [LockHolder] {
    let log = FileLock.all(of: path.sharedMemory).filter { $0.covers(120...120) }
    let file = FileLock.all(of: path.path).filter { $0.covers(reservedByte...reservedByte) }
    return (log + file).filter(\.isExclusive).map { LockHolder(process: $0.processID) }
  }

  private static let reservedByte = 0x4000_0001
  private static let sharedBytes = 0x4000_0002...0x4000_01ff

  /// Returns the processes that hold a lock on a whole file, as far as the system reports them.
  static func holding(_ path: String) -> [LockHolder] {
    Set(FileLock.all(of: path).map(\.processID)).filter { $0 > 0 }.sorted().map { LockHolder(process: $0) }
  }
}
