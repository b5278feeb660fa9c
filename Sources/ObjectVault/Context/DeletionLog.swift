// A log of deleted objects. With the log, a member set in memory removes the objects that were deleted
// since the set was last read; otherwise the set would have to be rebuilt.

/// The latest deleted objects that may be in member sets which cannot be found from the object, such as
/// those of many-to-manys.
final class DeletionLog {
  // Unchecked exclusivity: each read of a to-many reads this, and it is never passed inout.
  /// The number of deletions so far, plus the number of times that deletions were undone.
  @safe @exclusivity(unchecked) private(set) var count = 0
  /// The latest deleted objects.
  private var objects: [ManagedObject] = []
  /// The maximum number of objects in the log. It is not higher, because the log keeps the objects alive,
  /// and not lower, because a set that has missed more deletions is rebuilt.
  private static let capacity = 1024

  /// The observers of members; nil if observers are not notified.
  var observers: ContextObservers?

  func append(_ object: ManagedObject) {
    if let table = object.entity?.root.index { observers?.didDelete(in: table) }
    if objects.count == Self.capacity { objects.removeFirst(Self.capacity / 2) }
    objects.append(object)
    count += 1
  }

  /// Empties the log, because deletions were undone: every set is rebuilt.
  func restart() {
    observers?.didRestoreDeleted()
    objects = []
    count += 1
  }

  /// Returns the objects that were deleted since ``count`` was `seen`; nil if the log no longer has all
  /// of them.
  func since(_ seen: Int) -> ArraySlice<ManagedObject>? {
    count - seen <= objects.count ? objects.suffix(count - seen) : nil
  }
}
