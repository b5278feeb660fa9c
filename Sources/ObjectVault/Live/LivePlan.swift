// How a live request is read: as a whole, or the changed objects alone.

internal import CipherSQLite

/// A live request, and what is kept of each object.
struct LivePlan<Object: ManagedObject, Value: Sendable>: Sendable {
  /// The request, with the id as its last sort key: no two objects compare equal.
  let request: ObjectRequest<Object>
  private let value: @Sendable (Object) throws -> Value
  /// Whether changed objects can be put into the list one by one, if nothing else was read.
  private let hasParts: Bool

  init(_ request: ObjectRequest<Object>, _ value: @escaping @Sendable (Object) throws -> Value) {
    var request = request
    let parameters = request.parameters
    hasParts =
      parameters.offset == 0 && parameters.firstsOf == nil
      && parameters.sort.allSatisfy { $0.value.names?.count == 1 }
    if !parameters.sort.contains(where: { $0.value == .objectID }) {
      request.parameters.sort.append(SortKey(value: .objectID))
    }
    (self.request, self.value) = (request, value)
  }

  /// Reads everything.
  func list(_ context: ObjectContext) throws -> LiveList<Value> {
    let fetch = context.fetch(request)
    let (objects, entity) = (try fetch.all(), try fetch.known())
    // An object may refer to others of its table, which the values or the condition read.
    let isAlone = !entity.root.relatives.contains { entity in
      entity.relationships.contains { $0.destination.root === entity.root }
    }
    let order = hasParts && isAlone ? order(context.core.mapping.schema) : nil
    let (entries, ranQueries) = try entries(objects, in: context, order: order)
    return LiveList(entries, isAlone: isAlone && !ranQueries)
  }

  /// Reads those of some objects that the request finds.
  /// - Returns: What was read, in the order of the list, and whether nothing but the rows was read.
  func entries(
    _ context: ObjectContext, ids: [Int64]
  ) throws -> (entries: [LiveList<Value>.Entry], isAlone: Bool) {
    var part = request
    part.parameters.limit = nil
    part.parameters.add(.isOne(of: ids))
    let (found, ranQueries) = try entries(
      try context.fetch(part).all(), in: context, order: order(context.core.mapping.schema))
    return (found, !ranQueries)
  }

  /// The order of the list, for comparisons in memory.
  func order(_ schema: Schema) -> EvaluatedOrder {
    EvaluatedOrder(request.parameters.sort, entity: request.entityName, schema: schema)
  }

  private func entries(
    _ objects: [Object], in context: ObjectContext, order: EvaluatedOrder?
  ) throws -> ([LiveList<Value>.Entry], ranQueries: Bool) {
    // In a read nothing is pending.
    let none = PlannedDeletion(entityCount: context.maps.count)
    let ground = EvaluationContext(context, after: none, view: nil)
    let queries = context.statistics.queries
    let entries = try objects.map { object in
      LiveList.Entry(
        id: object.rowID, version: object.rowVersion,
        keys: order?.values(of: PendingSubject(object, on: ground)) ?? [], value: try value(object))
    }
    return (entries, context.statistics.queries != queries)
  }

  /// Returns the ids of the objects that commits have changed, ascending; nil if everything must be read
  /// again.
  func changedIDs(_ changes: [StoreChange], _ region: ObservedRegion) -> [Int64]? {
    guard hasParts, let entity = region.mapping.entity(named: request.entityName) else { return nil }
    let root = entity.root
    var ids: Set<Int64> = []
    for change in changes {
      guard case .committed(let set) = change, !region.isTouched(by: set, beyond: root) else { return nil }
      for row in set.inserted + set.deleted where region.mapping.entity(named: row.entity)?.root === root {
        ids.insert(row.rowID)
      }
      for update in set.updated where region.mapping.entity(named: update.entity)?.root === root {
        ids.insert(update.rowID)
      }
    }
    return ids.sorted()
  }
}

extension ObjectContext {
  /// Whether this read sees the file as it was right after a commit of this store. False if that is not
  /// known.
  func isStateOf(commit number: Int64) -> Bool {
    guard let connection = access.connection, let state = connection.sharedState,
      connection.stateBeforeTransaction == state, let delivered = core.feed.delivered
    else { return false }
    return delivered.number == number && delivered.state == state
  }
}

extension StoreChange {
  /// The number of the commit; nil for one that is not known.
  var number: Int64? { if case .committed(let changes) = self { changes.commit?.number } else { nil } }
}
