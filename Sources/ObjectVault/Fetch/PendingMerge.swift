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
  private let pending: PendingObjects
  private let order: EvaluatedOrder
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
    let routes = evaluator.routes.union(order.routes)
    pending = try PendingObjects(
      context, of: Set(routes.compactMap { Self.end(of: $0, entity)?.entity.index } + [entity.index]))
    let own = pending.changed[entity.index]
    excluded = Set(own.lazy.filter { $0.state != .inserted }.map(\.rowID))
    for route in routes { excluded.formUnion(try owners(by: route)) }
    guard !excluded.isEmpty || !own.isEmpty else { return nil }
    // Who was only touched is asked anew: somebody else may have changed its row.
    var present = own.filter { $0.state == .inserted || ($0.state == .loaded && $0.overlay != nil) }
    let unknown = excluded.subtracting(present.lazy.map(\.rowID))
    present = try (present + rows(unknown.sorted())).filter(pending.isPresent)
    try prefetch(routes, of: present)
    let (all, pending) = (present, self.pending)
    matches = sorted(all.filter { evaluator.holds(for: PendingSubject(object: $0, pending: pending)) })
  }

  /// The request as the file takes it: for new objects of this context stands an id that no row has.
  private static func inFile(_ request: FetchParameters, _ context: ObjectContext) throws -> FetchParameters {
    guard !context.pending.inserted.isEmpty else { return request }
    let maps = Set(context.maps.map { ObjectIdentifier($0) })
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
    // What is wrong with the changes or the request is told behind.
    guard context.pending.deleted.isEmpty, context.faultErrors.isEmpty, context.failure == nil,
      request.failure == nil, context.pending.count <= fewObjects,
      (try? request.conditions.forEach { try $0.node.check() }) != nil
    else { return true }
    let schema = context.core.mapping.schema
    let evaluator = PredicateEvaluator(request.conditions, entity: entity.name, schema: schema)
    let sort = request.sort.map { ($0.names, $0.isDescending) }
    // Through relationships there are more ways than are quickly looked at.
    guard evaluator.routes.isEmpty, !evaluator.asksForNumbersOfIDs,
      EvaluatedOrder(sort, entity: entity.name, schema: schema).routes.isEmpty
    else { return true }
    if context.pending.updated.contains(where: { $0.entity === entity && $0.overlay != nil }) { return true }
    return context.pending.inserted.contains { object in
      object.entity === entity && evaluator.holds(for: PlainSubject(object: object))
    }
  }

  private static func compiled(
    _ selection: Selection, _ request: FetchParameters, _ entity: EntityMapping, _ context: ObjectContext
  ) throws -> CompiledFetch {
    try context.core.plans[entity.index].compiled(selection, request, in: context.core.mark)
  }

  // MARK: Who is asked in memory

  /// The ids of objects that lead to changed ones by a route, in the file.
  private func owners(by route: [String]) throws -> [Int64] {
    var (end, isToMany) = (entity, false)
    for name in route {
      guard let slot = end.slot(named: name), let relationship = end.slots[slot].relationship else {
        return []
      }
      isToMany = isToMany || relationship.isToMany
      end = relationship.destination
    }
    var found: [Int64] = []
    let far = pending.changed[end.index].filter { $0.state != .inserted && $0.rowID > 0 }
    for some in far.chunked(PredicateError.maximumListCount) {
      let ids = some.map { PredicateOperand.value(.id($0.rowID)) }
      let node =
        isToMany
        ? PredicateNode.quantified(
          .any, PropertyPath(route), .isIn(.path(PropertyPath(depth: 1, [])), ids, []))
        : .isIn(.path(PropertyPath(route)), ids, [])
      found += try self.ids(FetchParameters(conditions: [FetchCondition(node: node)]))
    }
    return found
  }

  /// Where a route ends, and whether a to-many is on the way.
  private static func end(of route: [String], _ entity: EntityMapping) -> (
    entity: EntityMapping, isToMany: Bool
  )? {
    var (end, isToMany) = (entity, false)
    for name in route {
      guard let slot = end.slot(named: name), let relationship = end.slots[slot].relationship else {
        return nil
      }
      isToMany = isToMany || relationship.isToMany
      end = relationship.destination
    }
    return (end, isToMany)
  }

  private func rows(_ ids: [Int64]) throws -> [ManagedObject] {
    var found: [ManagedObject] = []
    for some in ids.chunked(PredicateError.maximumListCount) {
      found += try objects(FetchParameters(conditions: [Self.isOne(of: some)]))
    }
    return found
  }

  private static func isOne(of ids: [Int64], isNegated: Bool = false) -> FetchCondition {
    let node = PredicateNode.isIn(.path(PropertyPath([])), ids.map { .value(.id($0)) }, [])
    return FetchCondition(node: isNegated ? .not(node) : node)
  }

  /// Fetches what the routes lead to, step by step, so that no object asks for its own.
  private func prefetch(_ routes: Set<[String]>, of objects: [ManagedObject]) throws {
    guard objects.count > 1 else { return }
    var ends: [[String]: [ManagedObject]] = [[]: objects]
    for route in routes.sorted(by: { $0.count < $1.count }) {
      guard let name = route.last, let owners = ends[route.dropLast()],
        let slot = owners.first?.entity?.slot(named: name)
      else { continue }
      _ = try context.prefetch(slot, of: owners)
      ends[route] = Array(
        Set(
          owners.flatMap { owner in
            owner.entity?.isToOne[slot] == true
              ? owner.toOneTarget(slot).map { [$0] } ?? [] : Array(owner.loadedMembers(slot).members ?? [])
          }.filter(pending.isPresent)))
    }
  }

  // MARK: Order

  private typealias Ranked = (object: ManagedObject, values: [SQLValue], id: Int64)

  private func ranked(_ object: ManagedObject) -> Ranked {
    // New objects come behind all others, as they will.
    let id = object.rowID < 0 ? (1 << 62) - object.rowID : object.rowID
    let values =
      request.sort.isEmpty ? [] : order.values(of: PendingSubject(object: object, pending: pending))
    return (object, values, id)
  }

  private func precedes(_ left: Ranked, _ right: Ranked) -> Bool {
    let result = order.compare(left.values, right.values)
    return result == 0 ? left.id < right.id : result < 0
  }

  private func sorted(_ objects: [ManagedObject]) -> [ManagedObject] {
    objects.map(ranked).sorted(by: precedes).map(\.object)
  }

  private func merged(_ found: [ManagedObject]) throws -> [ManagedObject] {
    try prefetch(order.routes, of: found)
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
    return try context.objects(entity, compiled.text, compiled.bindings)
  }

  private func ids(_ request: FetchParameters) throws -> [Int64] {
    let compiled = try Self.compiled(.ids, request, entity, context)
    context.statistics.queries += 1
    return try context.withConnection { connection in
      try connection.query(sql: compiled.text, compiled.bindings) { $0.int64(0) }
    }
  }

  private func value(_ selection: Selection, _ request: FetchParameters) throws -> SQLValue? {
    let compiled = try Self.compiled(selection, request, entity, context)
    context.statistics.queries += 1
    return try context.withConnection { try $0.value(sql: compiled.text, compiled.bindings) }
  }
}
