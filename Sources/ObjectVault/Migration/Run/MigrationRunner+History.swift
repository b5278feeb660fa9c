// What a run does to the history of a store: names follow their renamings, and each step has a record.

internal import CipherSQLite

extension MigrationRunner {
  /// Follows the names of a step, and records the step. Does nothing in a store without a history.
  /// - Parameter version: The version of the model after the step.
  func followHistory(_ compiled: CompiledStep, isRollback: Bool, version: Int) throws {
    let begins = FileFormat.version(of: compiled.model) == FileFormat.withHistory
    guard try begins || OwnTables(connection).names.exists() else { return }
    try RecordedNames.follow(compiled.parts.compactMap(\.renaming), version: version, on: connection)
    try RecordedNames.update(connection, to: compiled.model, version: version)
    let step = compiled.step
    try StepRecord(
      name: "\(numbered(step.number)) \(step.name)", version: version, isRollback: isRollback,
      changed: unknown(after: compiled)
    ).append(on: connection)
  }

  /// Returns the names of the entities with a history, before or after a step, of whose objects the history
  /// lacks changes: those that the step may have changed, and those whose history it begins or ends.
  private func unknown(after compiled: CompiledStep) -> [String] {
    let (model, before) = (compiled.model, compiled.parts.first?.before ?? compiled.model)
    // The names before the step, by those after it; nil for an entity that the step created.
    var former: [String: String?] = Dictionary(
      before.entities.map { ($0.name, $0.name) }, uniquingKeysWith: { first, _ in first })
    for part in compiled.parts {
      guard let entities = part.compiler?.mapping.entities else { continue }
      former = entities.mapValues { former[$0] ?? nil }
    }
    return model.entities.filter { entity in
      let now = model.flattened(entity).history
      if let name = former[entity.name] ?? nil {
        let then = before.flattenedEntity(named: name)?.history
        if (now == nil) != (then == nil) { return true }
      }
      return now != nil && compiled.parts.contains { $0.mayChange(objectsIn: model.root(of: entity).name) }
    }.map(\.name)
  }
}

extension CompiledStep.Part {
  /// Whether the part may change values of existing objects, or insert or delete objects, in a table of the
  /// model after the step.
  fileprivate func mayChange(objectsIn table: String) -> Bool {
    guard !isRequirement else { return false }
    if movesLinks { return true }
    let changing = statements.filter(\.changesValues)
    if changing.isEmpty { return filled.writtenTables.contains(table.lowercased()) }
    // A trigger may write to any table, and the table may have another name here.
    guard model.rawObjects.allSatisfy({ $0.kind != .trigger }), model.entity(named: table) != nil else {
      return true
    }
    return filled.writtenTables.contains(table.lowercased())
      || changing.contains { statement in
        switch statement {
        // Links are in tables of their own.
        case .data(let block, _):
          block.tables.contains { $0.lowercased() == table.lowercased() || model.entity(named: $0) == nil }
        default: true
        }
      }
  }

  /// Whether the part stores the links of a relationship in another place: as a to-one that was a to-many, or
  /// at the other end.
  private var movesLinks: Bool {
    guard let mapping = compiler?.mapping else { return false }
    return model.entities.contains { entity in
      guard let former = mapping.entities[entity.name].flatMap({ before.entity(named: $0) }) else {
        return false
      }
      return entity.relationships.contains { relationship in
        guard let name = mapping.former(entity.name, property: relationship.name),
          let old = former.relationship(named: name)
        else { return false }
        return old.hasColumn != relationship.hasColumn || old.isToMany != relationship.isToMany
      }
    }
  }

  /// What the part does to recorded names; nil if it has no operations on tables.
  fileprivate var renaming: RecordedNames.Renaming? {
    guard let mapping = compiler?.mapping else { return nil }
    // The ids of objects that move into another table are new.
    let moved = mapping.parentChange.map { $0.way == .into ? Set($0.names) : [] } ?? []
    var entities: [String: String] = [:]
    var properties: [String: [String: String]] = [:]
    for (name, former) in mapping.entities where !moved.contains(name) {
      entities[former] = name
      properties[former] = Dictionary(mapping.formerNames(of: name).map { ($0.value, $0.key) }) { first, _ in
        first
      }
    }
    let isWhole = mapping.parentChange == nil
    let kept = before.entities.filter { isWhole && mapping.keepsNames(of: $0) }
    return RecordedNames.Renaming(
      before: before, after: model, entities: entities, properties: properties, kept: Set(kept.map(\.name)))
  }
}
