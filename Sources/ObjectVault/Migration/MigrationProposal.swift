// The step that would make the classes' model of the steps' model, for a person to review.

internal import CipherSQLite

/// What leads from the model after the last step to a schema.
///
/// ```swift
/// let steps = try MigrationSet.embedded(AppMigrations.steps)
/// let proposal = try steps.proposal(for: schema)
/// let text = proposal.lines.joined(separator: "\n")
/// ```
///
/// It is a proposal: whether an attribute was renamed, or one dropped and another added, nobody can see in two models.
public struct MigrationProposal: Sendable, Hashable {
  /// The operations, in order; none where both are the same model.
  public let operations: [MigrationOperation]
  /// What may be a renaming, and is a dropping and an adding in ``operations`` because nobody says so.
  public let doubts: [MigrationRenaming]
  /// What is lost for good, such as `User.city`.
  public let losses: [String]
  /// What a person has to look at before the step can be used.
  public let notes: [String]

  /// The operations as a migration file has them.
  public var lines: [String] { operations.map(\.description) }
}

extension MigrationSet {
  /// What leads from the model after the last step to a schema.
  /// - Parameters:
  ///   - schema: That of the classes.
  ///   - renaming: What has another name now. What a class says by `.renamed(from:)` needs no repetition.
  /// - Throws: As ``model(at:)``; ``StoreError/noEntity(name:similar:)``,
  ///   ``StoreError/noProperty(entity:property:similar:)`` for a renaming of something that is not there.
  public func proposal(
    for schema: Schema, renaming: [MigrationRenaming] = []
  ) throws -> MigrationProposal {
    let model = try model(at: version)
    // Properties go by the new names of their entities, and whoever says them by the former ones is understood.
    let entities = renaming.filter(\.isOfEntity)
    let renaming = entities + renaming.filter { !$0.isOfEntity }.map { $0.following(entities, in: schema) }
    try Self.check(renaming, from: model, to: schema)
    let operations = SchemaDifference.operations(from: model, to: schema, renaming: renaming)
    let step = MigrationStep(number: version + 1, name: "proposal", operations: operations)
    return MigrationProposal(
      operations: operations,
      doubts: MigrationRenaming.doubts(in: operations, from: model),
      losses: (try? step.compiled(from: model, engine: .current).losses)
        ?? operations.compactMap(\.subject.lost),
      notes: operations.compactMap { $0.rules.advice(in: model) } + Self.faults(step, model, schema)
        + schema.renamingDoubts(from: model, beside: renaming))
  }

  private static func check(_ renaming: [MigrationRenaming], from old: Schema, to new: Schema)
    throws(StoreError)
  {
    var model = old
    for (index, next) in renaming.enumerated()
    where renaming[..<index].contains(where: { $0.collides(with: next) }) { throw next.collision }
    for renaming in MigrationRenaming.inOrder(renaming, beside: old.allNames.union(new.allNames)) {
      guard let operation = renaming.operation(in: model) else { throw renaming.failure(in: model) }
      do { try operation.apply(to: &model) } catch { throw renaming.collision }
    }
    for renaming in renaming {
      switch renaming {
      case .entity(_, let name):
        guard new.entity(named: name) == nil else { continue }
        throw .noEntity(name: name, similar: nearest(name, among: new.entities.map(\.name)))
      case .property(let entity, _, let name):
        guard let names = new.entity(named: entity)?.propertyNames, !names.contains(name) else { continue }
        throw .noProperty(entity: entity, property: name, similar: nearest(name, among: names))
      }
    }
  }

  /// What the operations do not reach, in words.
  private static func faults(_ step: MigrationStep, _ model: Schema, _ schema: Schema) -> [String] {
    guard !step.operations.isEmpty else { return [] }
    do {
      let reached = try step.applied(to: model)
      return SchemaDifference.lines(reached, schema, found: "what these lines make", expected: "the classes")
    } catch { return ["These lines cannot be run as they are: \(error)"] }
  }
}

extension MigrationRenaming {
  fileprivate var isOfEntity: Bool { if case .entity = self { true } else { false } }

  /// A property by the new name of its entity, where it was told by the former one.
  fileprivate func following(_ entities: [MigrationRenaming], in schema: Schema) -> MigrationRenaming {
    guard case .property(let entity, let name, let new) = self, schema.entity(named: entity) == nil else {
      return self
    }
    for case .entity(entity, let newEntity) in entities { return .property(entity: newEntity, name, to: new) }
    return self
  }

  /// That the new name is somebody else's.
  fileprivate var collision: StoreError {
    switch self {
    case .entity(_, let name): .invalidSchema([.duplicateName(entity: name, property: nil)])
    case .property(let entity, _, let name):
      .propertyMisused(
        entity: entity, property: name, reason: "is in the steps already; drop it in a step of its own before"
      )
    }
  }

  fileprivate func failure(in model: Schema) -> StoreError {
    switch self {
    case .entity(let name, _):
      return .noEntity(name: name, similar: nearest(name, among: model.entities.map(\.name)))
    case .property(let entity, let name, _):
      guard let owner = model.entity(named: entity) else {
        return .noEntity(name: entity, similar: nearest(entity, among: model.entities.map(\.name)))
      }
      return .noProperty(
        entity: entity, property: name, similar: nearest(name, among: owner.propertyNames))
    }
  }

  /// What is dropped and added alike, in one place.
  fileprivate static func doubts(in operations: [MigrationOperation], from model: Schema)
    -> [MigrationRenaming]
  {
    var doubts: [MigrationRenaming] = []
    for operation in operations {
      switch operation {
      case .dropEntity(let name):
        guard let former = model.entity(named: name) else { continue }
        for case .createEntity(let entity) in operations where former.resembles(entity) {
          doubts.append(.entity(name, to: entity.name))
        }
      case .dropAttribute(let entity, let name):
        guard let former = model.entity(named: entity)?.attribute(named: name) else { continue }
        for case .addAttribute(entity, let attribute) in operations where attribute.type == former.type {
          doubts.append(.property(entity: entity, name, to: attribute.name))
        }
      case .dropRelationship(let entity, let name):
        guard let former = model.entity(named: entity)?.relationship(named: name) else { continue }
        for case .addRelationship(entity, let relationship) in operations
        where relationship.name != name && relationship.destination == former.destination
          && relationship.isToMany == former.isToMany
        {
          doubts.append(.property(entity: entity, name, to: relationship.name))
        }
      default: continue
      }
    }
    return doubts
  }
}

extension EntityDescription {
  /// Whether at least half of the properties have the same names.
  fileprivate func resembles(_ other: EntityDescription) -> Bool {
    let (own, others) = (Set(propertyNames), Set(other.propertyNames))
    return own.intersection(others).count * 2 >= max(own.count, others.count, 1)
  }
}
