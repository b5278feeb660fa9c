// The progress of engine calls that tell none: how far the file has grown that they write.

private import Foundation

/// Looks at a file's size from another thread while this one is inside the engine.
///
/// It only asks for the size: opening the file and closing it again would drop the locks that SQLite holds on it.
final class GrowthWatch {
  // Safe to hand over: the caller's thread is inside the engine until stop() has returned, so the closure is
  // never called from two threads at once.
  private struct Report: @unchecked Sendable { let call: (Int, Int) -> Void }

  private let stopped = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - path: The file that grows.
  ///   - pageBytes: Bytes of a page in it.
  ///   - pages: The pages that are to be written; they are reported as the first half of the work.
  ///   - report: Called about ten times a second with what is done and the whole, when there is news.
  init(_ path: String, pageBytes: Int, pages: Int, report: @escaping (Int, Int) -> Void) {
    let report = Report(call: report)
    let start = Self.size(path)
    Thread.detachNewThread { [stopped, ended] in
      var last = 0
      while stopped.wait(timeout: .now() + 0.1) == .timedOut {
        let done = min(pages, max(0, Self.size(path) - start) / pageBytes)
        if done > last { report.call(done, pages * 2) }
        last = max(last, done)
      }
      ended.signal()
    }
  }

  /// Ends the reports; none comes afterwards.
  func stop() {
    stopped.signal()
    ended.wait()
  }

  private static func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}

/// Runs `body` while the growth of a file is reported, if anybody wants to know.
func watchingGrowth<Result>(
  of path: String, pageBytes: Int, pages: Int, _ report: ((Int, Int) -> Void)?, _ body: () throws -> Result
) rethrows -> Result {
  guard let report else { return try body() }
  let watch = GrowthWatch(path, pageBytes: pageBytes, pages: pages, report: report)
  defer { watch.stop() }
  return try body()
}
