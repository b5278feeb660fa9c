// Numbers the property wrappers of an object: each wrapper gets the next value of a thread-local counter
// (CVaultShims), in the order in which Swift initializes the stored properties.
//
// Swift initializes the properties of a class before those of its superclass. A property must
// nevertheless have the same slot in all classes of an inheritance hierarchy. Objects of a subclass are
// therefore created while the counter is at `placingBase` or above: each wrapper then looks up its slot
// (ClassDescription.make()). All other objects count from 0, without that cost.

private import CVaultShims

/// Numbers from here up to ``placingBase`` mean that declarations are being recorded.
@usableFromInline let recordingBase: Int32 = 0x10000
/// Numbers from here on are indexes of the slots to look up.
@usableFromInline let placingBase: Int32 = 0x20000

@usableFromInline func nextSlot() -> Int32 { vault_next_slot() }

/// Creates an object with a count of its own, which begins at -65536 unless `make` starts it elsewhere:
/// its lower 16 bits are slots, and the sign tells the object from a draft, which the program creates.
/// Every other object must be created in this function, because creations nest: the default value of a
/// property may create another object, and the outer object's wrappers must then continue their count.
@inline(__always) func making<Object>(_ make: () -> Object) -> Object {
  let outer = unsafe vault_begin_object()
  defer { unsafe vault_end_object(outer) }
  return make()
}

/// Returns the slot of a wrapper with this number; while declarations are being recorded, the number of
/// wrappers initialized before it.
// Most objects need only this comparison. `isRecording` begins with the same one, so that the compiler
// can share it.
@inlinable @inline(__always) func wrapperSlot(_ number: Int32) -> UInt16 {
  number < recordingBase ? UInt16(truncatingIfNeeded: number) : placedSlot(number)
}

/// Whether the declaration of the wrapper with this number is being recorded.
@inlinable @inline(__always) func isRecording(_ number: Int32) -> Bool {
  number >= recordingBase && number < placingBase
}

@usableFromInline func placedSlot(_ number: Int32) -> UInt16 {
  number < placingBase ? UInt16(truncatingIfNeeded: number) : vault_placed_slot(number)
}

/// A wrapper that stores its slot number.
protocol SlotOwner {
  var slotNumber: Int32 { get }
}
