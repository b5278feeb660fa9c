// Maps columns after a segment to names or expressions before it. SegmentMapping+Questions has what
// operations read from a segment. SegmentMapping+Requirements has what operations require of the rows.

internal import CipherSQLite

/// Follows names through a segment: consecutive schema operations, without a data block between them,
/// that are compiled together.
///
/// A segment must have the same effect as its operations, run one after another. But no column has the
/// values that a segment computes before the segment has run. So an operation that reads or changes such
/// a value starts a new segment: see ``OperationRules/needsOwnSegment(after:in:)``. The subject of an
/// operation determines how names change; ``OperationRules/fill(_:in:)`` states how values change.
struct SegmentMapping {
  /// Whether an operation has moved existing rows.
  private(set) var hasMovedRows = false
  /// The model before the segment.
  let before: Schema
  /// Maps each final entity to the entity before the segment. A new entity has no entry.
  private(set) var entities: [String: String]
  /// For each final entity whose properties changed: maps each final property to the property before. A
  /// new property has no entry. Entities without changes are omitted: a step changes few entities, and a
  /// set has many steps.
  private var properties: [String: [String: String]] = [:]
  /// For each final entity: maps properties to SQL over the former columns, if a plain copy is not
  /// enough.
  private(set) var expressions: [String: [String: String]] = [:]
  /// The columns that must have no NULL, or whose backfill needs an existing object. They are listed under
  /// their names before the segment, which no later renaming changes.
  private(set) var requiredColumns: [RequiredColumn] = []
  /// For dropped entities and properties: maps the names before the segment to the names at the drop.
  private(set) var dropped = DroppedNames()
  private(set) var trail = OperationLog()
  /// The moved links. If there are any, the segment's other operations change only attributes.
  private(set) var moves: [LinkMove] = []
  /// The change of an entity's parent, which is then the only operation of the segment.
  private(set) var parentChange: ParentChange?

  /// The properties that the segment added to each final entity.
  private var added: [String: Set<String>] = [:]
  /// The words that the segment gives another meaning in SQL, in lower case.
  private var changedWords: Set<String> = []
  /// Whether SQL may find other tables or views, because entities, relationships or raw objects are
  /// added, renamed or removed, or an entity gets another parent.
  private var changesTables = false

  /// The names that entities and properties had when they were dropped, by the names before the segment.
  struct DroppedNames {
    var entities: [String: String] = [:]
    var properties: [String: [String: String]] = [:]
    /// The relationships that lost their order.
    var orders: [String: [String: String]] = [:]
  }

  init(_ before: Schema) {
    self.before = before
    entities = Dictionary(before.entities.map { ($0.name, $0.name) }) { first, _ in first }
  }

  /// Returns the former name of a final property; nil for a new one.
  func former(_ entity: String, property name: String) -> String? {
    if let names = properties[entity] { return names[name] }
    guard entities[entity] != nil, let former = before.entity(named: entity),
      former.attribute(named: name) != nil || former.relationship(named: name) != nil
    else { return nil }
    return name
  }

  /// Maps the final properties of an entity that existed before the segment to their former names.
  func formerNames(of entity: String) -> [String: String] {
    if let names = properties[entity] { return names }
    guard entities[entity] != nil, let former = before.entity(named: entity) else { return [:] }
    return Dictionary(former.propertyNames.map { ($0, $0) }) { first, _ in first }
  }

  /// Changes the map of an entity's properties, which is stored from then on.
  private mutating func changeNames(of entity: String, _ body: (inout [String: String]) -> Void) {
    var names = properties.removeValue(forKey: entity) ?? formerNames(of: entity)
    body(&names)
    properties[entity] = names
  }

  /// Whether an entity and all its properties keep their names and values.
  func keepsNames(of entity: EntityDescription) -> Bool {
    guard entities[entity.name] == entity.name, expressions[entity.name]?.isEmpty ?? true,
      added[entity.name]?.isEmpty ?? true
    else { return false }
    guard let names = properties[entity.name] else { return true }
    return entity.attributes.allSatisfy { names[$0.name] == $0.name }
      && entity.relationships.allSatisfy { names[$0.name] == $0.name }
  }

  /// Whether the segment adds a property.
  func isAdded(_ entity: String, property name: String) -> Bool { added[entity]?.contains(name) == true }

