// Reads rows one at a time, without making objects: tools print rows of stores whose classes they do not
// have.

package import CipherSQLite

/// A query for rows of one entity, by names of properties.
package struct EntityRows {
  /// A column of the result.
  package struct Column: Sendable {
    /// The path that was selected, such as `user.name`.
    package let name: String
    /// The attribute's type; `int` for ids.
    package let type: AttributeType
  }

  // Retains the entities, which refer to each other unretained.
  private let mapping: SchemaMapping
  private let entity: EntityMapping
  private var request: FetchParameters
  /// The columns of the result. By default: the id, the row's entity if there are subentities, all
  /// attributes, and the ids of to-ones.
  package private(set) var columns: [Column] = []
  /// The groups that are read instead of rows; nil for rows.
  private var groups: ColumnSelection?

  /// Prepares a query for the rows of a request, and checks the request.
  /// - Throws: ``StoreError/noEntity(name:similar:)``,
  ///   ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)``, ``StoreError/predicate(_:)``.
  init(_ model: Schema, _ request: ObjectRequest<DynamicObject>) throws {
    mapping = try SchemaMapping(model)
    entity = try mapping.known(request.entityName)
    self.request = request.parameters
    if let failure = request.failure { throw failure }
    for names in self.request.sort.compactMap(\.value.names) { _ = try type(of: names) }
    let kind = entity.hasChildren ? [EntityColumn.name] : []
    try select(["id"] + kind + entity.storedSlots.map { entity.slots[$0].name })
    _ = try compiled { compiler in
      try compiler.plan(try compiler.select("1", self.request, isOrdered: false))
    }
  }

  /// Selects the columns, in this order.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)``.
  package mutating func select(_ paths: [String]) throws {
    columns = try paths.map { Column(name: $0, type: isKind($0) ? .string : try type(of: $0.pathNames)) }
  }

  /// An aggregate of the rows of a group, by the name of its function in the column: `sum(bytes)`.
  package struct GroupColumn: Sendable {
    package enum Function: String, Sendable, CaseIterable { case count, sum, average, minimum, maximum }
    let function: Function
    /// The attribute; nil to count rows.
    let path: String?

    package init(_ function: Function, _ path: String? = nil) {
      (self.function, self.path) = (function, path)
    }

    /// The name of the column: `sum(bytes)`.
    package var name: String { path.map { "\(function.rawValue)(\($0))" } ?? function.rawValue }
  }

  /// Selects groups of rows that have the same values of some properties, instead of rows. The columns are
  /// these properties, then the aggregates. The sort of the request may only name the properties.
  /// - Parameters:
  ///   - keys: The properties, or paths through to-ones; empty for one group of all rows.
  ///   - aggregates: The aggregates.
  /// - Throws: The errors of ``select(_:)``; ``StoreError/predicate(_:)`` for an aggregate of values that
  ///   the function does not accept.
  package mutating func group(by keys: [String], _ aggregates: [GroupColumn]) throws {
    columns = try keys.map { Column(name: $0, type: try type(of: $0.pathNames)) }
    columns += try aggregates.map { column in
      Column(name: column.name, type: try column.path.map { try resultType(column.function, $0) } ?? .int)
    }
    let values = keys.map { entity.byValue(.property($0.pathNames)) }
    for index in request.sort.indices {
      request.sort[index].value = entity.byValue(request.sort[index].value)
    }
    groups = ColumnSelection(
      columns: values.map { .value($0) } + aggregates.map { .aggregate($0.column) }, grouping: values)
    _ = try compiledGroups()
  }

  private func resultType(_ function: GroupColumn.Function, _ path: String) throws -> AttributeType {
    let type = try type(of: path.pathNames)
    switch function {
    case .count: return .int
    case .minimum, .maximum: return type
    case .sum: return type.numberKind == .integer ? .int : type
    case .average: return type.numberKind == .decimal ? .decimal : .double
    }
  }

  private func compiledGroups() throws -> CompiledFetch? {
    guard let groups else { return nil }
    return try compiled { compiler in
      try compiler.plan(try compiler.select(groups, request))
    }
  }

  /// Returns the number of rows.
  package func count(_ connection: Connection) throws -> Int {
    let compiled = try FetchPlans(entity).compiled(.count, request, in: .unknown)
    return Int(try connection.value(sql: compiled.text, compiled.bindings)?.int64 ?? 0)
  }

  /// Returns what the engine does for the request's rows or groups: see ``Fetch/explain()``.
  package func explain(_ connection: Connection) throws -> QueryPlan {
    let compiled =
      try compiledGroups() ?? FetchPlans(entity).compiled(.objects, request, in: .unknown)
    return try QueryPlan(of: compiled, for: request, on: entity, in: mapping, connection)
  }

  /// Calls `body` for each row, which has the columns of ``columns``. All rows are read by one statement,
  /// so from one snapshot.
  package func forEach(_ connection: Connection, _ body: (Statement) throws -> Void) throws {
    let compiled =
      try compiledGroups()
      ?? compiled { compiler in
        let columns = try columns.map { column -> SQL in
          if isKind(column.name) { return "t0.\(EntityMapping.entityColumn)" }
          return try compiler.compiled(.path(PropertyPath(column.name.pathNames))).sql
        }
        let statement = try compiler.select(.joined(columns), request)
        return try compiler.plan(statement)
      }
    try connection.withStatement(sql: compiled.text) { statement in
      try statement.bind(compiled.bindings)
      while try statement.step() { try body(statement) }
    }
  }

  /// Calls `body` for each row that comes after one object, in the order of the request. The rows are found
  /// by the values of the sort keys: an index of them serves.
  /// - Parameter begin: Called once before the first row, if there is such an object.
  /// - Returns: Whether there is such an object; if not, nothing is called.
  package func forEach(
    after id: Int64, _ connection: Connection, begin: () throws -> Void, _ body: (Statement) throws -> Void
  ) throws -> Bool {
    // One transaction, so that all statements see the same rows.
    try connection.savepoint {
      guard let place = try place(of: id, connection) else { return false }
      try begin()
      var rest = request.limit ?? .max
      for range in place.ranges where rest > 0 {
        var part = self
        part.request.sort = place.sort
        part.request.add(FetchCondition(checking: range))
        part.request.limit = request.limit == nil ? nil : rest
        try part.forEach(connection) { statement in
          rest -= 1
          try body(statement)
        }
      }
      return true
    }
  }

  /// Returns the place of an object in the order of the request; nil if there is no such object.
  private func place(of id: Int64, _ connection: Connection) throws -> OrderPlace? {
    var sort = request.sort
    for index in sort.indices { sort[index].value = entity.byValue(sort[index].value) }
    var one = request
    (one.sort, one.conditions, one.limit, one.offset) = ([], [.isOne(of: [id])], nil, 0)
    let columns = ColumnSelection(columns: sort.map { .value($0.value) })
    let compiled = try FetchPlans(entity).compiled(.columns(columns), one, in: .unknown)
    let rows = try connection.query(sql: compiled.text, compiled.bindings) { row in
      sort.indices.map { row.value($0) }
    }
    guard let row = rows.first else { return nil }
    return OrderPlace(of: id, in: sort, stored: row, entity, mapping.schema)
  }

  // MARK: Implementation

  private func compiled(_ make: (inout PredicateCompiler) throws -> FetchPlan) throws -> CompiledFetch {
    var compiler = PredicateCompiler(entity)
    return try make(&compiler).filled(request)
  }

  /// Returns whether a selected name is the column with the row's entity. It begins with an underscore,
  /// as no property's name does.
  private func isKind(_ name: String) -> Bool { name == EntityColumn.name && entity.isInHierarchy }

  /// Returns the type of the property at the end of a path of to-ones.
  private func type(of path: [String]) throws(StoreError) -> AttributeType {
    var (place, names) = (entity, path[...])
    while let name = names.popFirst() {
      if name == "id", names.isEmpty { return .int }
      guard let slot = place.slot(named: name) else {
        throw .noProperty(
          entity: place.name, property: name,
          similar: nearest(name, among: place.slots.map(\.name)))
      }
      if let relationship = place.slots[slot].relationship {
        guard !relationship.isToMany else {
          throw .propertyMisused(
            entity: place.name, property: name, reason: "is a to-many and has no single value")
        }
        place = relationship.destination
      } else if names.isEmpty {
        return place.slots[slot].attribute?.type ?? .string
      } else {
        throw .propertyMisused(
          entity: place.name, property: name, reason: "is an attribute, so no property can follow it")
      }
    }
    return .int
  }
}

extension EntityRows.GroupColumn {
  fileprivate var column: AggregateColumn {
    let function: AggregateColumn.Function =
      switch function {
      case .count: .count
      case .sum: .sum
      case .average: .average
      case .minimum: .minimum
      case .maximum: .maximum
      }
    return AggregateColumn(function: function, value: path.map { .property($0.pathNames) })
  }
}
