// Which operations of a run had a hand in what: so that a failure names those that it is about.

/// The operations of a run by the things that they are about, under the names that these have at its end.
struct OperationTrail {
  private struct Entry {
    let operation: MigrationOperation
    var entity: String
    var property: String?
    var index: [String]?
  }
  private var entries: [Entry] = []

  mutating func follow(_ operation: MigrationOperation) {
    switch operation {
    case .createEntity(let entity): add(operation, entity.name)
    case .dropEntity(let name): add(operation, name)
    case .setParent(let entity, _): add(operation, entity)
    case .renameEntity(let name, let new):
      for index in entries.indices where entries[index].entity == name { entries[index].entity = new }
      add(operation, new)
    case .addAttribute(let entity, let attribute): add(operation, entity, attribute.name)
    case .addRelationship(let entity, let relationship): add(operation, entity, relationship.name)
    case .dropAttribute(let entity, let name), .dropRelationship(let entity, let name),
      .makeOptional(let entity, let name), .makeRequired(let entity, let name, _),
      .retype(let entity, let name, _, _), .retypeBySwift(let entity, let name, _, _),
      .setDefault(let entity, let name, _),
      .setDeleteRule(let entity, let name, _), .makeMany(let entity, let name),
      .makeOrdered(let entity, let name), .makeUnordered(let entity, let name),
      .makeOne(let entity, let name, _):
      add(operation, entity, name)
    case .renameAttribute(let entity, let name, let new), .renameRelationship(let entity, let name, let new):
      for index in entries.indices where entries[index].entity == entity {
        if entries[index].property == name { entries[index].property = new }
        entries[index].index = entries[index].index?.map { $0 == name ? new : $0 }
      }
      add(operation, entity, new)
    case .addIndex(let entity, let index): add(operation, entity, index: index.properties)
    case .dropIndex(let entity, let names): add(operation, entity, index: names)
    // Their parts are followed by themselves.
    case .moveAttributes, .mergeEntities, .makeEntityRelationship, .makeRelationshipEntity: break
    // Their statements are theirs alone.
    case .createRawObject, .dropRawObject: break
    case .transform, .transformSwift, .seed, .require: break
    }
  }

  private mutating func add(
    _ operation: MigrationOperation, _ entity: String, _ property: String? = nil, index: [String]? = nil
  ) {
    entries.append(Entry(operation: operation, entity: entity, property: property, index: index))
  }

  /// Those that change some entities or their properties; their indexes left out.
  func operations(of entities: Set<String>) -> [MigrationOperation] {
    entries.filter { entities.contains($0.entity) && $0.index == nil }.map(\.operation)
  }

  /// Those that change what is in a column, which is called like the property or, for a to-one, `name_id`.
  func operations(of entities: Set<String>, column: String) -> [MigrationOperation] {
    entries.filter { entities.contains($0.entity) && $0.property.map { Self.lies($0, in: column) } == true }
      .map(\.operation)
  }

  /// Those that an index over some columns stands for: who asked for it, else who changed its values.
  func operations(of entities: Set<String>, index columns: [String]) -> [MigrationOperation] {
    let asking = entries.filter { entry in
      guard entities.contains(entry.entity), let index = entry.index, index.count == columns.count else {
        return false
      }
      return zip(index, columns).allSatisfy { Self.lies($0, in: $1) }
    }.map(\.operation)
      .filter { if case .addIndex = $0 { true } else { false } }
    return asking.isEmpty ? columns.flatMap { operations(of: entities, column: $0) } : asking
  }

  /// Whether a property is what a column holds; no attribute is called like the column of a to-one.
  private static func lies(_ property: String, in column: String) -> Bool {
    property == column || RelationshipDescription.columnName(property) == column
  }
}
