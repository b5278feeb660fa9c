// The declarations of a Swift class. They are found once per class, by creating one object of the class
// while its property wrappers record them.

private import CVaultShims
internal import CipherSQLite

/// A declared property.
struct PropertyDeclaration {
  /// How many objects a relationship refers to, and whether they have an order.
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
  var slot: Int
  let kind: Kind
  /// Checks whether the Swift type can read a stored value. An enum, for example, cannot read every value
  /// of the type that it is stored as.
  var reader: ValueReader?
  /// How many levels the declaring class is above the recorded class; 0 for the recorded class itself.
  var level = 0
}

// Safe to share: never changed after init.
/// The declarations of a class and of its superclasses.
@safe final class ClassDescription: @unchecked Sendable {
  let type: ManagedObject.Type
  let entityName: String
  /// The superclass; nil if that is `ManagedObject`.
  let parent: ManagedObject.Type?
  /// The properties in slot order: those of the topmost class first, the class's own last.
  let properties: [PropertyDeclaration]
  /// The hooks that the class or a superclass overrides.
  let hooks: ClassHooks
  /// A property that the class's initializer reads or writes, which is an error; nil if there is none.
  let usedProperty: String?
  // Read by the C shim: the number of properties, then the slot of each property in the order of their
  // initialization. Allocated in init, freed in deinit, never written in between. nil if the order of
  // initialization is the slot order.
  private let places: UnsafeMutablePointer<UInt16>?

  private init(type: ManagedObject.Type, _ recorded: DeclarationRecorder.Recorded) {
    self.type = type
    entityName = String(describing: type)
    hooks = .overridden(by: type)
    let above = Swift._getSuperclass(type) as? ManagedObject.Type
    parent = above == ManagedObject.self ? nil : above
    usedProperty = recorded.usedSlot.map { slot in
      recorded.properties.first { $0.slot == slot }?.name ?? "?"
    }
    var properties = recorded.properties.enumerated().sorted {
      ($1.element.level, $0.offset) < ($0.element.level, $1.offset)
    }.map(\.element)
    let isPlain = properties.indices.allSatisfy { properties[$0].slot == $0 }
    unsafe places = isPlain ? nil : .allocate(capacity: properties.count + 1)
    unsafe places?.initialize(
      repeating: UInt16(truncatingIfNeeded: properties.count), count: properties.count + 1)
    for slot in properties.indices {
      unsafe places?[1 + properties[slot].slot] = UInt16(truncatingIfNeeded: slot)
      properties[slot].slot = slot
    }
    self.properties = properties
  }

  deinit { unsafe places?.deallocate() }

  /// Whether the wrappers of an object take the slots in their order, from 0.
  var countsFromZero: Bool { unsafe places == nil }

  /// Creates objects of the class. An inherited property has the slot that it has in the superclass.
  var maker: () -> ManagedObject {
    // Most classes inherit no properties, and a fetch creates an object for each row.
    if unsafe places == nil { return { [type] in making { type.init() } } }
    return { self.make() }
  }

  /// Creates an object, as ``maker`` does.
  func make() -> ManagedObject {
    making {
      // The C shim reads `places` only while the object is created. `self` owns `places`, and is retained
      // during that time.
      if let places = unsafe places { unsafe vault_start_placing(places) }
      return type.init()
    }
  }

  /// Whether the class, or a superclass, is that of an entity.
  func isEntity(_ name: String) -> Bool {
    entityName == name || parent.map { ClassDescription.of($0).isEntity(name) } == true
  }

  /// Whether the class or one of its superclasses declares an attribute of this name.
  func hasAttribute(_ name: String) -> Bool {
    properties.contains { property in
      if case .attribute = property.kind { property.name == name } else { false }
    }
  }

  private static let known = Locked<[ObjectIdentifier: ClassDescription]>([:])

  /// Returns the description of a class, which is made on first use.
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
