// Records what the property wrappers of an object declare while the object is created, and finds the
// names of its properties through its mirror.

private import CVaultShims
internal import CipherSQLite
private import Foundation

/// Collects the declarations of an object's property wrappers while the object is created.
enum DeclarationRecorder {
  /// The properties in the order of their initialization. Until ClassDescription sorts them, each slot is
  /// the index in this order.
  struct Recorded {
    var properties: [PropertyDeclaration] = []
    /// The slot of a property that the initializer read or wrote.
    var usedSlot: Int?
  }

  // Recursive, because an initializer is the program's own code and may call code that needs this lock
  // again.
  private static let lock = NSRecursiveLock()
  // Guarded by `lock`. It has a value only during record(), which keeps the lock, so only the thread that
  // records sees the value.
  private nonisolated(unsafe) static var current: Recorded?

  /// Records that the class's initializer used a property, if this thread is recording.
  /// - Returns: Whether this thread is recording.
  static func noteUse(of object: ManagedObject, _ slot: Int) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    guard unsafe current != nil else { return false }
    unsafe current?.usedSlot = slot
    return true
  }

  static func record(_ type: ManagedObject.Type) -> Recorded {
    lock.lock()
    defer { lock.unlock() }
    let outer = unsafe current
    defer { unsafe current = outer }
    unsafe current = Recorded()
    let prototype = making {
      vault_start_recording()
      return type.init()
    }
    var found = unsafe current ?? Recorded()
    let names = names(of: prototype)
    for index in found.properties.indices {
      guard let (name, level) = names[found.properties[index].slot] else { continue }
      (found.properties[index].name, found.properties[index].level) = (name, level)
    }
    return found
  }

  /// Returns the property of each slot of an object: its name, and how many levels the declaring class is
  /// above the object's class. Swift stores a wrapped property `name` as `_name`.
  static func names(of object: ManagedObject) -> [Int: (name: String, level: Int)] {
    var names: [Int: (String, Int)] = [:]
    var (mirror, level): (Mirror?, Int) = (Mirror(reflecting: object), 0)
    while let present = mirror, present.subjectType != ManagedObject.self {
      for (label, value) in present.children {
        guard let label, label.hasPrefix("_"), let wrapper = value as? any SlotOwner else { continue }
        names[Int(wrapper.slotNumber)] = (String(label.dropFirst()), level)
      }
      (mirror, level) = (present.superclassMirror, level + 1)
    }
    return names
  }

  static func add(
    _ slot: Int32, _ kind: PropertyDeclaration.Kind, reader: ValueReader? = nil
  ) {
    unsafe current?.properties.append(
      PropertyDeclaration(name: "", slot: Int(slot - recordingBase), kind: kind, reader: reader))
  }
}
