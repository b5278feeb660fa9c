// What a run does to the history of a store: names follow their renamings, and each step has a record.

internal import CipherSQLite

extension MigrationRunner {
  /// Follows the names of a step, and records the step. Does nothing in a store without a history.
  /// - Parameter version: The version of the model after the step.
  func followHistory(_ compiled: CompiledStep, isRollback: Bool, version: Int) throws {
    guard try OwnTables(connection).names.exists() else { return }
    try RecordedNames.follow(compiled.parts.compactMap(\.renaming), version: version, on: connection)
    let changes = compiled.parts.contains { part in
      !part.isRequirement && (!part.filled.isEmpty || part.statements.contains(where: \.changesValues))
    }
    let recorded = compiled.model.entities.filter { compiled.model.flattened($0).history != nil }
    let step = compiled.step
    try StepRecord(
      name: "\(numbered(step.number)) \(step.name)", version: version, isRollback: isRollback,
      changed: changes ? recorded.map(\.name) : []
    ).append(on: connection)
  }
}

extension CompiledStep.Part {
  /// What the part does to recorded names; nil if it has no operations on tables.
  fileprivate var renaming: RecordedNames.Renaming? {
    guard let mapping = compiler?.mapping else { return nil }
    // The ids of objects that move into another table are new.
    let moved = mapping.parentChange.map { $0.way == .into ? Set($0.names) : [] } ?? []
    let entities = Dictionary(
      mapping.entities.filter { !moved.contains($0.key) }.map { ($0.value, $0.key) }
    ) { first, _ in first }
    return RecordedNames.Renaming(
      before: before, after: model, entity: { entities[$0] },
      property: { owner, name in
        entities[owner].flatMap { new in
          mapping.formerNames(of: new).first { $0.value == name }.map { (new, $0.key) }
        }
      })
  }
}
