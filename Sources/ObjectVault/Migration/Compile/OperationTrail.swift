// Which operations of a run had a hand in what: so that a failure names those that it is about.

/// An end of links, or an entity where no property is named.
struct PropertyPlace: Hashable {
  let entity: String
  var property: String?
}

/// The operations of a run by the things that they are about, under the names that these have at its end.
struct OperationTrail {
  private struct Entry {
    let operation: MigrationOperation
    var entity: String
    var property: String?
    var index: [String]?
    /// Whether it asks for that index.
    let isAsking: Bool

    /// Whether it made an entity, to which nothing led before.
    var isMaking: Bool { if case .madeEntity = operation.subject { true } else { false } }
  }
  private var entries: [Entry] = []

  mutating func follow(_ operation: MigrationOperation) {
    switch operation.subject {
    case .madeEntity(let entity): add(operation, entity.name)
    case .droppedEntity(let name), .movedEntity(let name, _): add(operation, name)
    case .renamedEntity(let name, let new):
      for index in entries.indices where entries[index].entity == name { entries[index].entity = new }
      add(operation, new)
    case .made(let entity, let name, _), .dropped(let entity, let name, _), .changed(let entity, let name),
      .moved(let entity, let name, _):
      add(operation, entity, name)
    case .renamed(let entity, let name, let new, _):
      for index in entries.indices where entries[index].entity == entity {
        if entries[index].property == name { entries[index].property = new }
        entries[index].index = entries[index].index?.map { $0 == name ? new : $0 }
      }
      add(operation, entity, new)
    case .madeIndex(let entity, let names): add(operation, entity, index: names, isAsking: true)
    case .droppedIndex(let entity, let names): add(operation, entity, index: names)
    // Their parts are followed by themselves; the statements of raw objects are theirs alone.
    case .mergedEntity, .parts, .rawObject, .rows: break
    }
  }

  private mutating func add(
    _ operation: MigrationOperation, _ entity: String, _ property: String? = nil, index: [String]? = nil,
    isAsking: Bool = false
  ) {
    entries.append(
      Entry(operation: operation, entity: entity, property: property, index: index, isAsking: isAsking))
  }

  /// Those that change some entities or their properties; their indexes left out.
  func operations(of entities: Set<String>) -> [MigrationOperation] {
    entries.filter { entities.contains($0.entity) && $0.index == nil }.map(\.operation)
  }

  /// Those that change some places, or anything of some entities; indexes left out.
  func operations(on places: Set<PropertyPlace>, of entities: Set<String>) -> [MigrationOperation] {
    entries.filter {
      $0.index == nil
        && (entities.contains($0.entity)
          || !$0.isMaking && places.contains(PropertyPlace(entity: $0.entity, property: $0.property)))
    }.map(\.operation)
  }

  /// Those that change what is in a column, which is called like the property or, for a to-one, `name_id`.
  func operations(of entities: Set<String>, column: String) -> [MigrationOperation] {
    entries.filter { entities.contains($0.entity) && $0.property.map { Self.lies($0, in: column) } == true }
      .map(\.operation)
  }

  /// Those that an index over some columns stands for: who asked for it, else who changed its values.
  func operations(of entities: Set<String>, index columns: [String]) -> [MigrationOperation] {
    let asking = entries.filter { entry in
      guard entry.isAsking, entities.contains(entry.entity), let index = entry.index,
        index.count == columns.count
      else { return false }
      return zip(index, columns).allSatisfy { Self.lies($0, in: $1) }
    }.map(\.operation)
    return asking.isEmpty ? columns.flatMap { operations(of: entities, column: $0) } : asking
  }

  /// Whether a property is what a column holds; no attribute is called like the column of a to-one.
  private static func lies(_ property: String, in column: String) -> Bool {
    property == column || RelationshipDescription.columnName(property) == column
  }
}
