// Which objects were deleted one after the other, so that a set in memory is corrected by those that it has not seen
// yet, and need not be made anew after each.

/// The last deletions of objects that stand in sets which they do not know, those of many-to-manys.
final class DeletionLog {
  // Unchecked exclusivity: asked for at each read of a to-many, and never passed inout.
  /// How many there were, and how often deletions were undone.
  @safe @exclusivity(unchecked) private(set) var count = 0
  /// The last of them.
  private var objects: [ManagedObject] = []
  /// How many are kept: few, as they are kept alive, and many against the cost of making a set anew.
  private static let capacity = 1024

  func append(_ object: ManagedObject) {
    if objects.count == Self.capacity { objects.removeFirst(Self.capacity / 2) }
    objects.append(object)
    count += 1
  }

  /// Deletions were undone: every set is made anew.
  func restart() {
    objects = []
    count += 1
  }

  /// What was deleted after the first `seen`; nil when that is not known any more.
  func since(_ seen: Int) -> ArraySlice<ManagedObject>? {
    count - seen <= objects.count ? objects.suffix(count - seen) : nil
  }
}
