// The fetch builder, and the methods that run a fetch.

internal import CipherSQLite
public import Foundation

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
/// Each step returns a new fetch. Nothing is read before one of ``all()``, ``first()``, ``one()``,
/// `ids()`, ``count()``, ``exists()`` is called. A fetch returns what the store will contain after the
/// context's next save: the stored objects with all pending changes. New objects have ids above all
/// others, in the order of their insertion. See ``includingPending(_:)``.
public struct Fetch<Object: ManagedObject> {
  let context: ObjectContext
  var parameters = FetchParameters()
  /// The arguments of each condition that refers to new objects, by the condition's index. A save changes
  /// the ids of these objects.
  private var newObjects: [Int: [Any?]] = [:]
  private var includesPending = true

  /// The fetched class: `Object`, or a subclass that is known only at run time.
  private let type: Object.Type
  /// The name of the fetched entity in a store without classes.
  private let entityName: String?

  init(_ context: ObjectContext, of type: Object.Type = Object.self, entityName: String? = nil) {
    self.context = context
    self.type = type
    self.entityName = entityName
  }

  // MARK: What to fetch

  /// Adds a predicate. Only objects that satisfy it and all earlier conditions are fetched.
  /// - Parameter predicate: The predicate.
  /// - Returns: The narrowed fetch.
  /// - Throws: ``StoreError/predicate(_:)`` for an expression that has no counterpart in SQL.
  public consuming func `where`(_ predicate: Predicate<Object>) throws -> Fetch {
    // Consuming: a fetch that is built in one expression is moved, not copied at each step.
    parameters.add(try PredicateTemplate.condition(of: predicate))
    return self
  }

  /// Adds a predicate in the format language.
  /// - Parameters:
  ///   - format: The text of the predicate.
  ///   - arguments: The values for the placeholders, in their order.
  /// - Returns: The narrowed fetch.
  /// - Throws: ``StoreError/predicate(_:)`` with the position in the text.
  public func `where`(_ format: String, _ arguments: Any?...) throws -> Fetch {
    var copy = adding(try FetchCondition(format: format, arguments))
    if arguments.contains(where: PredicateArgument.isNew) {
      copy.newObjects[copy.parameters.conditions.count - 1] = arguments
    }
    return copy
  }

  /// Adds a condition as a tree.
  /// - Parameter node: The condition.
  /// - Returns: The narrowed fetch.
  public func `where`(_ node: PredicateNode) -> Fetch { adding(FetchCondition(node: node)) }

  private consuming func adding(_ condition: FetchCondition) -> Fetch {
    parameters.add(condition)
    return self
  }

  /// Sorts by a property, after the keys given before.
  ///
  /// Strings are sorted by code points; nil comes first. Objects with equal keys are sorted by their ids,
  /// in the direction of the last key, so that pages by ``limit(_:)`` and ``offset(_:)`` neither overlap
  /// nor omit objects.
  /// - Parameters:
  ///   - path: The property, or a path through to-ones.
  ///   - order: The direction.
  /// - Returns: The sorted fetch.
  public func sorted(by path: PartialKeyPath<Object>, _ order: SortOrder = .forward) -> Fetch {
    resolving(path) { $0.sort.append(.init(names: $1, isDescending: order == .reverse)) }
  }

  /// Fetches a relationship of all results with one more query.
  /// - Parameter path: The relationship. For a path of several relationships each is fetched.
  /// - Returns: The fetch with the relationship.
  public func prefetch(_ path: PartialKeyPath<Object>) -> Fetch {
    resolving(path) { $0.prefetch.append($1) }
  }

  /// Resolves a key path and adds its names. An invalid key path is stored; `all()`, `first()` and the
  /// others throw it.
  private func resolving(
    _ path: PartialKeyPath<Object>, _ use: (inout FetchParameters, [String]) -> Void
  ) -> Fetch {
    var copy = self
    switch KeyPathResolver.resolve(path, root: Object.self) {
    case .success(let names): use(&copy.parameters, names)
    case .failure(let error):
      if copy.parameters.failure == nil {
        copy.parameters.failure = .predicate(PredicateError(error.description, entity: "\(Object.self)"))
      }
    }
    return copy
  }

  /// Limits the number of objects.
  ///
  /// A sorted fetch returns the first objects of its order. With neither a sort nor a condition the
  /// objects with the lowest ids are returned; with a condition alone, those that are found first.
  /// - Parameter count: The highest number of objects.
  /// - Returns: The limited fetch.
  public func limit(_ count: Int) -> Fetch {
    var copy = self
    copy.parameters.limit = max(0, count)
    return copy
  }

