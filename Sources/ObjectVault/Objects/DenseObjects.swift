// The ids from 0 on of a table whose objects mostly have such ids: one address for each, at its place. A look-up is a
// comparison and a load, which no other look-up waits for. Part of an ObjectTable, which says when it grows and ends.

/// The addresses of the live objects whose ids lie below a limit.
@safe @usableFromInline struct DenseObjects {
  // One for each id below `capacity`; nil with none. Allocated in `grow`, freed there and in `free`, which the ObjectTable
  // calls in its deinit.
  @usableFromInline var slots: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
  /// How many ids have a place: 0, or a power of two.
  @usableFromInline var capacity: UInt64 = 0
  /// How many of them have an object.
  var count = 0

  /// The fewest places that are made.
  static let fewest: UInt64 = 64

  /// Whether an id has its place here. Those below 0 have none.
  @inlinable @inline(__always) func covers(_ id: Int64) -> Bool { UInt64(bitPattern: id) < capacity }

  // @inlinable for ObjectContext.existing(_:), which says why.
  /// The address of an id; nil for one that has no place here.
  @inlinable @inline(__always) func find(_ id: Int64) -> UnsafeMutableRawPointer? {
    guard covers(id) else { return nil }
    return unsafe slots.unsafelyUnwrapped[Int(truncatingIfNeeded: id)]
  }

  /// Puts an address in, or nil, at an id that has its place here.
  /// - Returns: The one that was there.
  @inline(__always) mutating func put(_ address: UnsafeMutableRawPointer?, _ id: Int64)
    -> UnsafeMutableRawPointer?
  {
    assert(covers(id))
    let place = unsafe slots.unsafelyUnwrapped + Int(truncatingIfNeeded: id)
    let former = unsafe place.pointee
    unsafe place.pointee = unsafe address
    count &+= unsafe (address == nil ? 0 : 1) &- (former == nil ? 0 : 1)
    return unsafe former
  }

  /// How many places an id asks for: the next power of two. nil for one that gets none.
  static func places(for id: Int64) -> UInt64? {
    guard id >= 0, id < 1 << 40 else { return nil }
    return max(fewest, 1 << UInt64(Int64.bitWidth - id.leadingZeroBitCount))
  }

  /// Makes room for all ids below `places`, which are more than there are.
  mutating func grow(to places: UInt64) {
    let (new, old) = (Int(places), Int(capacity))
    let grown = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: new)
    if let slots = unsafe slots {
      unsafe grown.moveInitialize(from: slots, count: old)
      unsafe slots.deallocate()
    }
    unsafe (grown + old).initialize(repeating: nil, count: new - old)
    unsafe slots = unsafe grown
    capacity = places
  }

  /// Gives the memory back. Nobody has a place here any more.
  mutating func free() {
    unsafe slots?.deallocate()
    unsafe slots = nil
    (capacity, count) = (0, 0)
  }
}
