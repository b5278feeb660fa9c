// How a wrapper comes to its slot: by the order in which the stored properties of an object are set up, for which a
// thread-local counter stands (CVaultShims).
//
// Swift sets up what a class declares before what the class above it declares. So that a property has the same slot in
// all classes of a family, an object of a class below another one is made while the counter stands at `placingBase` or
// above: then each wrapper asks for its place (ClassDescription.make()). All others count from 0, and pay nothing for it.

private import CVaultShims

/// Numbers from here on, and below ``placingBase``, mean that declarations are being recorded.
@usableFromInline let recordingBase: Int32 = 0x10000
/// Numbers from here on stand for places.
@usableFromInline let placingBase: Int32 = 0x20000

@usableFromInline func nextSlot() -> Int32 { vault_next_slot() }

/// Makes an object, whose wrappers count from 0. All objects are made in one of these: another one may be under way, whose property
/// between two wrapped ones has a default that asks for this one, and its wrappers go on counting behind it.
@inline(__always) func making<Object>(_ make: () -> Object) -> Object {
  let outer = unsafe vault_begin_object()
  defer { unsafe vault_end_object(outer) }
  return make()
}

/// The slot of a wrapper that got this number; while declarations are being recorded, how many were set up before.
// One test for the most of objects, the same as that of `isRecording`.
@inlinable @inline(__always) func wrapperSlot(_ number: Int32) -> UInt16 {
  number < recordingBase ? UInt16(truncatingIfNeeded: number) : placedSlot(number)
}

/// Whether what the wrapper of this number declares is being recorded.
@inlinable @inline(__always) func isRecording(_ number: Int32) -> Bool {
  number >= recordingBase && number < placingBase
}

@usableFromInline func placedSlot(_ number: Int32) -> UInt16 {
  number < placingBase ? UInt16(truncatingIfNeeded: number) : vault_placed_slot(number)
}

/// A wrapper that keeps its slot number.
protocol SlotOwner {
  var slotNumber: Int32 { get }
}
