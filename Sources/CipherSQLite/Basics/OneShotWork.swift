// A closure that is passed to another thread or queue and released there.

/// A closure that runs once and is released on the thread that ran it, even if the block that contains it
/// lives longer.
///
/// Objects that only the closure retained are therefore also destroyed on that thread.
struct OneShotWork: Sendable {
  private let work: Locked<(@Sendable () -> Void)?>

  init(_ work: @escaping @Sendable () -> Void) { self.work = Locked(work) }

  /// Runs the closure. Further calls do nothing.
  func callAsFunction() {
    let work = self.work.withLock { work in
      defer { work = nil }
      return work
    }
    work?()
  }
}
