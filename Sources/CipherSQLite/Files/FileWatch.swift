// Notices writes to a file by any process, without reading it.
//
// Only for files that SQLite does not lock, such as the log: on some systems a descriptor is opened, and
// closing it would drop the locks that this process holds on the file.

internal import Dispatch
private import Foundation

// Safe to share: the variables are used on the queue only.
/// Calls a closure when a file is written, until it is cancelled.
final class FileWatch: @unchecked Sendable {
  private let path: String
  private let queue: DispatchQueue
  private let onChange: @Sendable () -> Void
  private var source: (any DispatchSourceProtocol)?

  /// Creates a watch that calls `onChange` on `queue`. It begins with ``renew()``.
  init(_ path: String, on queue: DispatchQueue, _ onChange: @escaping @Sendable () -> Void) {
    (self.path, self.queue, self.onChange) = (path, queue, onChange)
  }

  /// Whether the system reports writes. If not, the file must be looked at from time to time.
  var isActive: Bool { source != nil }

  #if os(Linux)
    /// The descriptor from which the system's messages are read.
    private var descriptor: Int32 = -1

    /// Begins to watch the file that is at the path now; the present one stays watched.
    func renew() {
      if source == nil {
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { return }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        let (descriptor, onChange) = (descriptor, onChange)
        source.setEventHandler {
          Self.drain(descriptor)
          onChange()
        }
        source.setCancelHandler { close(descriptor) }
        source.activate()
        self.source = source
      }
      // A file that is watched already has one entry only.
      if unsafe inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) < 0 { cancel() }
    }

    /// Reads all messages. Their content is not needed: they are about one file.
    private static func drain(_ descriptor: Int32) {
      unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        while unsafe read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
      }
    }
  #else
    /// Begins to watch the file that is at the path now.
    func renew() {
      guard source == nil else { return }
      let descriptor = unsafe open(path, O_EVTONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      let source = DispatchSource.makeFileSystemObjectSource(
        fileDescriptor: descriptor, eventMask: [.write, .extend, .delete, .rename], queue: queue)
      let onChange = onChange
      source.setEventHandler { [weak self, unowned source] in
        // Another file may be at the path now.
        if !source.data.isDisjoint(with: [.delete, .rename]) { self?.cancel() }
        onChange()
      }
      source.setCancelHandler { close(descriptor) }
      source.activate()
      self.source = source
    }
  #endif

  func cancel() {
    source?.cancel()
    source = nil
  }

  deinit { source?.cancel() }
}
