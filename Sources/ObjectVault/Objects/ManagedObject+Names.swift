// Properties by their names, for code that does not know the class of an object: an editor, an importer, a
// script; and for objects without classes.

public import CipherSQLite

extension ManagedObject {
  /// The entity as the store's model describes it: its attributes and relationships, for code that does not
  /// know the class. nil for an object that belongs to no context.
  ///
  /// ```swift
  /// let names = object.entityDescription?.attributes.map(\.name) ?? []
  /// let values = try names.map { try object.value($0) }
  /// ```
  public var entityDescription: EntityDescription? { origin?.description }

  /// An attribute by its name, read or written as a Swift type that fits the attribute's type.
  ///
  /// ```swift
  /// let name: String = object["name"]
  /// let city = object["city"] as String?
  /// object["city"] = "北京"
  /// ```
  ///
  /// Integer types of any size fit integer attributes, and may also be written to floating-point and
  /// decimal attributes. A `String` fits every attribute that is stored as text, and then is the stored
  /// form. If the value is nil and the type is not optional, the getter returns a placeholder, such as 0
  /// or the empty string. A save refuses a value that does not fit the attribute, and names the
  /// attribute.
  ///
  /// A subscript cannot throw: a wrong name or type is an error in ``ObjectContext/faultErrors``, which the
  /// next save throws. ``value(_:)`` and ``set(_:to:)`` throw it at once.
  /// - Parameter name: The attribute's name.
  public subscript<Value: AttributeValue>(name: String) -> Value {
    get {
      do { return try read(name) } catch {
        tell(error)
        return Value.placeholder
      }
    }
    set {
      do {
        let (slot, type) = try attribute(name)
        guard isDraft || isReachable(name) else { return }
        do { setStored(try accepted(try type.stored(of: newValue), slot), slot) } catch {
          refuse(error, slot)
        }
      } catch { tell(error) }
    }
  }

  private func read<Value: AttributeValue>(_ name: String) throws(StoreError) -> Value {
    // A prototype, which finds the property of a key path, has no values by name.
    if extras?.recording != nil { return Value.placeholder }
    if let value = lastValue(name).flatMap({ Value(stored: $0) }) { return value }
    let (slot, type) = try attribute(name)
    if isTracked { noteRead(slot) }
    host?.reads?(nameOfEntity, name, rowID)
    guard type.reads(as: Value.attributeType) else {
      throw .propertyMisused(
        entity: nameOfEntity, property: name,
        reason:
          "has the type \(type.rawValue), but was read as \(Value.attributeType.rawValue)"
      )
    }
    guard let stored = isDraft ? draftValue(slot) : storedValue(slot) else {
      if host == nil { ContextlessErrors.tell(unreachable(name)) }
      return Value.placeholder
    }
    if stored.isNull, !Value.isOptionalAttribute { return Value.placeholder }
    if let value = Value(stored: stored) { return value }
    host?.noteUnreadable(
      .unreadableValue(
        entity: nameOfEntity, property: name, rowID: rowID, expected: Value.attributeType.rawValue))
    return Value.placeholder
  }

  /// Returns the stored form of an attribute or the row id of a to-one's target. The id of a new target
  /// is negative.
  /// - Parameter name: The name of the attribute or to-one.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)`` for a to-many, and for a to-one of an object
  ///   that is not inserted yet; ``StoreError/objectGone(entity:rowID:)``;
  ///   ``StoreError/noContext(entity:property:)`` for a to-one without a column when the context no longer
  ///   exists; ``SQLError``.
  public func value(_ name: String) throws -> SQLValue {
    if let value = lastValue(name) { return value }
    if isDraft { return draftValue(try attribute(name).0) }
    let slot = try slot(name)
    if origin?.slots[slot].relationship?.isToMany == true {
      throw misused(
        name,
        reason: isDynamic
          ? "is a to-many; read its members with [toMany: \"\(name)\"]"
          : "is a to-many; read its members with relatedObjects(\"\(name)\")")
    }
    host?.reads?(nameOfEntity, name, rowID)
    let isLookedUp = origin?.slots[slot].relationship?.isLookedUp == true
    if isTracked, isLookedUp { noteReadOfMembers(slot) } else if isTracked { noteRead(slot) }
    // If the row no longer exists, memory may still have its last values.
    let isGone = state == .invalid && host != nil
    let isKnown = isLookedUp ? state == .inserted : overlay?.changed.contains(slot) == true
    if isGone || (!hasRow && !isKnown) {
      try load()
      guard hasRow else { throw StoreError.objectGone(entity: nameOfEntity, rowID: rowID) }
    }
    if isPartial, !isLookedUp, overlay?.changed.contains(slot) != true,
      packedCell(slot)?.isAbsent == true
    {
      try load(for: slot)
    }
    guard isLookedUp else { return storedValue(slot) ?? .null }
    guard host != nil else { throw unreachable(name) }
    try loadMembers(slot)
    guard let target = toOneTarget(slot), target.state != .deleted else { return .null }
    return .integer(target.rowID)
  }

  /// Reads the members of a relationship and throws an error, which a getter would only record.
  final func loadMembers(_ slot: Int) throws {
    let state = members(slot)
    if !state.isWhole { try host?.loadMembers(of: self, slot, state) }
  }

