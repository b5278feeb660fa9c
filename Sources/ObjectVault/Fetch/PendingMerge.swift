// A fetch in a context with pending changes. SQL finds the rows that pending changes do not affect; the
// other objects are evaluated in memory, and the two results are merged.
//
// A route is a path of relationships that the predicate or the sort follows. An object is evaluated in
// memory if it has pending changes, or if it refers to an object with pending changes by a route. For all
// other objects the file has the present values. To find the objects that refer to a changed object by a
// route, the file is queried backwards along the route.

internal import CipherSQLite

/// The part of one fetch that is evaluated in memory.
struct PendingMerge {
  let context: ObjectContext
  let entity: EntityMapping
  let request: FetchParameters
  let order: EvaluatedOrder
  /// The values that the fetch selects of each object, if it returns values.
  let columns: EvaluatedColumns
  private let ground: EvaluationContext
  /// The matches in computed values.
  private let run: MatchRun
  /// The relationships that the predicate or the sort follows, short routes first; empty if no route
  /// needs more than the target's id.
  private let routes: [[RelationshipMapping]]
  /// The ids of rows that the statement excludes. The first of these sets may be large; it is passed
  /// without a copy.
  private let excluded: [Set<Int64>]
  /// The evaluated objects that satisfy the predicate, in order.
  private(set) var matches: [ManagedObject] = []

  /// Evaluates the predicate on all objects that SQL cannot decide about.
  /// - Parameter columns: The values that ``values(of:)`` returns.
  /// - Returns: nil when no pending change affects the fetch.
  /// - Throws: ``StoreError/predicate(_:)``; ``SQLError``.
  init?(
    _ request: FetchParameters, selecting columns: [PredicateOperand] = [], on entity: EntityMapping,
    in context: ObjectContext
  ) throws {
    (self.context, self.entity) = (context, entity)
    // The compiler reports errors in the request.
    self.request = try Self.inFile(request, context)
    _ = try Self.compiled(.objects, request: self.request, on: entity, in: context)
    let schema = context.core.mapping.schema
    let evaluator = PredicateEvaluator(
      request.conditions, entity: entity.name, schema: schema, matchLimit: context.core.matchLimit)
    run = MatchRun(limit: context.core.matchLimit)
    order = EvaluatedOrder(request.sort, entity: entity.name, schema: schema, matches: run)
    self.columns = EvaluatedColumns(columns, entity: entity.name, schema: schema, matches: run)
    let names = evaluator.routes.union(order.routes).union(self.columns.routes)
    guard Self.dependsOnPending(request, names, on: entity, in: context) else { return nil }
    context.index.update(context.pending)
    let all = names.compactMap { Self.steps($0, entity) }.filter { !$0.isEmpty }.sorted {
      $0.count < $1.count
    }
    let reader = ContextReader(context: context)
    var related = RelatedRows(context.pending, maps: context.maps, reader: reader, index: context.index)
    var deletion = PlannedDeletion(entityCount: context.maps.count)
    if Self.mayLose([entity] + all.compactMap { $0.last?.destination }, context) {
      try related.followCascades(of: context.pending.deletedIDs(), in: context.core.mapping, into: &deletion)
    }
    var present: [ManagedObject]
    if evaluator.deepRoutes.isEmpty, order.deepRoutes.isEmpty, self.columns.deepRoutes.isEmpty {
      (routes, ground) = ([], EvaluationContext(context, after: deletion, view: nil))
      let (changed, going) = (context.index.rows(of: entity), Set(deletion.branchRows(entity)))
      // In the file, rows that refer to a deleted row still have that reference.
      let losing = try all.reduce(into: Set<Int64>()) { losing, route in
        losing.formUnion(
          try Self.owners(by: route, to: Set(deletion.branchRows(route[0].destination)), reader))
      }.filter { !changed.contains($0) && !going.contains($0) }
      excluded = [changed, going, losing].filter { !$0.isEmpty }
      present = Self.candidates(evaluator.requiredValues, of: entity, after: deletion, in: context)
      present += try rows(losing.sorted())
    } else {
      let view = PendingView(
        context,
        of: Set(([entity] + all.compactMap { $0.last?.destination }).flatMap { $0.branch.map(\.index) }),
        related: related, after: deletion)
      (routes, ground) = (all, EvaluationContext(context, after: deletion, view: view))
      let left = try all.reduce(into: view.rows(of: entity)) { left, route in
        guard let end = route.last?.destination else { return }
        left.formUnion(try Self.owners(by: route, to: view.rows(of: end), reader))
      }
      excluded = left.isEmpty ? [] : [left]
      // An object of which only the members have changed is read again: its row may be newer than the one
      // in memory.
      present = view.changed(entity).filter {
        $0.state == .inserted || ($0.state == .loaded && $0.overlay != nil)
      }
      let unknown = left.subtracting(present.lazy.map(\.rowID)).subtracting(deletion.branchRows(entity))
      present += try rows(unknown.sorted())
    }
    present = present.filter { deletion.leaves($0) && Self.isAsked(entity, by: request, object: $0) }
    try follow(routes, of: present)
    for slot in request.lazySlots(of: entity) { try context.prefetch(lazy: slot, of: present, entity) }
    matches = sorted(present.filter { evaluator.holds(for: PendingSubject($0, on: ground)) })
    if let failure = evaluator.failure { throw failure }
    try checkMatches()
    if excluded.isEmpty, matches.isEmpty { return nil }
  }

