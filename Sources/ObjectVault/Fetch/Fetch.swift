// The fetch builder: what is asked for, and the verbs that ask.

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
/// Each step returns a new fetch. Nothing is read before one of ``all()``, ``first()``, ``one()``, `ids()`,
/// ``count()``, ``exists()``. A fetch sees what the context's next save will leave: what is in the store, with all that
/// is pending. New objects have ids above all others there, in the order of their insertion. See
/// ``includingPending(_:)``.
public struct Fetch<Object: ManagedObject> {
  let context: ObjectContext
  var parameters = FetchParameters()
  /// The arguments of conditions, by index, that name objects which were new when they were given: a save gives them
  /// their ids.
  private var newObjects: [Int: [Any?]] = [:]
  private var includesPending = true

  /// The class that is fetched: `Object`, or one below it that is known at run time alone.
  private let type: Object.Type
  /// The name of what is fetched, where that is no class.
  private let entityName: String?

  init(_ context: ObjectContext, of type: Object.Type = Object.self, entityName: String? = nil) {
    self.context = context
    self.type = type
    self.entityName = entityName
  }

  // MARK: What to fetch

  /// Only objects for which the predicate holds, and all earlier ones.
  /// - Throws: ``StoreError/predicate(_:)`` for an expression that has no counterpart in SQL.
  public consuming func `where`(_ predicate: Predicate<Object>) throws -> Fetch {
    // Consuming: a fetch that is built in one go is handed on, and not copied at each step.
    parameters.add(try PredicateTemplate.condition(of: predicate))
    return self
  }

  /// Only objects for which the predicate in the format language holds.
  /// - Throws: ``StoreError/predicate(_:)`` with the position in the text.
  public func `where`(_ format: String, _ arguments: Any?...) throws -> Fetch {
    var copy = adding(try FetchCondition(format: format, arguments))
    if arguments.contains(where: PredicateArgument.isNew) {
      copy.newObjects[copy.parameters.conditions.count - 1] = arguments
    }
    return copy
  }

  /// Only objects for which the condition holds.
  public func `where`(_ node: PredicateNode) -> Fetch { adding(FetchCondition(node: node)) }

  private consuming func adding(_ condition: FetchCondition) -> Fetch {
    parameters.add(condition)
    return self
  }

  /// Sorted by a property, through to-ones if need be, after the keys given before. Strings sort by code
  /// points, nil comes first. Objects that all keys find equal are in the order of their ids, in the direction of the
  /// last key, so that pages by ``limit(_:)`` and ``offset(_:)`` neither overlap nor leave anybody out.
  public func sorted(by path: PartialKeyPath<Object>, _ order: SortOrder = .forward) -> Fetch {
    resolving(path) { $0.sort.append(.init(names: $1, isDescending: order == .reverse)) }
  }

  /// Fetches a relationship of all results along with them, one query for each. A path of
  /// several relationships fetches each of them.
  public func prefetch(_ path: PartialKeyPath<Object>) -> Fetch {
    resolving(path) { $0.prefetch.append($1) }
  }

  /// A builder does not throw: what is wrong with a key path is thrown by the verbs.
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

  /// At most so many objects: of a sorted fetch the first ones. Without a sort they are those with the lowest ids where there
  /// is no condition either, and else those that are found first.
  public func limit(_ count: Int) -> Fetch {
    var copy = self
    copy.parameters.limit = max(0, count)
    return copy
  }

  /// Without the first so many objects, which are read all the same: see <doc:predicates> for pages that read no row twice.
  public func offset(_ count: Int) -> Fetch {
    var copy = self
    copy.parameters.offset = max(0, count)
    return copy
  }

  /// Whether what is pending in the context takes part, which it does unless this is called with `false`.
  ///
  /// SQL finds what is in the store. Objects with pending changes, and objects whose relationships lead the predicate
  /// or the sort to such ones, are asked in memory: their rows are fetched, and what the predicate asks of their
  /// relationships. Objects that go with deleted ones by their delete rules are gone.
  ///
  /// That costs as much as there are such objects, and nothing where nothing is pending. An equality on an attribute or a to-one looks
  /// at the pending objects with that value alone, so that find-or-create by a key takes as long at the end of a loop as at its
  /// beginning: <doc:predicates> says when. After thousands of changes a ``ObjectContext/save()`` makes other fetches cheap again.
  ///
  /// With `false` stored rows are found by their stored values, without those that were deleted in the context. Inside
  /// ``Store/write(_:)`` what ``ObjectContext/save()`` has written counts as stored.
  public func includingPending(_ isIncluding: Bool) -> Fetch {
    var copy = self
    copy.includesPending = isIncluding
    return copy
  }

