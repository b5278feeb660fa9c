// Maps the names of a model through several steps, for code that compares a store before and after them.

internal import CipherSQLite

/// Follows entities and properties from one version to a later one.
package struct NameHistory: Sendable {
  /// The entities that still exist: former name to present name.
  package private(set) var entities: [String: String] = [:]
  /// The properties that still exist, by the former name of their entity: former name to present name.
  package private(set) var properties: [String: [String: String]] = [:]
  /// The former names of entities whose objects have new ids.
  private var renumbered: Set<String> = []
  /// The ancestors of each entity, by former names.
  private var ancestors: [String: [String]] = [:]
  /// The properties whose values a step computed, or may have computed, by their former names.
  private var rewritten: [String: Set<String>] = [:]

  /// - Parameter model: The model before the first step.
  init(from model: Schema) {
    // Read at the start, because a step may drop some of them.
    for entity in model.entities where entity.parent != nil {
      ancestors[entity.name] = model.ancestors(of: entity).map(\.name)
    }
  }

  /// Records the final names, except those of entities whose objects have new ids.
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

  /// The history of names after the steps and their rollback: everything that the steps kept has its
  /// former name again.
  package var keptByRoundTrip: NameHistory {
    var trail = self
    trail.entities = Dictionary(uniqueKeysWithValues: entities.keys.map { ($0, $0) })
    trail.properties = properties.mapValues { names in
      Dictionary(uniqueKeysWithValues: names.keys.map { ($0, $0) })
    }
    return trail
  }

  /// The properties of an entity whose values did not change, including inherited ones, by former names.
  package func keptProperties(of entity: String) -> [String: String] {
    ([entity] + (ancestors[entity] ?? [])).reduce(into: [:]) { kept, owner in
      let own = (properties[owner] ?? [:]).filter { rewritten[owner]?.contains($0.key) != true }
      kept.merge(own) { first, _ in first }
    }
  }

  /// Marks both ends of a relationship as rewritten: its links are stored elsewhere, so a column before or
  /// after has no counterpart.
  mutating func moved(
    _ entity: String, property name: String, mapping: SegmentMapping, in model: Schema
  ) {
    let relationship = model.entity(named: entity)?.relationship(named: name)
    rewrote(entity, property: name, mapping: mapping)
    rewrote(relationship?.destination ?? "", property: relationship?.inverse ?? "", mapping: mapping)
  }

  /// Records a change of parent. Objects that move into another entity's table get new ids, and
  /// references to them change. Otherwise ids stay, but references to the ancestors that the entity
  /// leaves may be cleared.
  private mutating func note(_ change: ParentChange, mapping: SegmentMapping, in model: Schema) {
    if change.way == .into { renumbered.formUnion(change.names.compactMap { mapping.entities[$0] }) }
    let others = Set((change.way == .into ? change.moved : change.left).map(\.name))
    for entity in model.entities {
      for relationship in entity.relationships
      where others.contains(relationship.destination) || others.contains(entity.name) {
        moved(entity.name, property: relationship.name, mapping: mapping, in: model)
      }
    }
    let left = Set(change.left.compactMap { mapping.entities[$0.name] })
    for former in change.names.compactMap({ mapping.entities[$0] }) {
      ancestors[former]?.removeAll(where: left.contains)
    }
    // Some inherited relationships are now the entity's own. Their references to objects that changed
    // tables are cleared.
    guard change.way == .out, let former = mapping.entities[change.entity.name] else { return }
    for relationship in change.left.flatMap(\.relationships) where others.contains(relationship.destination) {
      if let name = mapping.former(change.entity.name, property: relationship.name) {
        rewritten[former, default: []].insert(name)
      }
    }
  }

  /// Marks a property's values as rewritten.
  mutating func rewrote(_ entity: String, property name: String, mapping: SegmentMapping) {
    guard let former = mapping.entities[entity], let formerName = mapping.former(entity, property: name)
    else { return }
    rewritten[former, default: []].insert(formerName)
  }

  /// Records what the parts of an operation do to ids and references.
  /// - Parameter dropsRows: Whether the entities that the operation drops still have rows when they are
  ///   dropped.
  mutating func noteParts(
    of composite: some CompositeOperation, droppingRows dropsRows: Bool, mapping: SegmentMapping,
    in model: Schema
  ) {
    var model = model
    for part in (try? composite.operations(in: model)) ?? [] {
      switch part.subject {
      case .movedEntity: note(part, mapping: mapping, in: model)
      case .droppedEntity where dropsRows: note(part, mapping: mapping, in: model)
      default: break
      }
      try? part.apply(to: &model)
    }
  }

  /// Records what a function of the app may have written.
  private mutating func note(_ transform: SwiftTransform, mapping: SegmentMapping, in model: Schema) {
    for (name, former) in mapping.entities {
      // A transform may declare an inherited property under the name of a subentity, and a declared
      // entity includes the properties that it inherits.
      let line = model.entity(named: name).map { entity in
        (model.ancestors(of: entity) + model.descendants(of: entity)).map(\.name)
      }
      for (property, formerProperty) in mapping.formerNames(of: name)
      where ([name] + (line ?? [])).contains(where: { transform.mayWrite($0, property: property) }) {
        rewritten[former, default: []].insert(formerProperty)
      }
    }
  }

  /// Records the effects of an operation.
  /// - Parameters:
  ///   - mapping: How the steps have mapped names, this operation included.
  ///   - model: The model before the operation.
  ///   - written: The columns that the operation writes, if it is a block of SQL.
  mutating func note(
    _ operation: MigrationOperation, mapping: SegmentMapping, in model: Schema,
    writing written: TouchedColumns = TouchedColumns()
  ) {
    let rules = operation.rules
    switch rules.work {
    case .parts(let composite): composite.note(in: &self, mapping, model)
    case .transform(let transform): note(transform, mapping: mapping, in: model)
    case .data(let sql, _): note(sql, writing: written, mapping: mapping, in: model)
    case .tables: note(rules.subject, mapping: mapping, in: model)
    case .require: break
    }
  }

  private mutating func note(_ subject: OperationSubject, mapping: SegmentMapping, in model: Schema) {
    switch subject {
    case .movedEntity(let entity, let parent):
      if let change = try? ParentChange(entity, to: parent, in: model) {
        note(change, mapping: mapping, in: model)
      }
    case .droppedEntity(let name):
      guard let entity = model.entity(named: name) else { return }
      for (owner, relationship) in model.leading(toInheritedOf: entity) {
        moved(owner.name, property: relationship.name, mapping: mapping, in: model)
      }
    case .moved(let entity, let name, _): moved(entity, property: name, mapping: mapping, in: model)
    case .madeEntity, .renamedEntity, .changedEntity, .mergedEntity, .made, .dropped, .renamed, .changed,
      .madeIndex, .droppedIndex, .rawObject, .parts, .rows:
      break
    }
  }

  /// Records the columns that a SQL block wrote, as the engine reports them. Columns that it only reads
  /// are kept.
  private mutating func note(
    _ sql: String, writing written: TouchedColumns, mapping: SegmentMapping, in model: Schema
  ) {
    let words = SQLScanner.possibleNames(in: sql)
    // `REPLACE INTO` or `INSERT OR REPLACE INTO`; INTO distinguishes it from the function `replace`.
    let bare = SQLScanner.words(sql)
    let replaces = zip(bare, bare.dropFirst()).contains { $0 == ("replace", "into") }
    func isWritten(_ table: String, column: String) -> Bool {
      // Replacing a row writes all its columns. Only columns that the block names count.
      written.updates(table, column: column)
        || replaces && words.contains(column.lowercased()) && written.contains(table, column: column)
    }
    for name in mapping.entities.keys {
      guard let entity = model.entity(named: name) else { continue }
      let table = model.root(of: name)
      for attribute in entity.attributes where isWritten(table, column: attribute.name) {
        rewrote(name, property: attribute.name, mapping: mapping)
      }
      for relationship in entity.relationships {
        let isHit =
          model.joinTable(of: relationship, in: entity).map {
            written.writtenTables.contains($0.0.name.lowercased())
          }
          ?? (relationship.hasColumn
            && [relationship.columnName, model.orderColumn(of: relationship)].contains {
              $0.map { isWritten(table, column: $0) } == true
            })
        if isHit { moved(name, property: relationship.name, mapping: mapping, in: model) }
      }
    }
  }
}