  /// Whether the segment changes anything that SQL may refer to. SQL would read the tables as they are
  /// before the segment.
  func changes(wordsOf sql: String) -> Bool {
    changesTables || !changedWords.isDisjoint(with: SQLScanner.possibleNames(in: sql))
  }

  /// Records an operation.
  /// - Parameter model: The model before the operation.
  mutating func follow(_ operation: MigrationOperation, _ model: Schema) throws(ModelError) {
    trail.follow(operation)
    let rules = operation.rules
    if case .parts(let composite) = rules.work {
      hasMovedRows = true
      var model = model
      for part in try composite.operations(in: model) {
        try follow(part, model)
        try part.apply(to: &model)
      }
      return
    }
    follow(rules.subject)
    try rules.fill(&self, in: model)
  }

  private mutating func follow(_ subject: OperationSubject) {
    switch subject {
    case .madeEntity(let entity):
      forget(entity.name)
      properties[entity.name] = [:]
    case .droppedEntity(let name):
      if let former = entities[name] { dropped.entities[former] = name }
      forget(name)
    case .renamedEntity(let name, let new):
      let names = formerNames(of: name)
      entities[new] = entities.removeValue(forKey: name)
      properties[name] = [:]
      properties[new] = names
      expressions[new] = expressions.removeValue(forKey: name)
      added[new] = added.removeValue(forKey: name)
      changesTables = true
    case .made(let entity, let name, let isRelationship):
      added[entity, default: []].insert(name)
      changedWords.insert(name.lowercased())
      if isRelationship { changesTables = true }
    case .dropped(let entity, let name, let isRelationship):
      drop(entity, property: name)
      if isRelationship { changesTables = true }
    case .renamed(let entity, let name, let new, let isRelationship):
      rename(entity, property: name, to: new)
      if isRelationship { changesTables = true }
    // An expression may read a view.
    case .rawObject: changesTables = true
    // These change no name.
    case .changed, .changedEntity, .moved, .movedEntity, .madeIndex, .droppedIndex, .rows: break
    // Their parts are recorded one by one.
    case .mergedEntity, .parts: break
    }
  }

  /// Requires that a column has no NULL before the segment.
  mutating func require(_ column: RequiredColumn) { requiredColumns.append(column) }

  mutating func follow(_ move: LinkMove) {
    moves.append(move)
    changedWords.formUnion(move.words.map { $0.lowercased() })
  }

  /// Records that a relationship loses its order.
  mutating func dropOrder(of entity: String, relationship name: String) {
    guard let table = entities[entity], let former = former(entity, property: name) else { return }
    dropped.orders[table, default: [:]][former] = "\(entity).\(name)"
  }

  mutating func follow(_ change: ParentChange) {
    parentChange = change
    hasMovedRows = true
    changesTables = true
    // The entity now declares what it inherited, or inherits what it declared.
    var own: [String: String] = [:]
    if change.way == .out {
      for above in change.left {
        let toOnes = above.relationships.filter { $0.hasColumn }.map(\.name)
        for name in above.attributes.map(\.name) + toOnes { own[name] = former(above.name, property: name) }
      }
    }
    changeNames(of: change.entity.name) { names in
      for (attribute, _) in change.merged { names[attribute.name] = nil }
      names.merge(own) { first, _ in first }
    }
  }

  private mutating func forget(_ entity: String) {
    entities[entity] = nil
    properties[entity] = [:]
    expressions[entity] = nil
    added[entity] = nil
    changesTables = true
  }

  private mutating func drop(_ entity: String, property name: String) {
    if let table = entities[entity], let former = former(entity, property: name) {
      dropped.properties[table, default: [:]][former] = "\(entity).\(name)"
    }
    changeNames(of: entity) { $0[name] = nil }
    expressions[entity]?[name] = nil
    added[entity]?.remove(name)
    changedWords.insert(name.lowercased())
  }

  private mutating func rename(_ entity: String, property name: String, to new: String) {
    changeNames(of: entity) { $0[new] = $0.removeValue(forKey: name) }
    let expression = expressions[entity]?.removeValue(forKey: name)
    expressions[entity]?[new] = expression
    if added[entity]?.remove(name) != nil { added[entity]?.insert(new) }
    changedWords.formUnion([name.lowercased(), new.lowercased()])
  }

  mutating func express(_ entity: String, property name: String, as sql: String) {
    expressions[entity, default: [:]][name] = sql
    changedWords.formUnion([name.lowercased(), RelationshipDescription.columnName(name).lowercased()])
  }
}
