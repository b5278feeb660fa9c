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
  /// The to-manys that stay and have no members any more, by the loss that takes these away, such as `Post.user` and
  /// `User.posts`.
  public let emptied: [String: [String]]
  /// What a person has to look at before the step can be used.
  public var notes: [String] { remarks + servedHints.map(\.note) }
  /// The notes but for those of ``servedHints``.
  package let remarks: [String]
  /// What a class says of former names, and may have been done.
  package let servedHints: [RenamingDoubt]

  /// The operations as a migration file has them.
  public var lines: [String] { operations.map(\.description) }

  /// The losses as a person reads them, each with what it takes along under another name.
  package var lossTexts: [String] { losses.map { lossText($0, emptied) } }
}

extension MigrationSet {
  /// What leads from the model after the last step to a schema.
  /// - Parameters:
  ///   - schema: That of the classes.
  ///   - renaming: What has another name now. What a class or the schema says by `.renamed(from:)` needs no repetition.
  /// - Throws: As ``model(at:)``; ``StoreError/noEntity(name:similar:)``,
  ///   ``StoreError/noProperty(entity:property:similar:)`` for a renaming of something that is not there;
  ///   ``StoreError/renamingRefused(_:reason:)`` for two that contradict each other, and for a new name that the steps have.
  public func proposal(
    for schema: Schema, renaming: [MigrationRenaming] = []
  ) throws -> MigrationProposal {
    let model = try model(at: version)
    // Properties go by the new names of their entities, and whoever says them by the former ones is understood.
    let entities = schema.renamings(renaming.filter(\.isOfEntity), from: model)
    let renaming = entities + renaming.filter { !$0.isOfEntity }.map { $0.following(entities, in: schema) }
    try Self.check(renaming, from: model, to: schema)
    // What operations and classes say of entities, they say by the new names.
    let renamed = model.renamingEntities(renaming, beside: schema)
    try schema.checkHints(from: model, renamed, beside: renaming)
    let operations = SchemaDifference.operations(from: model, to: schema, renaming: renaming)
    let step = MigrationStep(number: version + 1, name: "proposal", operations: operations)
    let compiled = try? step.compiled(from: model, engine: .current)
    return MigrationProposal(
      operations: operations,
      doubts: MigrationRenaming.doubts(in: operations, from: renamed),
      losses: compiled?.losses ?? operations.compactMap(\.subject.lost), emptied: compiled?.emptied ?? [:],
      remarks: operations.compactMap { $0.rules.advice(in: renamed) } + Self.faults(step, model, schema),
      servedHints: schema.renamingDoubts(from: renamed, beside: renaming))
  }

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
  /// A property by the new name of its entity, where it was told by the former one.
  fileprivate func following(_ entities: [MigrationRenaming], in schema: Schema) -> MigrationRenaming {
    guard case .property(let entity, let name, let new) = self, schema.entity(named: entity) == nil else {
      return self
    }
    for case .entity(entity, let newEntity) in entities { return .property(entity: newEntity, name, to: new) }
    return self
  }

  /// That another one renames the same, or to the same.
  func contradiction(to other: MigrationRenaming) -> StoreError {
    .renamingRefused(
      "\(self)",
      reason: renamesSame(as: other)
        ? "\(other) renames \(oldPath), too; leave one of the two out"
        : "\(other) gives the name \(newPath), too; leave one of the two out")
  }

  /// Why it does not fit a model: most often the new name is somebody else's.
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
        ? "\(newPath) is in the steps already; drop it in a step of its own before, or say how it is called now"
        : error.reason)
  }

  /// What it was called: `User`, or `User.name`.
  package var oldPath: String { path(oldName) }
  var newPath: String { path(newName) }
  private func path(_ name: String) -> String {
    if case .property(let entity, _, _) = self { "\(entity).\(name)" } else { name }
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
