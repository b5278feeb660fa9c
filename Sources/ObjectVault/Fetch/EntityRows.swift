// Rows without objects: what a tool prints of a store that it has no classes of, one row at a time.

package import CipherSQLite

/// A question for rows of one entity, by names, and its answer row by row.
package struct EntityRows {
  /// A column of the answer.
  package struct Column: Sendable {
    /// As it was asked for, such as `user.name`.
    package let name: String
    /// The attribute's type; `int` for ids.
    package let type: AttributeType
  }

  private let mapping: SchemaMapping
  private let entity: EntityMapping
  private var request = FetchParameters()
  /// By default the id, all attributes, and the ids of to-ones; behind the id of which entity the row is, where others are below.
  package private(set) var columns: [Column] = []

  /// - Throws: ``StoreError/noEntity(name:similar:)``.
  init(_ model: Schema, entity name: String) throws {
    mapping = try SchemaMapping(model)
    entity = try mapping.known(name)
    let kind = entity.hasChildren ? [EntityColumn.name] : []
    try select(["id"] + kind + entity.storedSlots.map { entity.slots[$0].name })
  }

  /// Asks for these properties, in this order.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``, ``StoreError/propertyMisused(entity:property:reason:)``.
  package mutating func select(_ paths: [String]) throws {
    columns = try paths.map { Column(name: $0, type: isKind($0) ? .string : try type(of: $0)) }
  }

  /// Asks for rows of which a condition in the format language holds.
  /// - Throws: ``StoreError/predicate(_:)``.
  package mutating func filter(_ format: String) throws {
    request.conditions.append(try FetchCondition(format: format, []))
    _ = try compiled { compiler in
      let statement = try compiler.select("1", request, isOrdered: false)
      return try compiler.plan(statement)
    }
  }

  /// Sorts by properties, and at last by the id, as every fetch does.
  /// - Throws: As ``select(_:)``.
  package mutating func sort(_ keys: [(path: String, isDescending: Bool)]) throws {
    for key in keys { _ = try type(of: key.path) }
    request.sort = keys.map { .init(names: names($0.path), isDescending: $0.isDescending) }
  }

  /// Leaves out the first rows, and those behind so many.
  package mutating func window(limit: Int?, offset: Int) {
    (request.limit, request.offset) = (limit, offset)
  }

  /// How many rows there are.
  package func count(_ connection: Connection) throws -> Int {
    let compiled = try FetchPlans(entity).compiled(.count, request, in: .unknown)
    return Int(try connection.value(sql: compiled.text, compiled.bindings)?.int64 ?? 0)
  }

  /// Calls `body` for each row, whose columns are ``columns``. One statement: the rows are of one moment.
  package func forEach(_ connection: Connection, _ body: (Statement) throws -> Void) throws {
    let compiled = try compiled { compiler in
      let columns = try columns.map { column -> SQL in
        if isKind(column.name) { return "t0.\(EntityMapping.entityColumn)" }
        return try compiler.compiled(.path(PropertyPath(names(column.name)))).sql
      }
      let statement = try compiler.select(.joined(columns), request)
      return try compiler.plan(statement)
    }
    try connection.withStatement(sql: compiled.text) { statement in
      try statement.bind(compiled.bindings)
      while try statement.step() { try body(statement) }
    }
  }

  // MARK: Inside

  private func compiled(_ make: (inout PredicateCompiler) throws -> FetchPlan) throws -> CompiledFetch {
    var compiler = PredicateCompiler(entity)
    return try make(&compiler).filled(request)
  }

  private func names(_ path: String) -> [String] {
    path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }

  /// Whether a name is that of the column which says of which entity a row is. No property begins with an underscore.
  private func isKind(_ name: String) -> Bool { name == EntityColumn.name && entity.isInFamily }

  /// The type of what a path of to-ones leads to.
  private func type(of path: String) throws(StoreError) -> AttributeType {
    var (place, names) = (entity, names(path)[...])
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
            entity: place.name, property: name, reason: "has many members, and is no single value")
        }
        place = relationship.destination
      } else if names.isEmpty {
        return place.slots[slot].attribute?.type ?? .string
      } else {
        throw .propertyMisused(
          entity: place.name, property: name, reason: "is an attribute, and leads nowhere")
      }
    }
    return .int
  }
}