  /// Skips the first objects, which are read nevertheless. <doc:predicates> shows pages that read no row
  /// twice.
  /// - Parameter count: The number of objects to skip.
  /// - Returns: The fetch with the offset.
  public func offset(_ count: Int) -> Fetch {
    var copy = self
    copy.parameters.offset = max(0, count)
    return copy
  }

  /// Sets whether pending changes of the context are included. By default they are.
  ///
  /// SQL finds stored rows. Some objects are evaluated in memory: those with pending changes, and those
  /// whose relationships in the predicate or the sort refer to such objects. The rows of these objects,
  /// and of the objects in these relationships, are fetched. Objects that pending deletions cascade to
  /// are excluded.
  ///
  /// The cost is in proportion to the number of such objects, and zero where nothing is pending. An
  /// equality on an attribute or a to-one examines only the pending objects with that value, so that
  /// find-or-create by a key takes as long at the end of a loop as at its beginning: <doc:predicates>
  /// states when. After thousands of changes a ``ObjectContext/save()`` makes other fetches cheap again.
  ///
  /// With `false` stored rows are found by their stored values; objects that were deleted in the context
  /// are excluded. Inside ``Store/write(_:)`` everything that ``ObjectContext/save()`` has written counts
  /// as stored.
  /// - Parameter isIncluding: Whether to include pending changes.
  /// - Returns: The fetch with the setting.
  public func includingPending(_ isIncluding: Bool) -> Fetch {
    var copy = self
    copy.includesPending = isIncluding
    return copy
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

  private func all(_ entity: EntityMapping) throws -> [Object] {
    let typed = try context.proof(Object.self, entity)
    let found: [ManagedObject]
    if let merge = try merge(entity) {
      found = try merge.all()
    } else {
      let compiled = try compiled(.objects, entity)
      found = try context.scan(entity).objects(
        compiled.form, compiled.bindings, isBranch: parameters.includesSubentities)
    }
    for path in parameters.prefetch { try prefetch(path, of: found, entity) }
    return typed(found)
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
    guard found.count < 2 else { throw StoreError.severalResults(entity: name) }
    guard let object = found.first else { throw StoreError.noResult(entity: name) }
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
      if let merge = try merge(entity) { return try merge.ids().map(make) }
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
  private func current() throws -> FetchParameters {
    guard !newObjects.isEmpty else { return parameters }
    var copy = parameters
    for (index, arguments) in newObjects {
      guard let format = copy.conditions[index].format else { continue }
      copy.conditions[index] = try FetchCondition(format: format, arguments)
    }
    return copy
  }

  /// Runs `body` in one snapshot of the file if it needs several queries, for pending changes or
  /// prefetches.
  private func inOneSnapshot<Result>(_ entity: EntityMapping, _ body: () throws -> Result) throws -> Result {
    if context.pending.mayBeLive, !includesPending {
      context.index.update(context.pending)
      return try context.withPendingRows([context.index.deletedRows(of: entity)], body)
    }
    return context.pending.mayBeLive || !parameters.prefetch.isEmpty
      ? try context.withSnapshot(body) : try body()
  }

  /// Returns the merge with pending objects; nil if no pending change affects the fetch.
  private func merge(_ entity: EntityMapping) throws -> PendingMerge? {
    guard includesPending, context.pending.mayBeLive else { return nil }
    return try PendingMerge(try current(), on: entity, in: context)
  }

  private var name: String { entityName ?? "\(type)" }

  func known() throws -> EntityMapping {
    if let entityName { return try context.core.entity(named: entityName) }
    if let entity = context.entity(of: type) { return entity }
    throw StoreError.unknownEntity(name: name)
  }

  private func compiled(_ selection: Selection, _ entity: EntityMapping) throws -> CompiledFetch {
    let plans = context.core.plans[entity.index]
    // The usual case: the request is used as it is and not copied.
    guard !newObjects.isEmpty || context.pending.mayBeLive else {
      return try plans.compiled(selection, parameters, in: context.core.mark)
    }
    var request = try PendingMerge.inFile(try current(), context)
    request.excludesPending = !includesPending && !context.pending.deleted.isEmpty
    return try plans.compiled(selection, request, in: context.core.mark)
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
        throw StoreError.predicate(
          PredicateError(
            "\(entity.name).\(name) is not a relationship and cannot be prefetched", entity: entity.name))
      }
      try context.prefetch(relationship, of: owners)
      entity = relationship.destination
      if index + 1 < path.count { owners = context.otherEnds(relationship, of: owners) }
    }
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
    Fetch(self, of: type)
  }
}
