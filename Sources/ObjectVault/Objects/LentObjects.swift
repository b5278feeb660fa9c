// Loops over all objects of a save or a prefetch without reference counting. A plain loop retains and
// releases each object, which takes longer than most of these loops' bodies; here the array keeps the
// objects alive.

extension Array where Element: ManagedObject {
  /// Calls `body` with each object, which the array keeps alive.
  @inline(__always) func forEachUnretained(_ body: (Element) throws -> Void) rethrows {
    // Safe: `self` does not change before this returns, and retains all of its objects.
    try unsafe withUnsafeBufferPointer { objects in
      for index in objects.indices {
        try unsafe Unmanaged.passUnretained(objects[index])._withUnsafeGuaranteedRef { try body($0) }
      }
    }
  }

  /// Whether `holds` is true for all objects.
  @inline(__always) func allSatisfyUnretained(_ holds: (Element) -> Bool) -> Bool {
    // Safe: as above.
    unsafe withUnsafeBufferPointer { objects in
      for index in objects.indices
      where unsafe !Unmanaged.passUnretained(objects[index])._withUnsafeGuaranteedRef({ holds($0) }) {
        return false
      }
      return true
    }
  }
}
