// Checks of single properties, and the failures that validating hooks throw.

internal import CipherSQLite

extension ManagedObject {
  /// Checks the present value of one property against the rules of the model, as a save does: whether it is
  /// required, and the rules of its declaration. For the editor of one value.
  ///
  /// Neither unique values, which the save compares with the file, nor the hooks of the class are checked.
  /// - Parameter name: The name of an attribute or a to-one.
  /// - Throws: ``StoreError/validation(_:)`` with each rule that is broken;
  ///   ``StoreError/noProperty(entity:property:similar:)``.
  public final func validate(_ name: String) throws {
    let slot = try slot(name)
    guard let entity, entity.storedSlots.contains(slot) else { return }
    let value = storedValue(slot) ?? .null
    let failures = entity.brokenRules(slot, value, refused: overlay?.refused?[slot]).map {
      ValidationFailure(entity: entity.name, property: name, rowID: visibleRowID, reason: $0)
    }
    guard failures.isEmpty else { throw StoreError.validation(failures) }
  }
}

extension Persistable where Self: ManagedObject {
  /// Checks the present value of one property against the rules of the model: see
  /// ``ManagedObject/validate(_:)``.
  /// - Parameter property: An attribute or a to-one.
  /// - Throws: ``StoreError/validation(_:)`` with each rule that is broken;
  ///   ``StoreError/predicate(_:)`` if the key path is no such property.
  public func validate(_ property: PartialKeyPath<Self>) throws { try validate(name(of: property)) }

  /// Returns a failure of this object, for the hooks that validate it.
  ///
  /// ```swift
  /// final class Trip: ManagedObject {
  ///   @Attribute var start: Date
  ///   @Attribute var end: Date
  ///   override func validateForInsert() throws {
  ///     if end < start { throw failure(of: \.end, reason: "is before the start") }
  ///   }
  ///   override func validateForUpdate() throws { try validateForInsert() }
  /// }
  /// ```
  /// - Parameters:
  ///   - property: The property that is at fault.
  ///   - reason: The rule, as the end of a sentence that begins with the property.
  /// - Returns: The failure, to be thrown. For several at once, throw ``StoreError/validation(_:)``.
  public func failure(of property: PartialKeyPath<Self>, reason: String) -> ValidationFailure {
    ValidationFailure(
      entity: nameOfEntity, property: (try? name(of: property)) ?? "", rowID: visibleRowID, reason: reason)
  }

  private func name(of property: PartialKeyPath<Self>) throws(StoreError) -> String {
    switch KeyPathResolver.resolve(property, root: Self.self) {
    case .success(let names) where names.count == 1: return names[0]
    case .success:
      throw .predicate(PredicateError("Name a property of the object itself.", entity: nameOfEntity))
    case .failure(let error): throw .predicate(PredicateError(error.description, entity: nameOfEntity))
    }
  }
}
