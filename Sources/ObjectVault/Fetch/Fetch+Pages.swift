// Pages of a sorted fetch: each page begins after the last object of the one before, by the values of its
// sort keys, so that no row is read twice and inserted objects move no page.

internal import CipherSQLite

/// A part of the objects of a fetch, and where the next part begins.
public struct FetchPage<Object: ManagedObject> {
  /// The objects, in the order of the fetch.
  public let objects: [Object]
  /// Where the next page begins; nil if this is the last page.
  public let next: PageCursor<Object>?
}

/// The place in the order of a fetch after which a page begins.
///
/// A cursor is a value: it can be kept, sent and encoded. If the page ends with an object that was not
/// saved, use the cursor in the object's context. It contains the sort keys and their values of the last
/// object of a page, and so may contain what is secret in the store.
public struct PageCursor<Object: ManagedObject>: Sendable, Hashable, Codable {
  let sort: [SortKey]
  /// The values of the sort keys.
  let values: [PredicateValue]
  /// The id of the last object. Temporary for an object that was not saved: only the object's context
  /// knows which one it became.
  let id: Int64
}

extension Fetch {
  /// Fetches a page: the objects that follow a cursor in the order of the fetch.
  ///
  /// ```swift
  /// let items = context.fetch(Item.self).sorted(by: \.title)
  /// let page = try items.page(size: 50)
  /// let more = try items.page(size: 50, after: page.next)
  /// ```
  ///
  /// A page is found by the values of its sort keys and not by counting, so that it costs the same
  /// wherever it is if an index has the sort keys, and objects that are inserted or deleted elsewhere
  /// move no object to another page. An object whose sort keys change may be on two pages or on none. The
  /// fetch may have conditions; its limit and offset are ignored. With pending changes, each page
  /// evaluates all of them.
  /// - Parameters:
  ///   - size: The largest number of objects, at least 1.
  ///   - cursor: The ``FetchPage/next`` of the page before, of a fetch with the same sort; nil for the
  ///     first page.
  /// - Returns: The page.
  /// - Throws: ``StoreError/predicate(_:)`` for a cursor of another sort; the errors of ``all()``.
  public func page(size: Int, after cursor: PageCursor<Object>? = nil) throws -> FetchPage<Object> {
    var all = self
    (all.request.parameters.limit, all.request.parameters.offset) = (nil, 0)
    if parameters.sort.isEmpty { all = all.sorted(byPath: "id") }
    let entity = try known()
    // A to-one is sorted by the id of its object, and only the id can be less or greater.
    for index in all.parameters.sort.indices {
      all.request.parameters.sort[index].value = entity.byValue(all.parameters.sort[index].value)
    }
    let sort = all.parameters.sort
    if let cursor, cursor.sort != sort || cursor.values.count != sort.count {
      throw StoreError.predicate(
        PredicateError(
          "the cursor is of a fetch with another sort; use the cursor of a page of this fetch, or begin with "
            + "the first page", entity: request.entityName))
    }
    let size = max(1, min(size, Int.max - 1))
    return try context.withSnapshot {
      var objects: [Object] = []
      // One more, to know whether there is a next page.
      for range in cursor.map(place)?.ranges ?? [.constant(true)] where objects.count <= size {
        let part = range == .constant(true) ? all : all.where(range)
        objects += try part.limit(size + 1 - objects.count).all()
      }
      guard objects.count > size else { return FetchPage(objects: objects, next: nil) }
      let page = Array(objects.prefix(size))
      return FetchPage(objects: page, next: try page.last.map { try all.cursor(after: $0, entity) })
    }
  }