  /// Returns whether deletions may cascade to the first entity, or delete rows of the others at all.
  /// Subentities are included. Direct deletions of the first entity do not count: the index of pending
  /// objects has them.
  private static func mayLose(_ entities: [EntityMapping], _ context: ObjectContext) -> Bool {
    guard !context.pending.deleted.isEmpty else { return false }
    let own = Set(entities[0].branch.map(\.index))
    let others = entities.dropFirst().flatMap { $0.branch.map(\.index) }
    return !context.entitiesInCascades.isDisjoint(with: own)
      || !context.entitiesWithDeletions.isDisjoint(with: others)
  }

  /// Returns the new and changed objects that may satisfy the predicate.
  private static func candidates(
    _ required: [(name: String, value: SQLValue)], of entity: EntityMapping, after deletion: PlannedDeletion,
    in context: ObjectContext
  ) -> [ManagedObject] {
    let choices = required.compactMap { name, value in
      storedForms(value, of: name, entity: entity, after: deletion, in: context).map {
        (name: name, values: $0)
      }
    }
    let counts = choices.map { context.index.count(of: entity, where: $0.name, isOneOf: $0.values) }
    guard let least = counts.indices.min(by: { counts[$0] < counts[$1] }) else {
      return context.index.objects(of: entity)
    }
    return context.index.objects(of: entity, where: choices[least].name, isOneOf: choices[least].values)
  }

  /// Returns the stored forms that a value of a property may have in pending objects. A to-one to a new
  /// object is stored as its temporary id, even if a final one was assigned.
  /// - Returns: The values; nil if any value is possible. For the value nil it may be: a to-one to a
  ///   deleted object, or to a new one that was removed, counts as nil.
  private static func storedForms(
    _ value: SQLValue, of name: String, entity: EntityMapping, after deletion: PlannedDeletion,
    in context: ObjectContext
  ) -> [SQLValue]? {
    guard let slot = entity.slot(named: name), let relationship = entity.slots[slot].relationship else {
      return [value]
    }
    if value.isNull, context.pending.mayReferToDiscarded || !deletion.isEmpty { return nil }
    let table = relationship.destination.root.index
    let temporary = value.int64.flatMap { context.pending.assignedIDs.temporary($0, table: table) }
    return temporary.map { [value, .integer($0)] } ?? [value]
  }

