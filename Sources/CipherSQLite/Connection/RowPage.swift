// The memory of packed rows.

/// Memory that holds the rows of many objects; freed when the last of them lets go.
@safe package final class RowPage {
  // Allocated in init, freed in deinit; written by the RowPacker that made it, before any reader has it.
  let base: UnsafeMutableRawPointer
  let capacity: Int

  init(capacity: Int) {
    self.capacity = capacity
    unsafe base = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
  }

  deinit { unsafe base.deallocate() }
}

/// A row in a page, which it keeps.
@safe package struct PackedRow {
  // Where the cells begin, in the page: valid for as long as that is.
  package let cells: UnsafeRawPointer
  package let page: RowPage
}
