// The condition that a to-one references a certain object, which a #Predicate cannot express, and the order
// of a to-many.

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
    try require(path, equals: object?.predicateValue() ?? .null)
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
    try require(path, equals: id.predicateValue())
    return self
  }

  /// Sorts by the order of a list of objects, such as the members of an ordered to-many, after the keys
  /// given before.
  ///
  /// ```swift
  /// let album = try context.fetch(Album.self).one()
  /// let page = try context.fetch(Song.self)
  ///   .where(\.album, equals: album)
  ///   .sorted(byOrderOf: album.songs)
  ///   .page(size: 50)
  /// ```
  ///
  /// Objects that are not in the list come after those that are. The list is read when this method is called:
  /// later changes of a to-many do not change the order, and each page of an order needs the same list. No
  /// index serves it: all rows that satisfy the conditions are sorted, each with a search in the list.
  /// A new object in the list loses its position when it is saved. A request may have no new objects.
  /// - Parameter objects: The objects in their order, at most ``PredicateError/maximumListCount``. If an
  ///   object is in the list several times, its first position counts.
  /// - Returns: A sorted copy.
  public consuming func sorted(byOrderOf objects: some Sequence<Object>) -> Self {
    let ids = objects.map { object in
      let id = object.visibleRowID
      return ObjectID<Object>(rowID: id, of: object.mark(of: id))
    }
    sort(byPositionsIn: ids)
    return self
  }

  /// Sorts by the order of a list of ids, after the keys given before; see `sorted(byOrderOf:)` of objects.
  /// - Parameter ids: The ids in their order, at most ``PredicateError/maximumListCount``.
  /// - Returns: A sorted copy.
  public consuming func sorted(byOrderOf ids: some Sequence<ObjectID<Object>>) -> Self {
    sort(byPositionsIn: Array(ids))
    return self
  }

  private mutating func sort(byPositionsIn ids: [ObjectID<Object>]) {
    let isRequest = Self.self == ObjectRequest<Object>.self
    if isRequest, ids.contains(where: \.isTemporary), request.parameters.failure == nil {
      request.parameters.failure = ObjectRequest<Object>.newObject(request.entityName)
    }
    let stores = Set(ids.lazy.filter { !$0.isTemporary && $0.store.isKnown }.map(\.store))
    if let store = stores.first { request.parameters.storeOfOrder = store }
    if stores.count > 1, request.parameters.failure == nil {
      request.parameters.failure = .predicate(
        PredicateError("the ids whose order it has are of several stores", entity: request.entityName))
    }
    request.parameters.sort.append(
      SortKey(value: .position(.objectID, ids.map(\.rowID)), nilIsGreatest: true))
  }

  private mutating func require(
    _ path: PartialKeyPath<Object>, equals value: PredicateValue
  ) throws {
    let names = PropertyPath(try path.propertyNames)
    request.parameters.add(
      FetchCondition(checking: .comparison(.path(names), .equal, .value(value), [])))
  }
}
