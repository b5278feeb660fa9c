// What a Swift class declares: found once per class, by making one object of it while the wrappers record.

private import CVaultShims
internal import CipherSQLite

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
  var slot: Int
  let kind: Kind
  /// Whether the Swift type can read a stored value: an enum has fewer values than the type it is stored as.
  var reader: ValueReader?
  /// How many classes above the one that was recorded declare it: 0 for its own.
  var level = 0
}

// Safe to share: never changed after it was made.
/// What a class declares, and the classes above it.
@safe final class ClassDescription: @unchecked Sendable {
  let type: ManagedObject.Type
  let entityName: String
  /// The class above it; nil where that is `ManagedObject`.
  let parent: ManagedObject.Type?
  /// In the order of their slots: those of the highest class come first, and the class's own last.
  let properties: [PropertyDeclaration]
  /// A property that the class's initializer uses; nil when it uses none, as it should.
  let usedProperty: String?
  // For the shim: how many properties there are, then the slot of each in the order in which they are set up. Allocated
  // here, freed in deinit, never written to afterwards. nil where that order is that of the slots.
  private let places: UnsafeMutablePointer<UInt16>?

  private init(type: ManagedObject.Type, _ recorded: DeclarationRecorder.Recorded) {
    self.type = type
    entityName = String(describing: type)
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

  /// What makes a new object of the class, each of whose properties has the slot that it has in the classes above.
  var maker: () -> ManagedObject {
    // Most classes are below no other, and a fetch makes an object for each row.
    if unsafe places == nil { return { [type] in making { type.init() } } }
    return { self.make() }
  }

  /// A new object of the class, as one of ``maker``.
  func make() -> ManagedObject {
    making {
      // The places are read before the object is there, and this is retained for as long.
      if let places = unsafe places { unsafe vault_start_placing(places) }
      return type.init()
    }
  }

  /// Whether it declares an attribute of this name, or a class above it does.
  func hasAttribute(_ name: String) -> Bool {
    properties.contains { property in
      if case .attribute = property.kind { property.name == name } else { false }
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
