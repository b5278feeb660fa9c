// The proposed step, which changes the model of the steps into the model of the classes. A person reviews
// it. AutomaticStep uses it without a review only if nothing is lost and nothing is in doubt.

internal import CipherSQLite

/// The proposed operations, which change the model after the last step into that of a schema.
///
/// ```swift
/// let steps = try MigrationSet.embedded(AppMigrations.steps)
/// let proposal = try steps.proposal(for: schema)
/// let text = proposal.lines.joined(separator: "\n")
/// ```
///
/// A person has to review the proposal: two models do not show whether an attribute was renamed, or
/// dropped and another one added.
public struct MigrationProposal: Sendable, Hashable {
  /// The operations, in order; empty if the models are equal.
  public let operations: [MigrationOperation]
  /// Possible renamings that were not stated. In each case, ``operations`` drops the old property or
  /// entity and adds the new one.
  public let doubts: [MigrationRenaming]
  /// The data that is lost, such as `User.city`.
  public let losses: [String]
  /// The to-manys that remain but lose all members, keyed by the loss that causes it: `Post.user` for
  /// `User.posts`.
  public let emptied: [String: [String]]
  /// What a person has to check before the step can be used.
  public var notes: [String] { remarks + doneHints.map(\.note) }
  /// The notes except those of ``doneHints``.
  package let remarks: [String]
  /// The former names that the classes or the schema declare although the steps may have done the
  /// renaming already.
  package let doneHints: [RenamingDoubt]

  /// The operations as lines of a migration file.
  public var lines: [String] { operations.map(\.description) }

  /// The losses as texts for people, each with the to-manys that it empties.
  package var lossTexts: [String] { losses.map { lossText($0, emptied) } }
}

extension MigrationSet {
  /// Proposes the operations that change the model after the last step into that of a schema.
  /// - Parameters:
  ///   - schema: The schema of the classes.
  ///   - renaming: The renamings. A renaming that a class or the schema declares by `.renamed(from:)`
  ///     need not be repeated.
  /// - Returns: The proposal.
  /// - Throws: The errors of ``model(at:)``; ``StoreError/noEntity(name:similar:)`` and
  ///   ``StoreError/noProperty(entity:property:similar:)`` for a former name that the steps do not have,
  ///   and for a new name that the schema does not have; ``StoreError/renamingRefused(_:reason:)`` for
  ///   two renamings that contradict each other, and for a new name that the steps have already.
  public func proposal(
    for schema: Schema, renaming: [MigrationRenaming] = []
  ) throws -> MigrationProposal {
    let model = try model(at: version)
    // A renaming of a property may name its entity by the former or the new name. From here on, all use the
    // new one.
    let entities = schema.renamings(renaming.filter(\.isOfEntity), from: model)
    let renaming = entities + renaming.filter { !$0.isOfEntity }.map { $0.following(entities, in: schema) }
    try Self.check(renaming, from: model, to: schema)
    // The model with the new names of entities, as in the operations and the classes.
    let renamed = model.renamingEntities(renaming, beside: schema)
    try schema.checkHints(from: model, renamed, beside: renaming)
    let operations = SchemaDifference.operations(from: model, to: schema, renaming: renaming)
    let step = MigrationStep(number: version + 1, name: "proposal", operations: operations)
    let compiled = try? step.compiled(from: model, engine: .current)
    return MigrationProposal(
      operations: operations,
      doubts: MigrationRenaming.doubts(in: operations, from: renamed),
      losses: compiled?.losses ?? operations.compactMap(\.subject.lost), emptied: compiled?.emptied ?? [:],
      remarks: operations.compactMap { $0.rules.advice(in: renamed) }
        + Self.faults(step, from: model, to: schema),
      doneHints: schema.renamingDoubts(from: renamed, beside: renaming))
  }

  /// Refuses renamings that contradict each other, do not fit the old model, or have a name that the new
  /// model lacks.
  private static func check(_ renaming: [MigrationRenaming], from old: Schema, to new: Schema)
    throws(StoreError)
  {
    var model = old
    for (index, next) in renaming.enumerated() {
      guard let other = renaming[..<index].first(where: { $0.collides(with: next) }) else { continue }
      throw next.contradiction(to: other)
    }
    for renaming in MigrationRenaming.inOrder(renaming, beside: old.allNames.union(new.allNames)) {
      guard let operation = renaming.operation(in: model) else { throw renaming.failure(in: model) }
      do { try operation.apply(to: &model) } catch { throw renaming.refusal(in: model, error) }
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

  /// Returns the differences that would remain after the operations, as text.
  private static func faults(_ step: MigrationStep, from model: Schema, to schema: Schema) -> [String] {
    guard !step.operations.isEmpty else { return [] }
    do {
      let reached = try step.applied(to: model)
      return SchemaDifference.lines(
        reached, against: schema, found: "these lines", expected: "the classes")
    } catch { return ["These lines cannot be run as they are: \(error)"] }
  }
}

extension MigrationRenaming {
  /// For a renaming of a property that names its entity by the former name, returns it with the new name.
  /// Returns any other renaming unchanged.
  fileprivate func following(_ entities: [MigrationRenaming], in schema: Schema) -> MigrationRenaming {
    guard case .property(let entity, let name, let new) = self, schema.entity(named: entity) == nil else {
      return self
    }
    for case .entity(entity, let newEntity) in entities { return .property(entity: newEntity, name, to: new) }
    return self
  }

  /// Returns the error for two renamings of one name, or to one name.
  func contradiction(to other: MigrationRenaming) -> StoreError {
    .renamingRefused(
      "\(self)",
      reason: renamesSame(as: other)
        ? "\(other) renames \(oldPath) as well; remove one of the two"
        : "\(other) gives the name \(newPath) as well; remove one of the two")
  }

  /// Returns the error for a renaming that does not fit a model, mostly because the new name is taken.
  fileprivate func refusal(in model: Schema, _ error: ModelError) -> StoreError {
    let names =
      switch self {
      case .entity: model.entities.map(\.name)
      case .property(let entity, _, _): model.entity(named: entity)?.propertyNames ?? []
      }
    let isTaken = names.contains { $0.lowercased() == newName.lowercased() }
    return .renamingRefused(
      "\(self)",
      reason: isTaken
        ? "the steps already have \(newPath); first drop it in a step of its own, or pass its renaming as "
          + "well"
        : error.reason)
  }

  /// The former name: `User`, or `User.name`.
  package var oldPath: String { path(oldName) }
  var newPath: String { path(newName) }
  private func path(_ name: String) -> String {
    if case .property(let entity, _, _) = self { "\(entity).\(name)" } else { name }
  }

  /// Returns the error for a renaming of something that a model does not have.
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

  /// Returns the possible renamings: pairs of a dropped and an added entity or property that are alike.
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
  /// Whether the two entities have at least half of their properties' names in common.
  fileprivate func resembles(_ other: EntityDescription) -> Bool {
    let (own, others) = (Set(propertyNames), Set(other.propertyNames))
    return own.intersection(others).count * 2 >= max(own.count, others.count, 1)
  }
}
