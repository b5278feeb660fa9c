// A fetch: a request in a context, and the methods that run it.

internal import CipherSQLite

/// A fetch of objects of one entity, built step by step.
///
/// ```swift
/// let recent = try context.fetch(Status.self)
///   .where(#Predicate {
///     $0.user?.name == "Binger" && $0.text.contains("Watch")
///   })
///   .sorted(by: \.createdAt, .reverse)
///   .prefetch(\.user)
///   .limit(20)
///   .all()
/// ```
///
/// The methods of ``FetchBuilder`` return a new fetch each, and read nothing. The other methods run the
/// fetch: <doc:fetching> lists them. A fetch returns what the store
/// will contain after the context's next save: the stored objects with all pending changes. New objects
/// have ids above all others, in the order of their insertion. See ``FetchBuilder/includingPending(_:)``.
public struct Fetch<Object: ManagedObject>: FetchBuilder {
  let context: ObjectContext
  /// What is fetched. A request can be kept and fetched in other contexts, unless it refers to new
  /// objects of this one.
  public var request: ObjectRequest<Object>

  var parameters: FetchParameters { request.parameters }

  init(_ request: ObjectRequest<Object>, in context: ObjectContext) {
    (self.context, self.request) = (context, request)
  }

  // MARK: Fetching

  /// Fetches all objects, in order.
  ///
  /// If all objects of a large table are fetched, without a condition, sort or limit, two connections
  /// read them at once if a second core and a second reader are free; see ``ObjectContext/statistics``.
  /// - Returns: The objects.
  /// - Throws: ``StoreError/predicate(_:)``, ``StoreError/unknownEntity(name:)``; ``SQLError``.
  public func all() throws -> [Object] {
    let entity = try known()
    return try inOneSnapshot(entity) { try all(entity) }
  }

  func all(_ entity: EntityMapping) throws -> [Object] {
    // Before the query: an entity of another class is an error.
    _ = try context.proof(Object.self, entity)
    let found: [ManagedObject]
    if let merge = try merge(entity) {
      found = try merge.all()
    } else {
      let compiled = try compiled(.objects, entity)
      found = try context.scan(entity, slots: parameters.slots(of: entity)).objects(
        compiled.form, compiled.bindings, isBranch: parameters.includesSubentities)
    }
    return try finished(found, entity)
  }

  /// Returns fetched objects as objects of the fetch's class, with their prefetched relationships.
  func finished(_ found: [ManagedObject], _ entity: EntityMapping) throws -> [Object] {
    for path in parameters.prefetch { try prefetch(path, of: found, entity) }
    return try context.proof(Object.self, entity)(found)
  }

  /// Fetches the first object.
  /// - Returns: The object, or nil if there is none.
  /// - Throws: The errors of ``all()``.
  public func first() throws -> Object? { try atMost(1).all().first }

  /// Fetches the only object.
  /// - Returns: The object.
  /// - Throws: ``StoreError/noResult(entity:)``, ``StoreError/severalResults(entity:)``; the errors of
  ///   ``all()``.
  public func one() throws -> Object {
    let found = try atMost(2).all()
    guard found.count < 2 else { throw StoreError.severalResults(entity: request.entityName) }
    guard let object = found.first else { throw StoreError.noResult(entity: request.entityName) }
    return object
  }

  /// Returns the number of objects, at most the limit.
  /// - Returns: The number.
  /// - Throws: The errors of ``all()``.
  public func count() throws -> Int {
    let entity = try known()
    return try inOneSnapshot(entity) {
      if let merge = try merge(entity) { return try merge.count() }
      return Int(try value(try compiled(.count, entity))?.int64 ?? 0)
    }
  }

  /// Returns whether there is at least one object.
  /// - Returns: Whether there is one.
  /// - Throws: The errors of ``all()``.
  public func exists() throws -> Bool {
    let entity = try known()
    return try inOneSnapshot(entity) {
      if let merge = try atMost(1).merge(entity) { return try merge.exists() }
      return try value(try atMost(1).compiled(.existence, entity)) != nil
    }
  }

  /// Returns the ids of the objects, in the order of a sorted fetch. No objects are made, unless pending
  /// changes affect the fetch. New objects have temporary ids, or their final ids inside
  /// ``Store/write(_:)``.
  ///
  /// Without a sort the ids may come from an index that contains them without the rows, in another order
  /// than that of ``all()``: sort before you use a limit or an offset.
  /// - Returns: The ids.
  /// - Throws: The errors of ``all()``.
  public func ids() throws -> [ObjectID<Object>] {
    try rowIDs { ObjectID(rowID: $0, of: context.mark(of: $0)) }
  }

  func rowIDs<ID>(_ make: (Int64) -> ID) throws -> [ID] {
    let entity = try known()
    return try inOneSnapshot(entity) {
      if let merge = try merge(entity, selecting: [.objectID]) { return try merge.ids().map(make) }
      let compiled = try compiled(.ids, entity)
      context.statistics.queries += 1
      return try context.withConnection { connection in
        try connection.query(sql: compiled.text, compiled.bindings) { make($0.int64(0)) }
      }
    }
  }

  /// The SQL that ``all()`` runs, with its bindings.
  public var sql: CompiledFetch {
    get throws {
      let entity = try known()
      return try compiled(.objects, entity)
    }
  }

  // MARK: Implementation

  private func atMost(_ count: Int) -> Fetch { limit(min(count, parameters.limit ?? count)) }

  /// Returns the request with the present ids of objects that were new when they were passed as
  /// arguments.
  private var current: FetchParameters {
    parameters.refersToNewObjects ? context.settled(parameters) : parameters
  }

