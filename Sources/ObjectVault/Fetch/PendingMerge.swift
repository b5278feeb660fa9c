// A fetch in a context with pending changes: what SQL finds, without those whose part it cannot tell, and those of them
// for which the predicate holds in memory.
//
// Who they are: objects with pending changes, and objects that lead to such ones on a way that the predicate or the
// sort takes. On the way from any other object there is none that changed, so that the file has it as memory has it.
// The first changed one on a way is thus found by asking the file who leads to it.

internal import CipherSQLite

/// The part of memory in one fetch.
struct PendingMerge {
  private let context: ObjectContext
  private let entity: EntityMapping
  private let request: FetchParameters
  private let view: PendingView
  private let order: EvaluatedOrder
  /// The ways that the predicate or the sort takes, the short ones first.
  private let routes: [[RelationshipMapping]]
  /// Whom the statement leaves out.
  private var excluded: Set<Int64> = []
  /// Those for which the predicate holds, in order.
  private(set) var matches: [ManagedObject] = []

  /// - Returns: nil when nothing that is pending concerns the fetch.
  /// - Throws: ``StoreError/predicate(_:)``; ``SQLError``.
  init?(_ request: FetchParameters, on entity: EntityMapping, in context: ObjectContext) throws {
    (self.context, self.entity) = (context, entity)
    // Whatever is wrong with the request, the compiler says.
    self.request = try Self.inFile(request, context)
    _ = try Self.compiled(.objects, self.request, entity, context)
    let schema = context.core.mapping.schema
    let evaluator = PredicateEvaluator(request.conditions, entity: entity.name, schema: schema)
    order = EvaluatedOrder(
      request.sort.map { ($0.names, $0.isDescending) }, entity: entity.name, schema: schema)
    let names = evaluator.routes.union(order.routes)
    guard Self.restsOnPending(request, names, on: entity, in: context) else { return nil }
    let routes = names.compactMap { Self.steps($0, entity) }.sorted { $0.count < $1.count }
    let view = try PendingView(
      context,
      of: Set((routes.compactMap { $0.last?.destination } + [entity]).flatMap { $0.branch.map(\.index) }))
    self.view = view
    self.routes = routes
    let own = view.changed(entity).filter { Self.isAsked(entity, request, $0) }
    excluded = view.rows(of: entity)
    for route in routes { excluded.formUnion(try owners(by: route)) }
    guard !excluded.isEmpty || !own.isEmpty else { return nil }
    // Who was only touched is asked anew: somebody else may have changed its row.
    var present = own.filter { $0.state == .inserted || ($0.state == .loaded && $0.overlay != nil) }
    let unknown = excluded.subtracting(present.lazy.map(\.rowID)).subtracting(view.doomedRows(of: entity))
    present = try (present + rows(unknown.sorted())).filter(view.isPresent)
    try follow(routes, of: present)
    matches = sorted(present.filter { evaluator.holds(for: PendingSubject(object: $0, view: view)) })
  }

  /// The request as the file takes it: new objects of this context are replaced by an id that no row has.
  static func inFile(_ request: FetchParameters, _ context: ObjectContext) throws -> FetchParameters {
    guard context.pending.mayHaveInserted else { return request }
    let maps = Set(context.maps.all.map { ObjectIdentifier($0) })
    var copy = request
    copy.conditions = request.conditions.map { condition in
      // What is too large, the compiler refuses.
      guard (try? condition.node.check()) != nil else { return condition }
      return condition.replacing { value in
        guard let map = value.map, maps.contains(map) else { return value }
        var absent = value
        absent.stored = .integer(Int64.max)
        return absent
      }
    }
    return copy
  }

  /// With more pending objects than these, a writing transaction writes them rather than look at each of them.
  private static let fewObjects = 64

