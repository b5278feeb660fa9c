// Standard output and standard error, which may be closed, full, or a pipe that nobody reads any more. Foundation's
// FileHandle ends the process then, after the work was done.

import CipherSQLite
import Foundation

/// One of the two streams that the tool writes to.
enum StandardStream: Int32 {
  case output = 1
  case error = 2

  // By descriptor: the error of the first write that failed.
  private static let failures = Locked<[Int32: Int32]>([:])
  // The descriptors of which a text was lost.
  private static let losses = Locked<Set<Int32>>([])

  /// Makes the streams fit for use. Comes before any file is opened: the next one would take the number of a stream
  /// that is closed, and a report would be written into a store.
  static func prepare() {
    // A handler that does nothing, because an ignored signal would be ignored by the commands that we start, too.
    signal(SIGPIPE) { _ in }
    for descriptor in Int32(0)...2 {
      var status = stat()
      if unsafe fstat(descriptor, &status) == 0 {
        // Closed, and taken by the runtime since, for something without a type: no stream has none.
        guard status.st_mode & S_IFMT == 0 else { continue }
      } else {
        // The lowest number that is free is this one.
        _ = unsafe open("/dev/null", O_RDWR)
      }
      failures.withLock { $0[descriptor] = EBADF }
    }
  }

  /// The error of the first write that failed; nil when all were done.
  var failure: Int32? { Self.failures.withLock { $0[rawValue] } }

  /// Whether all that was to be written was written.
  var isWhole: Bool { Self.losses.withLock { !$0.contains(rawValue) } }

  /// Writes all of a text.
  /// - Returns: `false` when that fails, or has failed before.
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
        // Somebody made it one that does not block.
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