  /// Runs `body` in one snapshot of the file if it needs several queries, for pending changes or
  /// prefetches.
  func inOneSnapshot<Result>(_ entity: EntityMapping, _ body: () throws -> Result) throws -> Result {
    if context.pending.mayBeLive, !request.includesPending {
      context.index.update(context.pending)
      return try context.withPendingRows([context.index.deletedRows(of: entity)], body)
    }
    return context.pending.mayBeLive || !parameters.prefetch.isEmpty
      ? try context.withSnapshot(body) : try body()
  }

  /// Returns the merge with pending objects; nil if no pending change affects the fetch.
  /// - Parameter columns: The values that the fetch returns; none for objects.
  func merge(_ entity: EntityMapping, selecting columns: [PredicateOperand] = []) throws -> PendingMerge? {
    guard request.includesPending, context.pending.mayBeLive else { return nil }
    return try PendingMerge(current, selecting: columns, on: entity, in: context)
  }

  func known() throws -> EntityMapping {
    context.mergeArrived()
    let entity = try namedEntity()
    // A count of rows reads no column, and an older engine does not tell of its table.
    context.access.connection?.noteRead(of: entity.root.name)
    return entity
  }

  private func namedEntity() throws -> EntityMapping {
    if let name = request.namedEntity { return try context.entity(named: name, as: Object.self) }
    if let entity = context.entity(of: request.type) { return entity }
    throw StoreError.unknownEntity(name: request.entityName)
  }

  func compiled(_ selection: Selection, _ entity: EntityMapping) throws -> CompiledFetch {
    // The usual case: the request is used as it is and not copied.
    guard parameters.refersToNewObjects || context.pending.mayBeLive else {
      return try context.compiled(selection, parameters, on: entity)
    }
    return try context.compiled(selection, stored, on: entity)
  }

  /// The request for the file alone.
  var stored: FetchParameters {
    get throws {
      var stored = try PendingMerge.inFile(current, context)
      stored.excludesPending = !request.includesPending && !context.pending.deleted.isEmpty
      return stored
    }
  }

  private func value(_ compiled: CompiledFetch) throws -> SQLValue? {
    context.statistics.queries += 1
    return try context.withConnection { try $0.value(sql: compiled.text, compiled.bindings) }
  }

  private func prefetch(_ path: [String], of objects: [ManagedObject], _ entity: EntityMapping) throws {
    var (owners, entity) = (objects, entity)
    for (index, name) in path.enumerated() {
      guard !owners.isEmpty else { return }
      guard let slot = entity.slot(named: name), let relationship = entity.slots[slot].relationship else {
        return try prefetch(attribute: name, isLast: index + 1 == path.count, of: owners, entity)
      }
      try context.prefetch(relationship, of: owners)
      entity = relationship.destination
      if index + 1 < path.count { owners = context.otherEnds(relationship, of: owners) }
    }
  }

  private func prefetch(
    attribute name: String, isLast: Bool, of owners: [ManagedObject], _ entity: EntityMapping
  ) throws {
    guard let slot = entity.slot(named: name) else {
      throw StoreError.noProperty(
        entity: entity.name, property: name, similar: nearest(name, among: entity.slots.map(\.name)))
    }
    guard isLast, entity.lazySlots.contains(slot) else {
      throw StoreError.predicate(
        PredicateError(
          "\(entity.name).\(name) cannot be prefetched: "
            + (isLast
              ? "an attribute that is not lazy is read with its object"
              : "it is an attribute, and a path cannot continue after it"),
          entity: entity.name))
    }
    try context.prefetch(lazy: slot, of: owners, entity)
  }
}

extension ObjectContext {
  /// Returns a fetch of all objects of an entity, to be narrowed down.
  ///
  /// The fetched entity is that of the class that is passed, even if its static type is a superclass:
  /// with `let type: Person.Type = Manager.self` managers are fetched, just as `insert(type)` makes a
  /// manager.
  /// - Parameter type: The entity's class.
  /// - Returns: The fetch.
  public func fetch<Object: ManagedObject>(_ type: Object.Type) -> Fetch<Object> {
    Fetch(ObjectRequest(type), in: self)
  }

  /// Returns a fetch of what a request describes.
  ///
  /// ```swift
  /// let unread = try Message.request.where("isRead == NO")
  /// let count = try context.fetch(unread).count()
  /// ```
  ///
  /// The fetch can be narrowed down further. If the request has an invalid key path or refers to an
  /// object that was not saved, the methods that run the fetch throw.
  /// - Parameter request: The request.
  /// - Returns: The fetch.
  public func fetch<Object>(_ request: ObjectRequest<Object>) -> Fetch<Object> {
    var request = request
    request.parameters.failure = request.failure
    return Fetch(request, in: self)
  }
}

extension ObjectContext {
  /// Returns the entity that a request names.
  fileprivate func entity<Object: ManagedObject>(
    named name: String, as type: Object.Type
  ) throws -> EntityMapping {
    if type == DynamicObject.self { return try core.entity(named: name) }
    let entity = try core.mapping.known(name)
    guard ClassProof<Object>(maps[entity.index]) != nil else {
      throw StoreError.predicate(
        PredicateError(
          "the request is for \(name), but its objects are not of the class \(type)", entity: name))
    }
    return entity
  }

  /// Returns a request with the final ids of those of its new objects that were saved.
  func settled(_ request: FetchParameters) -> FetchParameters {
    let own = Set(maps.all.map { ObjectIdentifier($0) })
    var copy = request
    copy.conditions = request.conditions.map { condition in
      guard condition.refersToNewObjects else { return condition }
      return condition.replacing { value in
        guard let map = value.map, own.contains(map), let entity = value.entity,
          case .integer(let temporary) = value.stored, let id = settledIDs.final(temporary)
        else { return value }
        return .id(id, of: entity, owner: value.owner, store: mark)
      }
    }
    return copy
  }
}
