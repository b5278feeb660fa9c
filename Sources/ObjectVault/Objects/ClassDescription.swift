// What a Swift class declares: found once per class, by making one object of it while the wrappers record.

private import CVaultShims
internal import CipherSQLite
private import Foundation

/// A declared property, in slot order.
struct PropertyDeclaration {
  /// How many objects a relationship leads to.
  enum Number { case one, many, ordered }

  enum Kind {
    case attribute(
      type: AttributeType, isOptional: Bool, initialValue: (() throws -> SQLValue)?,
      options: [AttributeOption])
    case relationship(
      target: ManagedObject.Type, number: Number, options: [RelationshipOption], inverse: AnyKeyPath?,
      deleteRule: DeleteRule)
  }
  var name: String
  let slot: Int
  let kind: Kind
  /// Whether the Swift type can read a stored value: an enum has fewer values than the type it is stored as.
  var reader: ValueReader?
}

// Safe to share: never changed after it was made.
/// What a class declares.
final class ClassDescription: @unchecked Sendable {
  let type: ManagedObject.Type
  let entityName: String
  let properties: [PropertyDeclaration]
  /// A property that the class's initializer uses; nil when it uses none, as it should.
  let usedProperty: String?

  private init(type: ManagedObject.Type, _ recorded: DeclarationRecorder.Recorded) {
    self.type = type
    entityName = String(describing: type)
    properties = recorded.properties
    usedProperty = recorded.usedSlot.map { slot in
      recorded.properties.first { $0.slot == slot }?.name ?? "?"
    }
  }

  private static let known = Locked<[ObjectIdentifier: ClassDescription]>([:])

  /// The description of a class; made on first use.
  static func of(_ type: ManagedObject.Type) -> ClassDescription {
    if let found = known.withLock({ $0[ObjectIdentifier(type)] }) { return found }
    let made = ClassDescription(type: type, DeclarationRecorder.record(type))
    return known.withLock { known in
      if let found = known[ObjectIdentifier(type)] { return found }
      known[ObjectIdentifier(type)] = made
      return made
    }
  }
}

/// Collects what the wrappers of one object say while it is made.
enum DeclarationRecorder {
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
    vault_start_recording()
    let prototype = type.init()
    var found = unsafe current ?? Recorded()
    // The names of the slots: a wrapped property `name` is stored as `_name`.
    var names: [Int: String] = [:]
    for (label, value) in Mirror(reflecting: prototype).children {
      guard let label, label.hasPrefix("_"), let wrapper = value as? any SlotOwner else { continue }
      names[Int(wrapper.slotNumber)] = String(label.dropFirst())
    }
    for index in found.properties.indices {
      found.properties[index].name = names[found.properties[index].slot] ?? ""
    }
    return found
  }

  static func add(
    _ slot: Int32, _ kind: PropertyDeclaration.Kind, _ reader: ValueReader? = nil
  ) {
    unsafe current?.properties.append(
      PropertyDeclaration(name: "", slot: Int(slot - recordingBase), kind: kind, reader: reader))
  }
}

/// Slot numbers from here on mean that declarations are being recorded.
@usableFromInline let recordingBase: Int32 = 0x10000

@usableFromInline func nextSlot() -> Int32 { vault_next_slot() }

/// A wrapper that keeps its slot number.
protocol SlotOwner {
  var slotNumber: Int32 { get }
}
