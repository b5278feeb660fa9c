// A log of deleted objects: a member set in memory removes the objects that were deleted since it was
// last read, and need not be rebuilt.

/// The latest deletions of objects that may be in member sets which the objects cannot find, such as
/// those of many-to-manys.
final class DeletionLog {
  // Unchecked exclusivity: each read of a to-many reads this, and it is never passed inout.
  /// The number of deletions so far, plus the number of times that deletions were undone.
  @safe @exclusivity(unchecked) private(set) var count = 0
  /// The latest deleted objects.
  private var objects: [ManagedObject] = []
  /// The most objects that are kept: the log keeps them alive, so the limit is low; sets that miss more
  /// deletions are rebuilt, so it is not too low.
  private static let capacity = 1024

  func append(_ object: ManagedObject) {
    if objects.count == Self.capacity { objects.removeFirst(Self.capacity / 2) }
    objects.append(object)
    count += 1
  }

  /// Empties the log, because deletions were undone: every set is rebuilt.
  func restart() {
    objects = []
    count += 1
  }

  /// Returns the objects that were deleted after the first `seen`; nil when the log no longer has all of
  /// them.
  func since(_ seen: Int) -> ArraySlice<ManagedObject>? {
    count - seen <= objects.count ? objects.suffix(count - seen) : nil
  }
}
