// What the wrappers of one object say of themselves while it is made, and the names that its mirror has for them.

private import CVaultShims
internal import CipherSQLite
private import Foundation

/// Collects what the wrappers of one object say while it is made.
enum DeclarationRecorder {
  /// The properties in the order in which they are set up, by which their slots are numbered as yet.
  struct Recorded {
    var properties: [PropertyDeclaration] = []
    /// The slot of a property that the initializer read or wrote.
    var usedSlot: Int?
  }

  // Recursive, because an initializer is the program's own code, and may use what leads back here.
  private static let lock = NSRecursiveLock()
  // Guarded by `lock`: nil but between begin and end of record(), on the thread that runs it.
  private nonisolated(unsafe) static var current: Recorded?

  /// Notes that a property was used, if that happens while this thread records: by the initializer of the class.
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

  /// The names of an object's slots, and how many classes above its own declare them: a wrapped property `name` is stored
  /// as `_name`.
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
    _ slot: Int32, _ kind: PropertyDeclaration.Kind, _ reader: ValueReader? = nil
  ) {
    unsafe current?.properties.append(
      PropertyDeclaration(name: "", slot: Int(slot - recordingBase), kind: kind, reader: reader))
  }
}
