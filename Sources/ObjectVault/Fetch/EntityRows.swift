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

  private let mapping: SchemaMapping
  private let entity: EntityMapping
  private var request = FetchParameters()
  /// The columns of the result. By default: the id, the row's entity if there are subentities, all
  /// attributes, and the ids of to-ones.
  package private(set) var columns: [Column] = []

  /// Prepares a query for all rows of an entity.
  /// - Throws: ``StoreError/noEntity(name:similar:)``.
  init(_ model: Schema, entity name: String) throws {
    mapping = try SchemaMapping(model)
    entity = try mapping.known(name)
    let kind = entity.hasChildren ? [EntityColumn.name] : []
    try select(["id"] + kind + entity.storedSlots.map { entity.slots[$0].name })
  }

  /// Selects the columns, in this order.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)``.
  package mutating func select(_ paths: [String]) throws {
    columns = try paths.map { Column(name: $0, type: isKind($0) ? .string : try type(of: $0)) }
  }

  /// Adds a condition in the format language.
  /// - Throws: ``StoreError/predicate(_:)``.
  package mutating func filter(_ format: String) throws {
    request.conditions.append(try FetchCondition(format: format, []))
    _ = try compiled { compiler in
      let statement = try compiler.select("1", request, isOrdered: false)
      return try compiler.plan(statement)
    }
  }

  /// Sorts by properties, and last by the id, as every fetch does.
  /// - Throws: The errors of ``select(_:)``.
  package mutating func sort(_ keys: [(path: String, isDescending: Bool)]) throws {
    for key in keys { _ = try type(of: key.path) }
    request.sort = keys.map { .init(names: names($0.path), isDescending: $0.isDescending) }
  }

  /// Skips the first rows and limits the number of the following ones.
  package mutating func window(limit: Int?, offset: Int) {
    (request.limit, request.offset) = (limit, offset)
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

  // MARK: Implementation

  private func compiled(_ make: (inout PredicateCompiler) throws -> FetchPlan) throws -> CompiledFetch {
    var compiler = PredicateCompiler(entity)
    return try make(&compiler).filled(request)
  }

  private func names(_ path: String) -> [String] {
    path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }

  /// Returns whether a selected name is the column with the row's entity. It begins with an underscore,
  /// as no property's name does.
  private func isKind(_ name: String) -> Bool { name == EntityColumn.name && entity.isInHierarchy }

  /// Returns the type of the property at the end of a path of to-ones.
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
