// The first object of each group.

internal import CipherSQLite

extension Fetch {
  /// Fetches the first object of each group of objects that have the same value of a property.
  ///
  /// ```swift
  /// let newest = try context.fetch(Message.self)
  ///   .sorted(by: \.sentAt, .reverse)
  ///   .first(ofEach: \.conversation)
  /// ```
  ///
  /// The sort decides which object is the first, and the order of the result: the last messages above are
  /// in the order of their times, the newest first. Without a sort the objects with the lowest ids are
  /// the first. nil is a value: objects without one are a group. A limit and an offset count groups.
  ///
  /// If the property is a to-one or has an index, the groups are found by searches in it. With an index
  /// of the property followed by the sort keys, a group costs the same whatever its size. Without an
  /// index, all objects that satisfy the conditions are sorted.
  /// - Parameter path: The property: an attribute, an id or a to-one, also through to-ones.
  /// - Returns: The objects.
  /// - Throws: The errors of ``all()``.
  public func first(ofEach path: PartialKeyPath<Object>) throws -> [Object] {
    try first(ofEach: path.propertyNames)
  }

  /// Fetches the first object of each group of objects that have the same value of a property that is
  /// named by a text; see ``first(ofEach:)``.
  /// - Parameter path: The property, or a path through to-ones such as `user.name`.
  /// - Returns: The objects.
  /// - Throws: The errors of ``all()``.
  public func first(ofEachPath path: String) throws -> [Object] { try first(ofEach: path.pathNames) }

  // MARK: Implementation

  private func first(ofEach names: [String]) throws -> [Object] {
    let entity = try known()
    let slot = entity.groupSlot(names)
    var all = self
    if parameters.sort.isEmpty { all = all.sorted(byPath: "id") }
    let selection = ColumnSelection(columns: [.value(.property(names)), .value(.objectID)])
    // The compiler reports errors in the path.
    _ = try all.compiled(.columns(selection), entity)
    all.request.parameters.firstsOf = slot
    return try context.withSnapshot {
      try inOneSnapshot(entity) {
        var unlimited = all
        (unlimited.request.parameters.limit, unlimited.request.parameters.offset) = (nil, 0)
        // Only the first stored object of a group can be the first of all, so an index serves here, too.
        let merge = try unlimited.merge(entity, selecting: selection.values)
        if merge == nil, slot != nil { return try all.all(entity) }
        let rows = RowList(2)
        if let merge {
          try merge.collect(selection, into: rows.collector)
        } else {
          let compiled = try unlimited.compiled(.columns(selection), entity)
          try rows.collector.run(compiled.form, compiled.bindings, of: entity, in: context)
        }
        context.recordQuery(rows: rows.collector.rowCount)
        return try objects(rows.rows, entity, evaluated: merge?.matches ?? [])
      }
    }
  }

  /// Returns the first object of each key, within the window of the fetch.
  /// - Parameters:
  ///   - rows: The key and the id of each object, in order.
  ///   - evaluated: The objects that were evaluated in memory.
  private func objects(
    _ rows: [[SQLValue]], _ entity: EntityMapping, evaluated: [ManagedObject]
  ) throws -> [Object] {
    var seen: Set<ExactValues> = []
    let firsts = rows.filter { seen.insert(ExactValues([$0[0]])).inserted }.compactMap(\.[1].int64)
    let ids = Array(firsts.dropFirst(parameters.offset).prefix(parameters.limit ?? Int.max))
    let inMemory = Dictionary(
      evaluated.map { ($0.visibleRowID, $0) }, uniquingKeysWith: { first, _ in first })
    let stored = try context.scan(entity, slots: parameters.slots(of: entity)).rows(
      ids.filter { inMemory[$0] == nil })
    let found = Dictionary(stored.map { ($0.rowID, $0) }, uniquingKeysWith: { first, _ in first })
    return try finished(ids.compactMap { inMemory[$0] ?? found[$0] }, entity)
  }
}

extension EntityMapping {
  /// Returns the slot of a property whose values an index of the entity's table has; nil for other paths.
  fileprivate func groupSlot(_ names: [String]) -> Int? {
    guard let slot = names.first.flatMap({ slot(named: $0) }), slots[slot].columnName != nil, isIndexed(slot),
      names.count == 1 || (names.count == 2 && names[1] == "id" && slots[slot].relationship != nil)
    else { return nil }
    return slot
  }
}
