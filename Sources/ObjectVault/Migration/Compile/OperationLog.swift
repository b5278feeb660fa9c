// Records which operations of a segment changed what, so that an error can name the responsible ones.

/// An entity, or one of its properties.
struct PropertyPlace: Hashable {
  let entity: String
  var property: String?
}

/// The operations of a segment with what they change, under the names at the end of the segment.
struct OperationLog {
  private struct Entry {
    let operation: MigrationOperation
    var entity: String
    var property: String?
    var index: [String]?
    /// Whether the operation creates the index.
    let createsIndex: Bool

    /// Whether the operation created the entity. Nothing referred to such an entity before, so its
    /// creation changes no other table.
    var isMaking: Bool { if case .madeEntity = operation.subject { true } else { false } }
  }
  private var entries: [Entry] = []

  mutating func follow(_ operation: MigrationOperation) {
    switch operation.subject {
    case .madeEntity(let entity): add(operation, entity: entity.name)
    case .droppedEntity(let name), .movedEntity(let name, _), .changedEntity(let name):
      add(operation, entity: name)
    case .renamedEntity(let name, let new):
      for index in entries.indices where entries[index].entity == name { entries[index].entity = new }
      add(operation, entity: new)
    case .made(let entity, let name, _), .dropped(let entity, let name, _), .changed(let entity, let name),
      .moved(let entity, let name, _):
      add(operation, entity: entity, property: name)
    case .renamed(let entity, let name, let new, _):
      for index in entries.indices where entries[index].entity == entity {
        if entries[index].property == name { entries[index].property = new }
        entries[index].index = entries[index].index?.map { $0 == name ? new : $0 }
      }
      add(operation, entity: entity, property: new)
    case .madeIndex(let entity, let names): add(operation, entity: entity, index: names, createsIndex: true)
    case .droppedIndex(let entity, let names): add(operation, entity: entity, index: names)
    // The parts of a composite are recorded one by one. The statements of raw objects have their
    // operation already.
    case .mergedEntity, .parts, .rawObject, .rows: break
    }
  }

  private mutating func add(
    _ operation: MigrationOperation, entity: String, property: String? = nil, index: [String]? = nil,
    createsIndex: Bool = false
  ) {
    entries.append(
      Entry(
        operation: operation, entity: entity, property: property, index: index, createsIndex: createsIndex))
  }

  /// Returns the operations that change some entities or their properties, but not their indexes.
  func operations(of entities: Set<String>) -> [MigrationOperation] {
    entries.filter { entities.contains($0.entity) && $0.index == nil }.map(\.operation)
  }

  /// Returns the operations that change one of some places, and those that change one of some entities or
  /// its properties. Changes of indexes are omitted, and so is the creation of an entity in `places`.
  func operations(on places: Set<PropertyPlace>, of entities: Set<String>) -> [MigrationOperation] {
    entries.filter {
      $0.index == nil
        && (entities.contains($0.entity)
          || !$0.isMaking && places.contains(PropertyPlace(entity: $0.entity, property: $0.property)))
    }.map(\.operation)
  }

  /// Returns the operations that change the values of a column. The column has the property's name, or
  /// that name with `_id` for a to-one.
  func operations(of entities: Set<String>, column: String) -> [MigrationOperation] {
    entries.filter { entities.contains($0.entity) && $0.property.map { Self.lies($0, in: column) } == true }
      .map(\.operation)
  }

  /// Returns the operations that cause an index: those that created it; if there are none, those that
  /// changed its columns.
  func operations(of entities: Set<String>, index columns: [String]) -> [MigrationOperation] {
    let asking = entries.filter { entry in
      guard entry.createsIndex, entities.contains(entry.entity), let index = entry.index,
        index.count == columns.count
      else { return false }
      return zip(index, columns).allSatisfy { Self.lies($0, in: $1) }
    }.map(\.operation)
    return asking.isEmpty ? columns.flatMap { operations(of: entities, column: $0) } : asking
  }

  /// Whether a column belongs to a property. No attribute can have the name of a to-one's column.
  private static func lies(_ property: String, in column: String) -> Bool {
    property == column || RelationshipDescription.columnName(property) == column
  }
}
