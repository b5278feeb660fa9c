// Work for another thread or for a queue.

/// Work that is let go of as soon as it is done, on the thread that does it, however long the closure is kept that it was handed
/// over in. What it is the last to hold ends there, and not where nothing of ours runs any more.
struct HandedOver: Sendable {
  private let work: Locked<(@Sendable () -> Void)?>

  init(_ work: @escaping @Sendable () -> Void) { self.work = Locked(work) }

  /// Does it, once.
  func callAsFunction() {
    let work = self.work.withLock { work in
      defer { work = nil }
      return work
    }
    work?()
  }
}
