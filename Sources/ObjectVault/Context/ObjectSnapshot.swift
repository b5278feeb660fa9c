// The values of an object as a value of its own, which may leave the context: for a view, another task, a
// form.

internal import CipherSQLite

/// The attributes and to-ones of an object at one moment.
///
/// ```swift
/// var form = user.snapshot()
/// form.name += " Watson"
/// try user.apply(form)
/// ```
///
/// It is `Sendable` and `Codable`, and reading it needs no context. It has the values with the changes that
/// are not saved. Of a to-one it has the id; members of to-manys are not part of it.
@dynamicMemberLookup
public struct ObjectSnapshot<Object: ManagedObject>: Sendable, Hashable, Codable {
  /// The entity and the row of the object. The id of a new object is temporary, and 0 in a snapshot of it
  /// that was decoded.
  public let id: DynamicID
  /// The values in their stored forms, by property; those that could not be read are missing.
  public private(set) var values: ChangeSet.Values
  /// The former values of the properties that were set in this snapshot.
  private(set) var base: ChangeSet.Values = [:]

  /// Where the ids of to-ones are valid; unknown in a snapshot that was decoded.
  private(set) var origin = Origin()

  /// The store and the context of ids. Not a part of the value.
  struct Origin: Sendable, Hashable {
    var store = StoreFingerprint.unknown
    var context = StoreFingerprint.unknown
    /// The to-ones that refer to new objects, by their temporary ids.
    var newTargets: Set<String> = []
    /// The to-ones that did so before they were set in the snapshot.
    var formerNewTargets: Set<String> = []
    static func == (left: Origin, right: Origin) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  private enum CodingKeys: CodingKey { case id, values, base }

  /// Encodes the id, the values and the former values. The id of a new object is encoded as 0.
  /// - Throws: `EncodingError.invalidValue` if a to-one refers to a new object, whose id is temporary.
  public func encode(to encoder: any Encoder) throws {
    if let name = origin.newTargets.min() {
      throw EncodingError.temporaryID(self, of: "\(id.entity).\(name)", encoder.codingPath)
    }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id.isTemporary ? DynamicID(entity: id.entity, rowID: 0) : id, forKey: .id)
    try container.encode(values, forKey: .values)
    // A temporary id means nothing where the snapshot is decoded.
    try container.encode(base.filter { !origin.formerNewTargets.contains($0.key) }, forKey: .base)
  }

  init(id: DynamicID, values: ChangeSet.Values, origin: Origin) {
    (self.id, self.values, self.origin) = (id, values, origin)
  }

  /// The names of the properties that were set in this snapshot to other values, in alphabetical order.
  public var changedProperties: [String] {
    base.filter { values[$0.key]?.isStored(as: $0.value) == false }.keys.sorted()
  }

  /// An attribute.
  ///
  /// Setting it changes this value and not the object. For a property that is no attribute of the model, and
  /// a value that cannot be stored, the error goes to ``ObjectContext/onStrayError``.
  /// - Parameter property: The key path of the attribute.
  public subscript<Value: AttributeValue>(
    dynamicMember property: ReferenceWritableKeyPath<Object, Value>
  ) -> Value {
    get {
      guard let stored = name(of: property).flatMap({ values[$0] }),
        !stored.isNull || Value.isOptionalAttribute
      else { return Value.placeholder }
      return Value(stored: stored) ?? Value.placeholder
    }
    set {
      guard let name = name(of: property) else { return }
      do { set(name, try newValue.stored()) } catch {
        ContextlessErrors.tell(
          StoreError.propertyMisused(entity: id.entity, property: name, reason: "cannot be stored: \(error)"))
      }
    }
  }

  /// The id of the object that a to-one refers to; nil if there is none. Set it to refer to another object,
  /// which must be saved.
  /// - Parameter property: The key path of the to-one.
  public subscript<Target: ManagedObject>(
    dynamicMember property: ReferenceWritableKeyPath<Object, Target?>
  ) -> ObjectID<Target>? {
    get { name(of: property).flatMap { values[$0]?.int64 }.map { ObjectID(rowID: $0) } }
    set {
      guard let name = name(of: property) else { return }
      if let newValue, newValue.isTemporary || !origin.store.admits(newValue.store) {
        ContextlessErrors.tell(
          StoreError.propertyMisused(
            entity: id.entity, property: name,
            reason: "was set to the id of another store, or of an object that is not saved"))
        return
      }
      set(name, newValue.map { .integer($0.rowID) } ?? .null)
    }
  }

  private mutating func set(_ name: String, _ value: SQLValue) {
    if let former = origin.newTargets.remove(name) { origin.formerNewTargets.insert(former) }
    let former = base[name] ?? values[name] ?? .null
    base[name] = former.isStored(as: value) ? nil : former
    values[name] = value
  }

