// Operations that consist of other operations. A composite operation changes a model as these do, one
// after the other. In the store, checks and SQL of the library run between them. Support for both
// engines, renaming and the checks of the model come from these operations.

internal import CipherSQLite

/// A part of a composite operation.
enum CompositePart {
  case operation(MigrationOperation)
  /// A check that must count no row at this point.
  case check(CompiledStatement)
  /// SQL that changes rows at this point.
  case sql(SQL)
}

/// An operation that consists of other operations.
protocol CompositeOperation: OperationRules, CustomStringConvertible {
  /// The parts, in order.
  func parts(in model: Schema) throws(ModelError) -> [CompositePart]
  /// The properties and entities that its parts drop, but whose values are kept elsewhere, such as
  /// `User.city`.
  func kept(in model: Schema) -> Set<String>
  /// The losses that it reports in addition to the losses of its parts.
  func losses(in model: Schema) -> [String]
  /// The columns that it fills with values of other columns.
  func filled(in model: Schema) -> [TransformAccess.Place]
  /// The operations that undo this one, applied to the model after it.
  /// - Parameters:
  ///   - model: The model before this operation.
  ///   - isNew: Whether the step created an entity before this operation.
  func rollback(from model: Schema, isNew: (String) -> Bool) -> MigrationRollback
  /// Records in `trail` the properties whose values differ afterwards, or are stored elsewhere.
  /// - Parameter model: The model before this operation.
  func note(in trail: inout NameHistory, _ mapping: SegmentMapping, _ model: Schema)
}

extension CompositeOperation {
  var text: OperationText { .line(description) }
  var work: OperationWork { .parts(self) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: true, completesInverses: true, breaksReaders: true,
      hasForeignSQL: false)
  }
  var refusesLate: Bool { true }

  func change(_ model: inout Schema) throws(ModelError) {
    for operation in try operations(in: model) { try operation.apply(to: &model) }
  }

  // The next two functions do nothing: the compiler calls those of each operation among the parts.
  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}

  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    rollback(from: model) { mapping.entities[$0] == nil }
  }

  /// The operations among the parts.
  func operations(in model: Schema) throws(ModelError) -> [MigrationOperation] {
    try parts(in: model).compactMap { if case .operation(let operation) = $0 { operation } else { nil } }
  }
}

extension Schema {
  /// The entity of this name.
  /// - Throws: ``ModelError`` if there is none; it suggests a similar name.
  func known(_ entity: String) throws(ModelError) -> EntityDescription {
    if let found = self.entity(named: entity) { return found }
    let hint = didYouMean(nearest(entity, among: entities.map(\.name)))
    throw ModelError(reason: "there is no entity \(entity)\(hint.map { "; \($0)" } ?? "")")
  }

  /// The relationship that an entity declares under this name.
  /// - Throws: ``ModelError`` if there is none; it suggests a similar name.
  func known(_ entity: String, relationship name: String) throws(ModelError) -> RelationshipDescription {
    let owner = try known(entity)
    if let found = owner.relationship(named: name) { return found }
    let hint = didYouMean(nearest(name, among: owner.relationships.map(\.name)))
    throw ModelError(reason: "there is no relationship \(entity).\(name)\(hint.map { "; \($0)" } ?? "")")
  }
}

extension Schema {
  /// A relationship that an entity declares or inherits.
  /// - Throws: ``ModelError`` if there is none; it suggests a similar name.
  func known(_ entity: String, inherited name: String) throws(ModelError) -> RelationshipDescription {
    if let found = flattenedEntity(named: entity)?.relationship(named: name) { return found }
    return try known(entity, relationship: name)
  }

  /// The names of an entity and of its ancestors, from the root down.
  func line(of name: String) -> [String] {
    guard let entity = entity(named: name) else { return [name] }
    return ancestors(of: entity).map(\.name) + [name]
  }

  /// The columns that a statement must set in a new row, with their values, because the table has no
  /// default for them: the column with the entity's name, and the attributes with a default that the
  /// entity or an ancestor below the root declares. Empty for a root entity.
  func beginnings(of name: String) -> [(column: SQLName, value: SQL)] {
    guard let entity = entity(named: name), entity.parent != nil else { return [] }
    let below = ancestors(of: entity).dropFirst() + [entity]
    return [(SQLName(EntityColumn.name), "\(literal: name)")]
      + below.flatMap(\.attributes).compactMap { attribute in
        attribute.defaultValue.map { (SQLName(attribute.name), "\(written: $0.sql)") }
      }
  }
}

/// Returns `name`, or, if it is taken, `name` with the first free number after it.
func freeName(_ name: String, among names: Set<String>) -> String {
  let taken = Set(names.map { $0.lowercased() })
  let candidates = (0...taken.count).lazy.map { "\(name)\($0 == 0 ? "" : "\($0)")" }
  return candidates.first { !taken.contains($0.lowercased()) } ?? name
}

extension Schema {
  /// Throws if the relationship is ordered: operations that turn rows into other objects do not keep the
  /// order.
  func requireNoOrder(_ entity: String, _ relationship: String?) throws(ModelError) {
    guard let relationship, self.entity(named: entity)?.relationship(named: relationship)?.isOrdered == true
    else { return }
    throw ModelError(
      reason:
        "\(entity).\(relationship) is ordered, and its order would be lost; if that is intended, first "
        + "write: make \(entity).\(relationship) unordered"
    )
  }
}
