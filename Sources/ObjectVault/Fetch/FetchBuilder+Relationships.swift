// The condition that a to-one references a certain object, which a #Predicate cannot express.

extension FetchBuilder {
  /// Adds the condition that a to-one references an object.
  ///
  /// A `#Predicate` can only compare the ids of objects. This is the short way:
  ///
  /// ```swift
  /// let conversation = try context.fetch(Conversation.self).one()
  /// let messages = try context.fetch(Message.self)
  ///   .where(\.conversation, equals: conversation)
  ///   .all()
  /// ```
  ///
  /// A fetch may refer to a new object of its context, also after it was saved. A request may not.
  /// - Parameters:
  ///   - path: The to-one, or a path through to-ones to it.
  ///   - object: The object; nil to find objects whose to-one is nil.
  /// - Returns: A copy with the condition.
  /// - Throws: ``StoreError/predicate(_:)`` for an invalid key path, for an object that belongs to no
  ///   store, and for a request if the object was not saved.
  public consuming func `where`<Target: ManagedObject>(
    _ path: KeyPath<Object, Target?>, equals object: Target?
  ) throws -> Self {
    if object?.isNew == true, Self.self == ObjectRequest<Object>.self {
      throw ObjectRequest<Object>.newObject(request.entityName)
    }
    try require(path, equals: object?.predicateValue() ?? .null, isNew: object?.isNew == true)
    return self
  }

  /// Adds the condition that a to-one references the object of an id.
  /// - Parameters:
  ///   - path: The to-one, or a path through to-ones to it.
  ///   - id: The id of the object.
  /// - Returns: A copy with the condition.
  /// - Throws: ``StoreError/predicate(_:)`` for an invalid key path.
  public consuming func `where`<Target: ManagedObject>(
    _ path: KeyPath<Object, Target?>, equals id: ObjectID<Target>
  ) throws -> Self {
    try require(path, equals: id.predicateValue(), isNew: false)
    return self
  }

  private mutating func require(
    _ path: PartialKeyPath<Object>, equals value: PredicateValue, isNew: Bool
  ) throws {
    let names = PropertyPath(try path.propertyNames)
    request.parameters.add(
      FetchCondition(
        node: .comparison(.path(names), .equal, .value(value), []), refersToNewObjects: isNew))
  }
}
