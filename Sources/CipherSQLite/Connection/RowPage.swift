// The memory of packed rows.

/// Memory for the rows of many objects. It is freed when the last object releases it.
@safe package final class RowPage {
  // Allocated in init, freed in deinit. Each row's range has one writer at a time. The first writer is the
  // RowPacker that made the page, or the RowDraft that took the range. A RowPacker writes before any reader
  // sees the row. Until a draft is packed, only its owner reads the range. Later the one task that uses the
  // row's object is the only writer and the only reader (RowDraft.put(_:into:)).
  let base: UnsafeMutableRawPointer
  package let capacity: Int
  // Unchecked exclusivity: a page is filled by one task, and this is never passed inout.
  /// The number of bytes that drafts have taken.
  @safe @exclusivity(unchecked) private(set) var used = 0

  package init(capacity: Int) {
    self.capacity = max(64, capacity)
    unsafe base = UnsafeMutableRawPointer.allocate(byteCount: self.capacity, alignment: 16)
  }

  /// Returns whether there is room for `count` bytes. Other modules call this function instead of reading
  /// `used`. Only code of this module reads `used` without an exclusivity check.
  package func hasRoom(_ count: Int) -> Bool { capacity &- used >= count }

  /// Takes `count` bytes, for which there must be room, for one draft.
  @inline(__always) func take(_ count: Int) -> UnsafeMutableRawPointer {
    assert(used &+ count <= capacity)
    defer { used = min((used &+ count &+ 7) & ~7, capacity) }
    return unsafe base + used
  }

  /// Enlarges a range, if it is the last one in the page and there is room.
  /// - Parameters:
  ///   - end: The address at which the range ends.
  ///   - count: The number of additional bytes.
  /// - Returns: Whether the range was enlarged.
  @inline(__always) func extend(_ end: UnsafeMutableRawPointer, by count: Int) -> Bool {
    let length = unsafe end - base
    guard (length &+ 7) & ~7 == used, length &+ count <= capacity else { return false }
    used = min((length &+ count &+ 7) & ~7, capacity)
    return true
  }

  deinit { unsafe base.deallocate() }
}

/// A row in a page. It keeps the page alive.
@safe package struct PackedRow {
  // Where the cells begin, in the page: valid as long as the page lives.
  package let cells: UnsafeRawPointer
  package let page: RowPage
}
