// Where the columns after a run of schema operations come from: names before it, or expressions. What operations ask of a run is
// in SegmentMapping+Questions, what they ask of its rows in SegmentMapping+Requirements.

internal import CipherSQLite

/// Follows entities, attributes and relationships through the operations between two data blocks.
///
/// What a run does in one go must be what its operations do one after another. So an operation that reads or changes
/// a value which the run has yet to make waits for a run of its own: ``OperationRules/needsOwnRun(behind:in:)``. Names follow from
/// what an operation is about; what it does to values it says by ``OperationRules/fill(_:in:)``.
struct SegmentMapping {
  /// Whether an operation has put what was there before in another place.
  private(set) var hasMovedRows = false
  /// The model before the run.
  let before: Schema
  /// Final entity -> entity before; absent for a new one.
  private(set) var entities: [String: String]
  /// Of entities whose properties are others than before: final entity -> final property -> property before; absent for a
  /// new one. A step has to do with few entities of a model, and a chain has many steps.
  private var properties: [String: [String: String]] = [:]
  /// Final entity -> final property -> SQL over the columns before, where a plain copy will not do.
  private(set) var expressions: [String: [String: String]] = [:]
  /// By the names of before: a later renaming does not take a check away.
  private(set) var mustBeFilled: [RequiredColumn] = []
  /// What a dropping called the things that it dropped, by entity and property before.
  private(set) var dropped = DroppedNames()
  private(set) var trail = OperationTrail()
  /// The links that are kept elsewhere afterwards. Beside them a run has changes of attributes and nothing else.
  private(set) var moves: [LinkMove] = []
  /// The entity that gets another parent: of the run's only operation then.
  private(set) var parentChange: ParentChange?

  /// Final entity -> properties that the run added.
  private var added: [String: Set<String>] = [:]
  /// Words that mean something else after the run than before it, in lower case as SQL compares them.
  private var changedWords: Set<String> = []
  /// Whether tables or views have other names, or links are kept elsewhere.
  private var changesTables = false

  /// The names that things had when they were dropped.
  struct DroppedNames {
    var entities: [String: String] = [:]
    var properties: [String: [String: String]] = [:]
    /// Of relationships that lost their order.
    var orders: [String: [String: String]] = [:]
  }

  init(_ before: Schema) {
    self.before = before
    entities = Dictionary(before.entities.map { ($0.name, $0.name) }) { first, _ in first }
  }

  /// What a final property was called before; nil for a new one.
  func former(_ entity: String, _ name: String) -> String? {
    if let names = properties[entity] { return names[name] }
    guard entities[entity] != nil, let former = before.entity(named: entity),
      former.attribute(named: name) != nil || former.relationship(named: name) != nil
    else { return nil }
    return name
  }

  /// The final properties of an entity that were there before, with what they were called.
  func formerNames(of entity: String) -> [String: String] {
    if let names = properties[entity] { return names }
    guard entities[entity] != nil, let former = before.entity(named: entity) else { return [:] }
    return Dictionary(former.propertyNames.map { ($0, $0) }) { first, _ in first }
  }

  /// Lets the names of an entity's properties be changed, which it has from here on.
  private mutating func changeNames(of entity: String, _ body: (inout [String: String]) -> Void) {
    var names = properties.removeValue(forKey: entity) ?? formerNames(of: entity)
    body(&names)
    properties[entity] = names
  }

  /// Whether an entity and all its properties are those that had these names before, with the values that they had.
  func keepsNames(of entity: EntityDescription) -> Bool {
    guard entities[entity.name] == entity.name, expressions[entity.name]?.isEmpty ?? true,
      added[entity.name]?.isEmpty ?? true
    else { return false }
    guard let names = properties[entity.name] else { return true }
    return entity.attributes.allSatisfy { names[$0.name] == $0.name }
      && entity.relationships.allSatisfy { names[$0.name] == $0.name }
  }

  /// Whether it added a property.
  func isAdded(_ entity: String, _ name: String) -> Bool { added[entity]?.contains(name) == true }

  /// Whether it changes anything of which an SQL speaks: only a table that is there can be read.
  func changes(wordsOf sql: String) -> Bool {
    changesTables || !changedWords.isDisjoint(with: SQLScanner.possibleNames(in: sql))
  }

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
      drop(entity, name)
      if isRelationship { changesTables = true }
    case .renamed(let entity, let name, let new, let isRelationship):
      rename(entity, name, new)
      if isRelationship { changesTables = true }
    // An expression may read a view.
    case .rawObject: changesTables = true
    // No name changes.
    case .changed, .moved, .movedEntity, .madeIndex, .droppedIndex, .rows: break
    // Followed piece by piece.
    case .mergedEntity, .parts: break
    }
  }

  /// A column must hold no NULL before the run.
  mutating func require(_ column: RequiredColumn) { mustBeFilled.append(column) }

  mutating func follow(_ move: LinkMove) {
    moves.append(move)
    changedWords.formUnion(move.words.map { $0.lowercased() })
  }

  /// A relationship loses its order.
  mutating func dropOrder(_ entity: String, _ name: String) {
    guard let table = entities[entity], let former = former(entity, name) else { return }
    dropped.orders[table, default: [:]][former] = "\(entity).\(name)"
  }

  mutating func follow(_ change: ParentChange) {
    parentChange = change
    hasMovedRows = true
    changesTables = true
    // What it inherited becomes its own, or the reverse.
    var own: [String: String] = [:]
    if change.way == .out {
      for above in change.left {
        let toOnes = above.relationships.filter { $0.hasColumn }.map(\.name)
        for name in above.attributes.map(\.name) + toOnes { own[name] = former(above.name, name) }
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

  private mutating func drop(_ entity: String, _ name: String) {
    if let table = entities[entity], let former = former(entity, name) {
      dropped.properties[table, default: [:]][former] = "\(entity).\(name)"
    }
    changeNames(of: entity) { $0[name] = nil }
    expressions[entity]?[name] = nil
    added[entity]?.remove(name)
    changedWords.insert(name.lowercased())
  }

  private mutating func rename(_ entity: String, _ name: String, _ new: String) {
    changeNames(of: entity) { $0[new] = $0.removeValue(forKey: name) }
    let expression = expressions[entity]?.removeValue(forKey: name)
    expressions[entity]?[new] = expression
    if added[entity]?.remove(name) != nil { added[entity]?.insert(new) }
    changedWords.formUnion([name.lowercased(), new.lowercased()])
  }

  mutating func express(_ entity: String, _ name: String, _ sql: String) {
    expressions[entity, default: [:]][name] = sql
    changedWords.formUnion([name.lowercased(), RelationshipDescription.columnName(name).lowercased()])
  }
}
