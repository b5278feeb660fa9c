// Measures the progress of engine calls that report none, by the growth of the file that they write.

private import Foundation

/// Reads a file's size from another thread while the caller's thread is inside the engine.
///
/// It does not open the file, because closing it would release the locks that SQLite has on it.
final class GrowthMonitor {
  // Safe to hand over: the caller's thread is inside the engine until stop() has returned, so the
  // closures are never called from two threads at once.
  private struct Report: @unchecked Sendable {
    let call: (Int, Int) throws -> Void
    let onError: () -> Void
  }

  private let stopped = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)
  private let thrown = Locked<(any Error)?>(nil)

  /// Starts a thread that reports the growth of a file.
  /// - Parameters:
  ///   - path: The file that grows.
  ///   - pageBytes: The number of bytes by which each page enlarges the file.
  ///   - pages: The number of pages to be written. They are reported as the first half of the work.
  ///   - report: Called with the number of pages done and in total, up to ten times a second, when the count
  ///     has changed. Not called again after it has thrown.
  ///   - onError: Called on `report`'s thread after `report` has thrown, to stop the engine.
  init(
    _ path: String, pageBytes: Int, pages: Int, report: @escaping (Int, Int) throws -> Void,
    onError: @escaping () -> Void
  ) {
    let report = Report(call: report, onError: onError)
    let start = Self.size(path)
    DedicatedThread.start { [stopped, ended, thrown] in
      defer { ended.signal() }
      var last = 0
      while stopped.wait(timeout: .now() + 0.1) == .timedOut {
        let done = min(pages, max(0, Self.size(path) - start) / pageBytes)
        guard done > last else { continue }
        last = done
        do { try report.call(done, pages * 2) } catch {
          thrown.withLock { $0 = error }
          return report.onError()
        }
      }
    }
  }

  /// Ends the reports. Must be called exactly once; `report` is not called afterwards.
  /// - Returns: The error that `report` has thrown; nil if it has not.
  func stop() -> (any Error)? {
    stopped.signal()
    ended.wait()
    return thrown.withLock { $0 }
  }

  private static func size(_ path: String) -> Int {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}
