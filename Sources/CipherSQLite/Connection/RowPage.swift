// The memory of packed rows.

/// Memory that holds the rows of many objects; freed when the last of them lets go.
@safe package final class RowPage {
  // Allocated in init, freed in deinit. Each place is written by one only: by the RowPacker that made the page, before any
  // reader has the row, or by the RowDraft that took the place, whose owner alone reads it until it is packed; and later by
  // the one task that has the object of the row, which alone reads it (RowDraft.put(_:into:)).
  let base: UnsafeMutableRawPointer
  package let capacity: Int
  // Unchecked exclusivity: a page is filled by one task, and this is never passed inout.
  /// Bytes that drafts took.
  @safe @exclusivity(unchecked) private(set) var used = 0

  package init(capacity: Int) {
    self.capacity = max(64, capacity)
    unsafe base = UnsafeMutableRawPointer.allocate(byteCount: self.capacity, alignment: 16)
  }

  /// Whether there is a place of so many bytes. Here, as other modules do not see that accesses to `used` cannot overlap.
  package func hasRoom(_ count: Int) -> Bool { capacity &- used >= count }

  /// A place of so many bytes, which there are, for one draft.
  @inline(__always) func take(_ count: Int) -> UnsafeMutableRawPointer {
    assert(used &+ count <= capacity)
    defer { used = min((used &+ count &+ 7) & ~7, capacity) }
    return unsafe base + used
  }

  /// Makes a place longer, if it is the last one.
  /// - Parameter end: Where it ends.
  /// - Returns: Whether it was, and there was room.
  @inline(__always) func extend(_ end: UnsafeMutableRawPointer, by count: Int) -> Bool {
    let length = unsafe end - base
    guard (length &+ 7) & ~7 == used, length &+ count <= capacity else { return false }
    used = min((length &+ count &+ 7) & ~7, capacity)
    return true
  }

  deinit { unsafe base.deallocate() }
}

/// A row in a page, which it keeps.
@safe package struct PackedRow {
  // Where the cells begin, in the page: valid for as long as that is.
  package let cells: UnsafeRawPointer
  package let page: RowPage
}
