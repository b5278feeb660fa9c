// Loops over all objects of a save or of a prefetch. A plain loop counts each object's references up and down, which takes
// longer than what most of these do with it: here the array has the objects, and lends them.

extension Array where Element: ManagedObject {
  /// Calls `body` with each object, which the array keeps for as long.
  @inline(__always) func forEachLent(_ body: (Element) throws -> Void) rethrows {
    // Safe: self is not changed before this returns, and has all of its objects.
    try unsafe withUnsafeBufferPointer { objects in
      for index in objects.indices {
        try unsafe Unmanaged.passUnretained(objects[index])._withUnsafeGuaranteedRef { try body($0) }
      }
    }
  }

  /// Whether `holds` is true of all objects.
  @inline(__always) func allLent(_ holds: (Element) -> Bool) -> Bool {
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
