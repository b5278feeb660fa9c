// Work for another thread or for a queue.

/// Work that runs once, and is released on the thread that ran it, however long the closure around it is kept. What the work is
/// the last to hold ends on that thread, too.
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
