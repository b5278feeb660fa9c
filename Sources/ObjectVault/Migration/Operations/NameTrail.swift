// What became of the names of a model through some steps, for those who compare a store before with one after.

internal import CipherSQLite

/// Follows entities and properties from one version to a later one.
package struct NameTrail: Sendable {
  /// The entities that are still there: former name, name now.
  package private(set) var entities: [String: String] = [:]
  /// The properties that are still there, by the entity's former name: former name, name now.
  package private(set) var properties: [String: [String: String]] = [:]
  /// Entities whose objects have other ids now.
  private var renumbered: Set<String> = []
  /// The entities that each inherited from, by former names.
  private var ancestors: [String: [String]] = [:]
  /// The properties whose values a step computed anew, or may have, by their former names.
  private var rewritten: [String: Set<String>] = [:]

  /// - Parameter model: The model before the first step.
  init(from model: Schema) {
    // First, as a step may take some of them away.
    for entity in model.entities where entity.parent != nil {
      ancestors[entity.name] = model.ancestors(of: entity).map(\.name)
    }
  }

  /// Notes what is called how at the end.
  mutating func end(_ mapping: SegmentMapping) {
    for (name, former) in mapping.entities where !renumbered.contains(former) {
      entities[former] = name
      for (property, formerProperty) in mapping.formerNames(of: name) {
        properties[former, default: [:]][formerProperty] = property
        if mapping.expressions[name]?[property] != nil {
          rewritten[former, default: []].insert(formerProperty)
        }
      }
    }
  }

  /// The same trail for who has gone the way back again: what the steps have kept has its former names.
  package var thereAndBack: NameTrail {
    var trail = self
    trail.entities = Dictionary(uniqueKeysWithValues: entities.keys.map { ($0, $0) })
    trail.properties = properties.mapValues { names in
      Dictionary(uniqueKeysWithValues: names.keys.map { ($0, $0) })
    }
    return trail
  }

  /// The properties of an entity that hold what they held, by their former names.
  package func keptProperties(of entity: String) -> [String: String] {
    ([entity] + (ancestors[entity] ?? [])).reduce(into: [:]) { kept, owner in
      let own = (properties[owner] ?? [:]).filter { rewritten[owner]?.contains($0.key) != true }
      kept.merge(own) { first, _ in first }
    }
  }

  /// Links that lie elsewhere from now on are no values of a column before, or none after; at both ends.
  mutating func moved(
    _ entity: String, _ name: String, _ mapping: SegmentMapping, _ model: Schema
  ) {
    let relationship = model.entity(named: entity)?.relationship(named: name)
    rewrote(entity, name, mapping)
    rewrote(relationship?.destination ?? "", relationship?.inverse ?? "", mapping)
  }

  /// Objects have other ids in another table, and who led to them leads there.
  private mutating func note(_ change: ParentChange, _ mapping: SegmentMapping, _ model: Schema) {
    if change.way == .into { renumbered.formUnion(change.names.compactMap { mapping.entities[$0] }) }
    let others = Set((change.way == .into ? change.moved : change.left).map(\.name))
    for entity in model.entities {
      for relationship in entity.relationships
      where others.contains(relationship.destination) || others.contains(entity.name) {
        moved(entity.name, relationship.name, mapping, model)
      }
    }
    let left = Set(change.left.compactMap { mapping.entities[$0.name] })
    for former in change.names.compactMap({ mapping.entities[$0] }) {
      ancestors[former]?.removeAll(where: left.contains)
    }
    // Of what it had inherited and has itself now, some leads to what is another entity's.
    guard change.way == .out, let former = mapping.entities[change.entity.name] else { return }
    for relationship in change.left.flatMap(\.relationships) where others.contains(relationship.destination) {
      if let name = mapping.former(change.entity.name, relationship.name) {
        rewritten[former, default: []].insert(name)
      }
    }
  }

  /// The values of a property are others than before.
  mutating func rewrote(_ entity: String, _ name: String, _ mapping: SegmentMapping) {
    guard let former = mapping.entities[entity], let formerName = mapping.former(entity, name) else { return }
    rewritten[former, default: []].insert(formerName)
  }

  /// What the pieces of an operation do to ids, and to who leads to whom.
  /// - Parameter dropsRows: Whether the entities that it drops have rows by then.
  mutating func noteParts(
    of composite: some CompositeOperation, droppingRows dropsRows: Bool, _ mapping: SegmentMapping,
    _ model: Schema
  ) {
    var model = model
    for part in (try? composite.operations(in: model)) ?? [] {
      switch part.subject {
      case .movedEntity: note(part, mapping, model)
      case .droppedEntity where dropsRows: note(part, mapping, model)
      default: break
      }
      try? part.apply(to: &model)
    }
  }

  /// What a function of the app may have written.
  private mutating func note(_ transform: SwiftTransform, _ mapping: SegmentMapping, _ model: Schema) {
    for (name, former) in mapping.entities {
      // An inherited property may be called that of who inherits it, and all that an entity has includes it.
      let line = model.entity(named: name).map { entity in
        (model.ancestors(of: entity) + model.descendants(of: entity)).map(\.name)
      }
      for (property, formerProperty) in mapping.formerNames(of: name)
      where ([name] + (line ?? [])).contains(where: { transform.mayWrite($0, property) }) {
        rewritten[former, default: []].insert(formerProperty)
      }
    }
  }

  /// - Parameters:
  ///   - mapping: What steps have made of the names, with this operation.
  ///   - model: The model before the operation.
  ///   - written: What it writes to, where it is a block of SQL.
  mutating func note(
    _ operation: MigrationOperation, _ mapping: SegmentMapping, _ model: Schema,
    writing written: TouchedColumns = TouchedColumns()
  ) {
    let rules = operation.rules
    switch rules.work {
    case .parts(let composite): composite.note(in: &self, mapping, model)
    case .transform(let transform): note(transform, mapping, model)
    case .data(let sql, _): note(sql, written, mapping, model)
    case .tables: note(rules.subject, mapping, model)
    case .require: break
    }
  }

  private mutating func note(_ subject: OperationSubject, _ mapping: SegmentMapping, _ model: Schema) {
    switch subject {
    case .movedEntity(let entity, let parent):
      if let change = try? ParentChange(entity, to: parent, in: model) { note(change, mapping, model) }
    case .droppedEntity(let name):
      guard let entity = model.entity(named: name) else { return }
      for (owner, relationship) in model.leading(toInheritedOf: entity) {
        moved(owner.name, relationship.name, mapping, model)
      }
    case .moved(let entity, let name, _): moved(entity, name, mapping, model)
    case .madeEntity, .renamedEntity, .mergedEntity, .made, .dropped, .renamed, .changed, .madeIndex,
      .droppedIndex,
      .rawObject, .parts, .rows:
      break
    }
  }

  /// What SQL has written to, as the engine says: what it only reads is kept.
  private mutating func note(
    _ sql: String, _ written: TouchedColumns, _ mapping: SegmentMapping, _ model: Schema
  ) {
    let words = SQLScanner.possibleNames(in: sql)
    // With `OR` before it or without; INTO tells it from the function.
    let bare = SQLScanner.words(sql)
    let replaces = zip(bare, bare.dropFirst()).contains { $0 == ("replace", "into") }
    func isWritten(_ table: String, _ column: String) -> Bool {
      // Of a row that is replaced whole, the author means the columns that the block names.
      written.updates(table, column)
        || replaces && words.contains(column.lowercased()) && written.contains(table, column)
    }
    for name in mapping.entities.keys {
      guard let entity = model.entity(named: name) else { continue }
      let table = model.root(of: name)
      for attribute in entity.attributes where isWritten(table, attribute.name) {
        rewrote(name, attribute.name, mapping)
      }
      for relationship in entity.relationships {
        let isHit =
          model.joinTable(of: relationship, in: entity).map {
            written.writtenTables.contains($0.0.name.lowercased())
          }
          ?? (relationship.hasColumn
            && [relationship.columnName, model.orderColumn(of: relationship)].contains {
              $0.map { isWritten(table, $0) } == true
            })
        if isHit { moved(name, relationship.name, mapping, model) }
      }
    }
  }
}