  /// Whether what is pending in a writing transaction may change what a fetch finds, as far as that is quickly said.
  static func isConcerned(
    _ request: FetchParameters, on entity: EntityMapping, in context: ObjectContext
  ) -> Bool {
    // What is wrong with the changes or the request is reported after the flush.
    guard context.faultErrors.isEmpty, context.failure == nil, request.failure == nil,
      (try? request.conditions.forEach { try $0.node.check() }) != nil
    else { return true }
    let schema = context.core.mapping.schema
    let evaluator = PredicateEvaluator(request.conditions, entity: entity.name, schema: schema)
    let sort = request.sort.map { ($0.names, $0.isDescending) }
    let routes = evaluator.routes.union(EvaluatedOrder(sort, entity: entity.name, schema: schema).routes)
    guard restsOnPending(request, routes, on: entity, in: context) else { return false }
    // Through relationships there are more ways than are quickly looked at.
    guard context.pending.deleted.isEmpty, context.pending.count <= fewObjects, routes.isEmpty,
      !evaluator.asksForNumbersOfIDs
    else { return true }
    if context.pending.updated.contains(where: { entity.includes($0.entity) && $0.overlay != nil }) {
      return true
    }
    return context.pending.inserted.contains { object in
      isAsked(entity, request, object) && evaluator.holds(for: PlainSubject(object: object))
    }
  }

  /// Whether anything that is pending concerns an entity that a fetch looks at: what it finds rests on the rows and the links of
  /// these, and on nothing else. Takes the same time however many objects are pending.
  private static func restsOnPending(
    _ request: FetchParameters, _ routes: Set<[String]>, on entity: EntityMapping, in context: ObjectContext
  ) -> Bool {
    var asked = Set(entity.branch.map(\.index))
    for step in routes.union(request.prefetch).flatMap({ steps($0, entity) ?? [] }) {
      asked.formUnion(step.destination.branch.map(\.index))
    }
    return !asked.isDisjoint(with: context.entitiesPending)
  }

  private static func compiled(
    _ selection: Selection, _ request: FetchParameters, _ entity: EntityMapping, _ context: ObjectContext
  ) throws -> CompiledFetch {
    try context.core.plans[entity.index].compiled(selection, request, in: context.core.mark)
  }

  // MARK: Who is asked in memory

  /// The relationships that a route leads through; nil where it leads nowhere, which the compiler says.
  private static func steps(_ route: [String], _ entity: EntityMapping) -> [RelationshipMapping]? {
    var (end, steps): (EntityMapping, [RelationshipMapping]) = (entity, [])
    for name in route {
      guard let slot = end.slot(named: name), let relationship = end.slots[slot].relationship else {
        return nil
      }
      steps.append(relationship)
      end = relationship.destination
    }
    return steps
  }

  /// The ids of objects that lead to changed ones by a route, in the file: from the end of the route back, step by step.
  private func owners(by route: [RelationshipMapping]) throws -> Set<Int64> {
    guard let end = route.last?.destination else { return [] }
    var ids = view.rows(of: end)
    for relationship in route.reversed() where !ids.isEmpty {
      ids = try view.owners(relationship, leadingTo: ids)
    }
    return ids
  }

  private func rows(_ ids: [Int64]) throws -> [ManagedObject] {
    var found: [ManagedObject] = []
    for some in ids.chunked(PredicateError.maximumListCount) {
      var inner = FetchParameters(conditions: [Self.isOne(of: some)])
      inner.includesSubentities = request.includesSubentities
      found += try objects(inner)
    }
    return found
  }

  /// Whether an object is of the entity that the fetch asks for.
  private static func isAsked(
    _ entity: EntityMapping, _ request: FetchParameters, _ object: ManagedObject
  ) -> Bool {
    request.includesSubentities ? entity.includes(object.entity) : object.entity === entity
  }

  private static func isOne(of ids: [Int64], isNegated: Bool = false) -> FetchCondition {
    let node = PredicateNode.isIn(.path(PropertyPath([])), ids.map { .value(.id($0)) }, [])
    return FetchCondition(node: isNegated ? .not(node) : node)
  }