  /// Sets an attribute, and throws the errors that the subscript cannot throw: an unknown name, a value
  /// that does not fit the type, an object that accepts no change. After an error the object is unchanged.
  ///
  /// ```swift
  /// try object.set("name", to: "Bea")
  /// ```
  ///
  /// A value also does not fit if the property of the class cannot represent it, such as a text that is no
  /// case of its enum.
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - value: The new value.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)``; ``StoreError/objectGone(entity:rowID:)``
  ///   for an object that is deleted or whose row no longer exists;
  ///   ``StoreError/noContext(entity:property:)``, ``StoreError/readOnlyContext``; `CancellationError` in
  ///   a write that was cancelled; ``SQLError``.
  public func set(_ name: String, to value: (any AttributeValue)?) throws {
    let (slot, type) = try attribute(name)
    try change(name, slot) { try value.map { try type.stored(of: $0) } ?? .null }
  }

  /// Sets an attribute from its stored form, as ``value(_:)`` returns it.
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - value: The stored form of the new value.
  /// - Throws: As ``set(_:to:)``.
  public func set(_ name: String, toStored value: SQLValue) throws {
    let (slot, type) = try attribute(name)
    try change(name, slot) { try type.stored(value) }
  }

  private func change(_ name: String, _ slot: Int, to form: () throws -> SQLValue) throws {
    let value: SQLValue
    do { value = try accepted(try form(), slot) } catch let error as UnstorableValue {
      throw misused(name, reason: "cannot be stored: \(error)")
    }
    if !isDraft { try requireChangeable(name) }
    setStored(value, slot)
  }

  /// Returns a stored form, if the property of the class can represent it.
  private func accepted(_ value: SQLValue, _ slot: Int) throws(UnstorableValue) -> SQLValue {
    let reader =
      isDraft
      ? ClassDescription.of(type(of: self)).properties.first { $0.slot == slot }?.reader
      : origin?.slots[slot].reader
    guard !value.isNull, let reader, !reader.reads(value) else { return value }
    throw UnstorableValue(description: "the property of the class has no such value")
  }

  /// Returns the value that an attribute of a class had when the object's context was released, as the
  /// property returns it; nil while the object is in a context, and for a value that is not in memory.
  private func lastValue(_ name: String) -> SQLValue? {
    guard origin == nil, hasRow,
      let property = ClassDescription.of(type(of: self)).properties.first(where: { $0.name == name }),
      case .attribute = property.kind, let cell = packedCell(property.slot), !cell.isAbsent
    else { return nil }
    return cell.value
  }

  // MARK: Names

  private var isDynamic: Bool { self is DynamicObject }

  func slot(_ name: String) throws(StoreError) -> Int {
    guard let origin else { throw unreachable(name) }
    if let slot = origin.slot(named: name) { return slot }
    throw .noProperty(
      entity: origin.name, property: name, similar: nearest(name, among: origin.slots.map(\.name)))
  }

  /// Returns a property of an object that is in no context yet.
  final func draftProperty(_ name: String) throws(StoreError) -> PropertyDeclaration {
    let properties = ClassDescription.of(type(of: self)).properties
    if let property = properties.first(where: { $0.name == name }) { return property }
    throw .noProperty(
      entity: nameOfEntity, property: name, similar: nearest(name, among: properties.map(\.name)))
  }

  private func attribute(_ name: String) throws(StoreError) -> (Int, AttributeType) {
    let isToMany: Bool
    if isDraft {
      let property = try draftProperty(name)
      switch property.kind {
      case .attribute(let type, _, _, _): return (property.slot, type)
      case .relationship(_, let number, _, _, _): isToMany = number != .one
      }
    } else {
      let slot = try slot(name)
      if let attribute = origin?.slots[slot].attribute { return (slot, attribute.type) }
      isToMany = origin?.slots[slot].relationship?.isToMany == true
    }
    throw misused(
      name,
      reason: isDynamic
        ? "is a relationship; use [\(isToMany ? "toMany" : "toOne"): \"\(name)\"]"
        : "is a relationship; use \(isToMany ? "relatedObjects" : "relatedObject")(\"\(name)\")")
  }

  func misused(_ name: String, reason: String) -> StoreError {
    .propertyMisused(entity: nameOfEntity, property: name, reason: reason)
  }

  /// Whether the object is in a context. If not, the error is reported here; a context itself reports
  /// changes that it does not accept.
  func isReachable(_ name: String) -> Bool {
    guard host == nil else { return true }
    let error = unreachable(name)
    if let former = extras?.former?.host { former.note(error) } else { ContextlessErrors.tell(error) }
    return false
  }

  /// Checks that the object accepts changes, and throws what a setter would only report. Fetches the row
  /// of a fault, because the save needs the row's version.
  func requireChangeable(_ name: String) throws {
    guard let host else { throw unreachable(name) }
    if let refusal = host.refusal { throw refusal }
    if state == .fault || isPartial { try load() }
    guard state == .inserted || state == .loaded else {
      throw StoreError.objectGone(entity: nameOfEntity, rowID: rowID)
    }
  }

  /// The error for the use of an object without a context: `objectGone` if the context that it left still
  /// exists, otherwise `noContext`.
  final func unreachable(_ name: String) -> StoreError {
    extras?.former?.host == nil
      ? .noContext(entity: nameOfEntity, property: name) : .objectGone(entity: nameOfEntity, rowID: rowID)
  }

  func tell(_ error: StoreError) {
    if let host { host.note(error) } else { ContextlessErrors.tell(error) }
  }
}