  /// Returns the request for the file: new objects of this context are replaced by an id that no row has.
  static func inFile(_ request: FetchParameters, _ context: ObjectContext) throws -> FetchParameters {
    guard !context.pending.inserted.isEmpty else { return request }
    let maps = Set(context.maps.all.map { ObjectIdentifier($0) })
    var copy = request
    copy.conditions = request.conditions.map { condition in
      // The compiler reports a condition that is too large.
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

  /// Returns whether a pending change affects an entity that the fetch uses; otherwise it does not affect
  /// the result. The cost does not depend on the number of pending objects.
  private static func dependsOnPending(
    _ request: FetchParameters, _ routes: Set<[String]>, on entity: EntityMapping, in context: ObjectContext
  ) -> Bool {
    var asked = Set(entity.branch.map(\.index))
    for step in routes.union(request.prefetch).flatMap({ steps($0, entity) ?? [] }) {
      asked.formUnion(step.destination.branch.map(\.index))
    }
    return !asked.isDisjoint(with: context.entitiesPending)
  }

  private static func compiled(
    _ selection: Selection, request: FetchParameters, on entity: EntityMapping, in context: ObjectContext
  ) throws -> CompiledFetch {
    try context.compiled(selection, request, on: entity)
  }

  // MARK: Objects to evaluate in memory

  /// Returns the relationships of a route; nil if one of its names is no relationship, which the compiler
  /// reports.
  private static func steps(_ route: [String], _ entity: EntityMapping) -> [RelationshipMapping]? {
    var (end, steps): (EntityMapping, [RelationshipMapping]) = (entity, [])
    for name in route {
      if case .cast(let child) = PathStep(name) {
        guard let next = end.relatives.first(where: { $0.name == child }) else { return nil }
        end = next
        continue
      }
      guard let slot = end.slot(named: name), let relationship = end.slots[slot].relationship else {
        return nil
      }
      steps.append(relationship)
      end = relationship.destination
    }
    return steps
  }

  /// Returns the ids of the rows in the file that refer to the given rows by a route. Queries follow the
  /// route backwards, one relationship at a time.
  private static func owners(
    by route: [RelationshipMapping], to rows: Set<Int64>, _ reader: ContextReader
  ) throws -> Set<Int64> {
    try route.reversed().reduce(rows) { ids, relationship in
      ids.isEmpty ? [] : try reader.owners(relationship, leadingTo: ids.sorted())
    }
  }

  private func rows(_ ids: [Int64]) throws -> [ManagedObject] {
    var found: [ManagedObject] = []
    for some in ids.chunked(PredicateError.maximumListCount) {
      var inner = FetchParameters(conditions: [.isOne(of: some)])
      inner.includesSubentities = request.includesSubentities
      found += try objects(inner)
    }
    return found
  }

  /// Returns whether an object is of the fetched entity, or of a subentity if the fetch includes these.
  private static func isAsked(
    _ entity: EntityMapping, by request: FetchParameters, object: ManagedObject
  ) -> Bool {
    request.includesSubentities ? entity.includes(object.entity) : object.entity === entity
  }

  /// Reads the objects along the routes, one relationship at a time for all objects, so that no fault is
  /// fired for a single object.
  private func follow(_ routes: [[RelationshipMapping]], of objects: [ManagedObject]) throws {
    guard !objects.isEmpty, let view = ground.view else { return }
    var ends: [[SlotPlace]: [ManagedObject]] = [[]: objects]
    for route in routes {
      let places = route.map { SlotPlace(entity: $0.owner.index, slot: $0.slot) }
      guard let relationship = route.last, let owners = ends[places.dropLast()] else { continue }
      ends[places] = try view.follow(relationship, of: owners)
    }
  }

  // MARK: Order

  /// An element of a result, with its place in the order.
  struct Ranked<Element> {
    let element: Element
    let values: [SQLValue]
    let id: Int64
  }

  func ranked(_ object: ManagedObject) -> Ranked<ManagedObject> {
    // New objects rank above all ids, as they will after the save.
    let id = IDOrder.rank(object.rowID)
    let values = request.sort.isEmpty ? [] : order.values(of: PendingSubject(object, on: ground))
    return Ranked(element: object, values: values, id: id)
  }

  private func precedes<Element>(_ left: Ranked<Element>, _ right: Ranked<Element>) -> Bool {
    let result = order.compare(left.values, with: right.values)
    guard result == 0 else { return result < 0 }
    return request.sort.last?.isDescending == true ? left.id > right.id : left.id < right.id
  }

  private func sorted(_ objects: [ManagedObject]) -> [ManagedObject] {
    objects.map(ranked).sorted(by: precedes).map(\.element)
  }

  private func merged(_ found: [ManagedObject]) throws -> [ManagedObject] {
    try follow(routes.filter { order.routes.contains($0.map(\.name)) }, of: found)
    for slot in request.lazySlots(of: entity, inSortAlone: true) {
      try context.prefetch(lazy: slot, of: found, entity)
    }
    let result = merged(found.lazy.map(ranked), with: matches.map(ranked))
    try checkMatches()
    return result
  }

  /// Throws if a regular expression in a computed value took too long.
  func checkMatches() throws { if let failure = run.failure { throw failure } }

  /// Returns the elements of two sorted sequences in one order.
  func merged<Element>(
    _ found: some Sequence<Ranked<Element>>, with others: [Ranked<Element>]
  ) -> [Element] {
    var result: [Element] = []
    result.reserveCapacity(found.underestimatedCount + others.count)
    var waiting = others[...]
    for next in found {
      while let first = waiting.first, precedes(first, next) {
        result.append(first.element)
        waiting.removeFirst()
      }
      result.append(next.element)
    }
    return result + waiting.map(\.element)
  }

  /// Returns the selected values of an evaluated object.
  func values(of object: ManagedObject) -> [SQLValue] {
    columns.values(of: PendingSubject(object, on: ground))
  }

  // MARK: Results

  func all() throws -> [ManagedObject] {
    if matches.isEmpty { return try objects(outside) }
    let all = try merged(try objects(outsideBeforeWindow))
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

  /// Returns the ids in order. The merge was made with the path of the id.
  func ids() throws -> [Int64] {
    if matches.isEmpty { return try ids(outside) }
    let rows = RowList(1)
    try collect(ColumnSelection(columns: [.value(.objectID)]), into: rows.collector)
    return rows.rows.compactMap(\.[0].int64)
  }

  /// The request without the rows that are evaluated in memory.
  var outside: FetchParameters {
    var copy = request
    copy.excludesPending = !excluded.isEmpty
    return copy
  }

  /// The request for as many rows as may be in the window after the evaluated objects are merged.
  var outsideBeforeWindow: FetchParameters {
    var copy = outside
    copy.offset = 0
    copy.limit = request.limit.flatMap { limit in
      let (sum, overflows) = limit.addingReportingOverflow(request.offset)
      return overflows ? nil : sum
    }
    return copy
  }

  /// Runs the query for the columns of a selection, without the rows that are evaluated in memory.
  func collect(_ selection: ColumnSelection, of request: FetchParameters, into collector: ColumnCollector)
    throws
  {
    let compiled = try Self.compiled(.columns(selection), request: request, on: entity, in: context)
    try context.withPendingRows(excluded) {
      try collector.run(compiled.form, compiled.bindings, of: entity, in: context)
    }
  }

  private func objects(_ request: FetchParameters) throws -> [ManagedObject] {
    let compiled = try Self.compiled(.objects, request: request, on: entity, in: context)
    return try context.withPendingRows(excluded) {
      try context.scan(entity, slots: request.slots(of: entity)).objects(
        compiled.form, compiled.bindings, isBranch: request.includesSubentities)
    }
  }

  private func ids(_ request: FetchParameters) throws -> [Int64] {
    let compiled = try Self.compiled(.ids, request: request, on: entity, in: context)
    return try context.withPendingRows(excluded) { try context.ids(compiled.text, compiled.bindings) }
  }

  private func value(_ selection: Selection, _ request: FetchParameters) throws -> SQLValue? {
    let compiled = try Self.compiled(selection, request: request, on: entity, in: context)
    context.statistics.queries += 1
    return try context.withPendingRows(excluded) {
      try context.withConnection { try $0.value(sql: compiled.text, compiled.bindings) }
    }
  }
}