  /// Reads what the routes lead to, step by step, so that no object asks for its own.
  private func follow(_ routes: [[RelationshipMapping]], of objects: [ManagedObject]) throws {
    guard !objects.isEmpty else { return }
    var ends: [[SlotPlace]: [ManagedObject]] = [[]: objects]
    for route in routes {
      let places = route.map { SlotPlace(entity: $0.owner.index, slot: $0.slot) }
      guard let relationship = route.last, let owners = ends[places.dropLast()] else { continue }
      ends[places] = try view.follow(relationship, of: owners)
    }
  }

  // MARK: Order

  private typealias Ranked = (object: ManagedObject, values: [SQLValue], id: Int64)

  private func ranked(_ object: ManagedObject) -> Ranked {
    // New objects come behind all others, as they will.
    let id = object.rowID < 0 ? (1 << 62) - object.rowID : object.rowID
    let values =
      request.sort.isEmpty ? [] : order.values(of: PendingSubject(object: object, view: view))
    return (object, values, id)
  }

  private func precedes(_ left: Ranked, _ right: Ranked) -> Bool {
    let result = order.compare(left.values, right.values)
    guard result == 0 else { return result < 0 }
    return request.sort.last?.isDescending == true ? left.id > right.id : left.id < right.id
  }

  private func sorted(_ objects: [ManagedObject]) -> [ManagedObject] {
    objects.map(ranked).sorted(by: precedes).map(\.object)
  }

  private func merged(_ found: [ManagedObject]) throws -> [ManagedObject] {
    try follow(routes.filter { order.routes.contains($0.map(\.name)) }, of: found)
    var result: [ManagedObject] = []
    result.reserveCapacity(found.count + matches.count)
    var waiting = matches.map(ranked)[...]
    for next in found.lazy.map(ranked) {
      while let first = waiting.first, precedes(first, next) {
        result.append(first.object)
        waiting.removeFirst()
      }
      result.append(next.object)
    }
    return result + waiting.map(\.object)
  }

  // MARK: Verbs

  func all() throws -> [ManagedObject] {
    var inner = outside
    if matches.isEmpty { return try objects(inner) }
    inner.offset = 0
    inner.limit = request.limit.flatMap { limit in
      let (sum, overflows) = limit.addingReportingOverflow(request.offset)
      return overflows ? nil : sum
    }
    let all = try merged(try objects(inner))
    return Array(all.dropFirst(request.offset).prefix(request.limit ?? Int.max))
  }

  func count() throws -> Int {
    var inner = outside
    if matches.isEmpty { return Int(try value(.count, inner)?.int64 ?? 0) }
    (inner.limit, inner.offset) = (nil, 0)
    let count = Int(try value(.count, inner)?.int64 ?? 0) + matches.count
    return min(max(0, count - request.offset), request.limit ?? Int.max)
  }

  func exists() throws -> Bool {
    guard request.limit != 0 else { return false }
    guard !matches.isEmpty else { return try value(.existence, outside) != nil }
    return try request.offset < matches.count || count() > 0
  }

  func ids() throws -> [Int64] { try matches.isEmpty ? ids(outside) : all().map(\.rowID) }

  /// The request without those that memory decides about.
  private var outside: FetchParameters {
    var copy = request
    for some in excluded.sorted().chunked(PredicateError.maximumListCount) {
      copy.conditions.append(Self.isOne(of: some, isNegated: true))
    }
    return copy
  }

  private func objects(_ request: FetchParameters) throws -> [ManagedObject] {
    let compiled = try Self.compiled(.objects, request, entity, context)
    return try context.objects(entity, compiled, isBranch: request.includesSubentities)
  }

  private func ids(_ request: FetchParameters) throws -> [Int64] {
    let compiled = try Self.compiled(.ids, request, entity, context)
    return try context.ids(compiled.text, compiled.bindings)
  }

  private func value(_ selection: Selection, _ request: FetchParameters) throws -> SQLValue? {
    let compiled = try Self.compiled(selection, request, entity, context)
    context.statistics.queries += 1
    return try context.withConnection { try $0.value(sql: compiled.text, compiled.bindings) }
  }
}
