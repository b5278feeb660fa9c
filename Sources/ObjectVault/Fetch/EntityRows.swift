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
  private let request: FetchParameters
  /// The columns of the result. By default: the id, the row's entity if there are subentities, all
  /// attributes, and the ids of to-ones.
  package private(set) var columns: [Column] = []

  /// Prepares a query for the rows of a request, and checks the request.
  /// - Throws: ``StoreError/noEntity(name:similar:)``,
  ///   ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)``, ``StoreError/predicate(_:)``.
  init(_ model: Schema, _ request: ObjectRequest<DynamicObject>) throws {
    mapping = try SchemaMapping(model)
    entity = try mapping.known(request.entityName)
    self.request = request.parameters
    if let failure = request.failure { throw failure }
    for key in self.request.sort { _ = try type(of: key.names) }
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

  /// Returns the number of rows.
  package func count(_ connection: Connection) throws -> Int {
    let compiled = try FetchPlans(entity).compiled(.count, request, in: .unknown)
    return Int(try connection.value(sql: compiled.text, compiled.bindings)?.int64 ?? 0)
  }

  /// Calls `body` for each row, which has the columns of ``columns``. All rows are read by one statement,
  /// so from one snapshot.
  package func forEach(_ connection: Connection, _ body: (Statement) throws -> Void) throws {
    let compiled = try compiled { compiler in
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