  private func name(of property: AnyKeyPath) -> String? {
    switch KeyPathResolver.resolve(property, root: Object.self) {
    case .success(let names) where names.count == 1: return names[0]
    case .success(let names):
      ContextlessErrors.tell(
        StoreError.propertyMisused(
          entity: id.entity, property: names.joined(separator: "."), reason: "is not part of a snapshot"))
    case .failure(let error):
      ContextlessErrors.tell(StoreError.predicate(PredicateError(error.description, entity: id.entity)))
    }
    return nil
  }
}

extension ObjectSnapshot: CustomStringConvertible {
  /// The entity and the row, and the names of the properties, without their values.
  public var description: String { "\(id): \(values.keys.sorted().joined(separator: ", "))" }
}

extension Persistable where Self: ManagedObject {
  /// Returns the attributes and to-ones of the object as a value, which may leave the context.
  ///
  /// Of an object that is in no context yet, it has the attributes. Reads the row of a fault, and lazy
  /// attributes. It cannot throw: what cannot be read is missing, and the
  /// error is in ``ObjectContext/faultErrors``.
  public func snapshot() -> ObjectSnapshot<Self> {
    var values: ChangeSet.Values = [:]
    var source = ObjectSnapshot<Self>.Origin(store: mark(of: 1), context: mark(of: -1))
    func add(target: SQLValue, _ name: String) {
      values[name] = target
      if target.int64.map({ $0 < 0 }) == true { source.newTargets.insert(name) }
    }
    if isDraft {
      for property in ClassDescription.of(type(of: self)).properties {
        if case .attribute = property.kind { values[property.name] = draftValue(property.slot) }
      }
    } else if let origin {
      for slot in origin.storedSlots {
        if isTracked { noteRead(slot) }
        guard let value = storedValue(slot) else { continue }
        let name = origin.slots[slot].name
        if origin.isToOne[slot] {
          add(target: host?.known(value) ?? value, name)
        } else {
          values[name] = value
        }
      }
      for relationship in origin.relationships where relationship.isLookedUp {
        do {
          let target = try value(relationship.name)
          add(target: host?.known(target) ?? target, relationship.name)
        } catch { host?.note(error) }
      }
    }
    return ObjectSnapshot(
      id: DynamicID(entity: nameOfEntity, rowID: visibleRowID), values: values, origin: source)
  }

  /// Sets the properties that were set in a snapshot; all others stay as they are.
  /// - Parameters:
  ///   - snapshot: A snapshot of this object, or of another one of its class.
  ///   - overwriting: Whether all properties get the values of the snapshot, also those that were not set in
  ///     it: this restores the object as it was.
  /// - Returns: The properties whose present values, set since the snapshot was made, were replaced; in
  ///   alphabetical order.
  /// - Throws: As ``ManagedObject/set(_:toStored:)``; for the target of a to-one also
  ///   ``StoreError/objectGone(entity:rowID:)`` and ``StoreError/idOfAnotherStore(entity:rowID:)``, and
  ///   ``StoreError/noContext(entity:property:)`` if this object is not inserted yet.
  ///   Properties that were set before the error stay set.
  @discardableResult
  public func apply(_ snapshot: ObjectSnapshot<Self>, overwriting: Bool = false) throws -> [String] {
    let names = overwriting ? snapshot.values.keys.sorted() : snapshot.changedProperties
    var replaced: [String] = []
    for name in names {
      guard let value = snapshot.values[name] else { continue }
      if isDraft, case .relationship = try draftProperty(name).kind {
        // Only a context finds the object of an id.
        if value.isNull { continue }
        throw StoreError.noContext(entity: nameOfEntity, property: name)
      }
      let present = try self.value(name)
      if let base = snapshot.base[name], !present.isStored(as: base), !present.isStored(as: value) {
        replaced.append(name)
      }
      if present.isStored(as: value) { continue }
      try set(name, toStoredOrID: value, of: snapshot.origin.store, in: snapshot.origin.context)
    }
    return replaced
  }
}

extension ManagedObject {
  /// Sets an attribute from its stored form, or a to-one from the id of its target.
  /// - Parameters:
  ///   - store: The store that the id belongs to.
  ///   - context: The context that a temporary id belongs to.
  fileprivate final func set(
    _ name: String, toStoredOrID value: SQLValue, of store: StoreFingerprint, in context: StoreFingerprint
  ) throws {
    if isDraft { return try set(name, toStored: value) }
    let slot = try slot(name)
    guard let relationship = origin?.slots[slot].relationship else { return try set(name, toStored: value) }
    try requireChangeable(name)
    guard let id = value.int64 else { return writeToOne(nil, UInt16(slot)) }
    guard id < 0 ? context == mark(of: id) : mark(of: id).admits(store) else {
      throw StoreError.idOfAnotherStore(entity: relationship.destination.name, rowID: id)
    }
    guard let target = try host?.target(withID: id, of: relationship.destination), target.state != .deleted
    else { throw StoreError.objectGone(entity: relationship.destination.name, rowID: id) }
    writeToOne(target, UInt16(slot))
  }
}
