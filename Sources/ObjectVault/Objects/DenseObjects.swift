// The addresses of objects by id, for a table in which many of the ids from 0 on have an object: an array
// with one place for each id. A look-up always costs one comparison and one load; in the blocks of an
// ObjectTable, the cost depends on which id was looked up before.
//
// Part of an ObjectTable, which decides when to grow the array and when to free it.

/// The addresses of the live objects whose ids are below a limit.
@safe @usableFromInline struct DenseObjects {
  // One place for each id below `capacity`; nil if there are none. Allocated in `grow`, freed there and
  // in `free`, which the ObjectTable calls in its deinit.
  @usableFromInline var slots: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
  /// The number of ids that have a place: 0 or a power of two.
  @usableFromInline var capacity: UInt64 = 0
  /// The number of places that have an object.
  var count = 0

  /// The smallest capacity.
  static let fewest: UInt64 = 64

  /// Whether an id has a place here. Negative ids have none.
  @inlinable @inline(__always) func covers(_ id: Int64) -> Bool { UInt64(bitPattern: id) < capacity }

  // @inlinable for ObjectContext.existing(_:), which gives the reason.
  /// Returns the address of an id; nil if the id has no object or no place here.
  @inlinable @inline(__always) func find(_ id: Int64) -> UnsafeMutableRawPointer? {
    guard covers(id) else { return nil }
    return unsafe slots.unsafelyUnwrapped[Int(truncatingIfNeeded: id)]
  }

  /// Stores an address, or nil, for an id that has a place here.
  /// - Returns: The former address.
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

  /// Returns the capacity that an id needs: the next power of two, at least ``fewest``. nil for an id
  /// that gets no place: a negative one, or one from 2^40 on.
  static func places(for id: Int64) -> UInt64? {
    guard id >= 0, id < 1 << 40 else { return nil }
    return max(fewest, 1 << UInt64(Int64.bitWidth - id.leadingZeroBitCount))
  }

  /// Makes room for all ids below `places`, which must be above `capacity`.
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

  /// Frees the memory. No id has a place here afterwards.
  mutating func free() {
    unsafe slots?.deallocate()
    unsafe slots = nil
    (capacity, count) = (0, 0)
  }
}