  /// Returns the cursor that begins after an object.
  private func cursor(after object: Object, _ entity: EntityMapping) throws -> PageCursor<Object> {
    let sort = parameters.sort
    // Without pending changes the order is that of the rows, which differ from changed objects.
    if request.includesPending || !object.isPending, let stored = storedKeys(of: object, entity) {
      let place = OrderPlace(
        of: object.visibleRowID, in: sort, stored: stored, entity, context.core.mapping.schema)
      return PageCursor(sort: sort, values: place.values, id: place.id)
    }
    var one = self
    (one.request.parameters.sort, one.request.parameters.conditions) = ([], [])
    one = one.where(.comparison(.path(PropertyPath([])), .equal, .value(try object.predicateValue()), []))
    let rows = RowList(sort.count)
    try one.run(ColumnSelection(columns: sort.map { .value($0.value) }), into: rows.collector)
    let place = OrderPlace(
      of: object.visibleRowID, in: sort, stored: rows.rows.first ?? [], entity, context.core.mapping.schema)
    return PageCursor(sort: sort, values: place.values, id: place.id)
  }

  /// Returns the values of the sort keys of an object that was just fetched; nil if one is not an attribute
  /// of the object itself.
  private func storedKeys(of object: Object, _ entity: EntityMapping) -> [SQLValue]? {
    var values: [SQLValue] = []
    for key in parameters.sort {
      if key.value == .objectID {
        values.append(.integer(object.visibleRowID))
        continue
      }
      guard let names = key.value.names, names.count == 1, let slot = entity.slot(named: names[0]),
        entity.slots[slot].attribute?.isLazy == false
      else { return nil }
      guard let value = object.storedValue(slot) else { return nil }
      values.append(value)
    }
    return values
  }

  /// Returns the place of a cursor, with the numbers by which its ids are sorted now: those of new objects
  /// may have become final since.
  private func place(_ cursor: PageCursor<Object>) -> OrderPlace {
    let rank = { (id: Int64) in IDOrder.rank(id < 0 ? context.settledIDs.final(id) ?? id : id) }
    let values = zip(cursor.sort, cursor.values).map { key, value in
      guard key.value.isID, case .integer(let id) = value.stored else { return value }
      return PredicateValue(type: .int, stored: .integer(rank(id)))
    }
    return OrderPlace(sort: cursor.sort, values: values, id: rank(cursor.id))
  }
}

/// A place in an order: the values of the sort keys of an object, and its id.
struct OrderPlace {
  let sort: [SortKey]
  let values: [PredicateValue]
  let id: Int64

  init(sort: [SortKey], values: [PredicateValue], id: Int64) {
    (self.sort, self.values, self.id) = (sort, values, id)
  }

  /// Creates the place of an object.
  /// - Parameter stored: The stored values of the sort keys.
  init(
    of id: Int64, in sort: [SortKey], stored: [SQLValue], _ entity: EntityMapping, _ schema: Schema
  ) {
    let types = EvaluatedColumns(sort.map(\.value), entity: entity.name, schema: schema).types
    let values = zip(stored, types).map { value, type in
      PredicateValue(type: value.isNull ? nil : type, stored: value)
    }
    self.init(sort: sort, values: values, id: id)
  }

  /// The conditions of the objects after the place, one after another in their order. Each is an
  /// equality of some sort keys and a range of the next one, which an index of the keys serves.
  var ranges: [PredicateNode] {
    var ranges: [PredicateNode] = []
    var (keys, values) = (sort, values)
    if keys.last?.value != .objectID {
      keys.append(SortKey(value: .objectID, isDescending: keys.last?.isDescending == true))
      values.append(PredicateValue(type: .int, stored: .integer(id)))
    }
    for index in keys.indices.reversed() {
      let equal = zip(keys[..<index], values).map { key, value in key.compared(.equal, with: value) }
      let (key, value) = (keys[index], values[index])
      let isNil = key.compared(.equal, with: .null)
      let isAfter = key.compared(key.isDescending ? .less : .greater, with: value)
      switch (value.stored.isNull, key.nilIsLast) {
      case (true, true): break
      case (true, false): ranges.append(.and(equal + [.not(isNil)]))
      case (false, false): ranges.append(.and(equal + [isAfter]))
      case (false, true): ranges += [.and(equal + [isAfter]), .and(equal + [isNil])]
      }
    }
    return ranges
  }
}

extension SortKey {
  /// Returns the comparison of the key with a value.
  fileprivate func compared(_ comparison: ComparisonOperator, with constant: PredicateValue) -> PredicateNode
  {
    .comparison(value, comparison, .value(constant), constant.stored.isNull ? [] : options)
  }
}