  // MARK: Fetching

  /// All objects, in order.
  ///
  /// All objects of a large table, without a condition, sort or limit, are read by two connections at once where a second
  /// core and a second reader are free; see ``ObjectContext/statistics``.
  /// - Throws: ``StoreError/predicate(_:)``, ``StoreError/unknownEntity(name:)``; ``SQLError``.
  public func all() throws -> [Object] {
    let entity = try known()
    return try atOneMoment(entity) { try all(entity) }
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

  /// The first object, or nil.
  public func first() throws -> Object? { try atMost(1).all().first }

  /// The only object.
  /// - Throws: ``StoreError/noResult(entity:)``, ``StoreError/severalResults(entity:)``; what ``all()`` throws.
  public func one() throws -> Object {
    let found = try atMost(2).all()
    guard found.count < 2 else { throw StoreError.severalResults(entity: name) }
    guard let object = found.first else { throw StoreError.noResult(entity: name) }
    return object
  }

  /// How many objects there are, at most the limit.
  public func count() throws -> Int {
    let entity = try known()
    return try atOneMoment(entity) {
      if let merge = try merge(entity) { return try merge.count() }
      return Int(try value(try compiled(.count, entity))?.int64 ?? 0)
    }
  }

  /// Whether there is any such object.
  public func exists() throws -> Bool {
    let entity = try known()
    return try atOneMoment(entity) {
      if let merge = try atMost(1).merge(entity) { return try merge.exists() }
      return try value(try atMost(1).compiled(.existence, entity)) != nil
    }
  }

  /// The ids of the objects, in the order of a sorted fetch; no object is made but for what is pending. Those of new objects are
  /// temporary.
  ///
  /// Without a sort they come as an index gives them that knows them without the rows, which may be in another order than those of
  /// ``all()``: who takes a window of them sorts.
  public func ids() throws -> [ObjectID<Object>] {
    try rowIDs { ObjectID(rowID: $0, of: context.mark(of: $0)) }
  }

  func rowIDs<ID>(_ make: (Int64) -> ID) throws -> [ID] {
    let entity = try known()
    return try atOneMoment(entity) {
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

  // MARK: Inside

  private func atMost(_ count: Int) -> Fetch { limit(min(count, parameters.limit ?? count)) }

  /// The request as it is now, with the ids that new objects have got meanwhile.
  private func current() throws -> FetchParameters {
    guard !newObjects.isEmpty else { return parameters }
    var copy = parameters
    for (index, arguments) in newObjects {
      guard let format = copy.conditions[index].format else { continue }
      copy.conditions[index] = try FetchCondition(format: format, arguments)
    }
    return copy
  }

  /// Lets what asks the file more than once, for pending changes or to prefetch, see it as it is at one moment.
  private func atOneMoment<Result>(_ entity: EntityMapping, _ body: () throws -> Result) throws -> Result {
    if context.pending.mayBeLive, !includesPending {
      context.index.update(context.pending)
      return try context.withPendingRows([context.index.deletedRows(of: entity)], body)
    }
    return context.pending.mayBeLive || !parameters.prefetch.isEmpty
      ? try context.withSnapshot(body) : try body()
  }

  /// What memory has a part in; nil where nothing is pending.
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
    // As mostly: the request as it stands, which is not copied.
    guard !newObjects.isEmpty || context.pending.mayBeLive else {
      return try plans.compiled(selection, parameters, in: context.core.mark)
    }
    var request = try PendingMerge.inFile(try current(), context)
    request.leavesOutPending = !includesPending && !context.pending.deleted.isEmpty
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
            "\(entity.name).\(name) is no relationship and cannot be prefetched", entity: entity.name))
      }
      try context.prefetch(relationship, of: owners)
      entity = relationship.destination
      if index + 1 < path.count { owners = context.otherEnds(relationship, of: owners) }
    }
  }
}

extension ObjectContext {
  /// A fetch of all objects of an entity, to be narrowed down.
  ///
  /// The entity is that of the class that is given, also where the code knows of a class above it only: with
  /// `let type: Person.Type = Manager.self` managers are fetched, as `insert(type)` makes one.
  public func fetch<Object: ManagedObject>(_ type: Object.Type) -> Fetch<Object> {
    Fetch(self, of: type)
  }
}
