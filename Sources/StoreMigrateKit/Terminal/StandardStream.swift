// Standard output and standard error. They may be closed, full, or a pipe without a reader. Foundation's
// FileHandle would end the process in these cases, after the work was done.

import CipherSQLite
import Foundation

/// One of the two streams that the tool writes to.
enum StandardStream: Int32 {
  case output = 1
  case error = 2

  // The error of the first write that failed, by descriptor.
  private static let failures = Locked<[Int32: Int32]>([:])
  // The descriptors for which a text was lost.
  private static let losses = Locked<Set<Int32>>([])

  /// Makes the streams ready for use. Call this before any file is opened: a file would otherwise get the
  /// number of a closed stream, and a report would be written into a store.
  static func prepare() {
    // A handler that does nothing, because the commands that this process starts would inherit an ignored
    // signal.
    signal(SIGPIPE) { _ in }
    for descriptor in Int32(0)...2 {
      var status = stat()
      if unsafe fstat(descriptor, &status) == 0 {
        // The stream was closed, and the runtime has taken its number for a file without a type. No
        // stream is without a type.
        guard status.st_mode & S_IFMT == 0 else { continue }
      } else {
        // The lowest free number is the one of this stream.
        _ = unsafe open("/dev/null", O_RDWR)
      }
      failures.withLock { $0[descriptor] = EBADF }
    }
  }

  /// The error of the first write that failed; nil when all succeeded.
  var failure: Int32? { Self.failures.withLock { $0[rawValue] } }

  /// Whether every text was written completely.
  var isWhole: Bool { Self.losses.withLock { !$0.contains(rawValue) } }

  /// Writes all of a text.
  /// - Returns: `false` when this write or an earlier one failed.
  @discardableResult
  func write(_ text: String) -> Bool {
    guard failure == nil else {
      if !text.isEmpty { Self.losses.withLock { _ = $0.insert(rawValue) } }
      return false
    }
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe Foundation.write(rawValue, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
        continue
      }
      let code = count == 0 ? ENOSPC : errno
      switch code {
      case EINTR: continue
      case EAGAIN:
        // Another process has made the stream non-blocking.
        var waiting = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
        unsafe poll(&waiting, 1, -1)
      default:
        Self.failures.withLock { $0[rawValue] = code }
        Self.losses.withLock { _ = $0.insert(rawValue) }
        return false
      }
    }
    return true
  }
}
