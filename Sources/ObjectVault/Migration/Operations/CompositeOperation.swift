// Operations that stand for others: what they do to a model is what these do, one after another, and what they do to a
// file is the same with SQL of ours in between. So both engines, names and checks are those of the parts.

internal import CipherSQLite

/// A piece of a composite operation.
enum CompositePart {
  case operation(MigrationOperation)
  /// What must count no row at this point.
  case check(CompiledStatement)
  /// Rows at this point.
  case sql(SQL)
}

/// An operation that stands for others.
protocol CompositeOperation: OperationRules, CustomStringConvertible {
  /// The pieces, in order.
  func parts(in model: Schema) throws(ModelError) -> [CompositePart]
  /// What of the losses of its pieces is kept elsewhere, such as `User.city`.
  func kept(in model: Schema) -> Set<String>
  /// What it loses beside those of its pieces.
  func losses(in model: Schema) -> [String]
  /// The columns that it fills with values of others.
  func filled(in model: Schema) -> [TransformAccess.Place]
  /// What takes it back, on the model after it.
  /// - Parameters:
  ///   - model: The model before it.
  ///   - isNew: Whether the step has made an entity before.
  func wayBack(from model: Schema, isNew: (String) -> Bool) -> MigrationWayBack
  /// Tells a trail which values are others afterwards, or elsewhere.
  /// - Parameter model: The model before it.
  func note(in trail: inout NameTrail, _ mapping: SegmentMapping, _ model: Schema)
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

  // Its parts are asked by themselves.
  func needsOwnRun(behind mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}

  func wayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack {
    wayBack(from: model) { mapping.entities[$0] == nil }
  }

  /// The operations among the pieces.
  func operations(in model: Schema) throws(ModelError) -> [MigrationOperation] {
    try parts(in: model).compactMap { if case .operation(let operation) = $0 { operation } else { nil } }
  }
}

extension Schema {
  /// - Throws: ``ModelError`` that says what there is instead.
  func known(_ entity: String) throws(ModelError) -> EntityDescription {
    if let found = self.entity(named: entity) { return found }
    let hint = didYouMean(nearest(entity, among: entities.map(\.name)))
    throw ModelError(reason: "there is no entity \(entity)\(hint.map { "; \($0)" } ?? "")")
  }

  /// - Throws: ``ModelError`` that says what there is instead.
  func known(_ entity: String, relationship name: String) throws(ModelError) -> RelationshipDescription {
    let owner = try known(entity)
    if let found = owner.relationship(named: name) { return found }
    let hint = didYouMean(nearest(name, among: owner.relationships.map(\.name)))
    throw ModelError(reason: "there is no relationship \(entity).\(name)\(hint.map { "; \($0)" } ?? "")")
  }
}

extension Schema {
  /// A relationship that an entity has, of its own or from above.
  /// - Throws: ``ModelError`` that says what there is instead.
  func known(_ entity: String, inherited name: String) throws(ModelError) -> RelationshipDescription {
    if let found = flattenedEntity(named: entity)?.relationship(named: name) { return found }
    return try known(entity, relationship: name)
  }

  /// The names of an entity and of those above it, from the root down: what its objects are.
  func line(of name: String) -> [String] {
    guard let entity = entity(named: name) else { return [name] }
    return ancestors(of: entity).map(\.name) + [name]
  }

  /// What a row of an entity is given that a statement makes, where the file has no default for it.
  func beginnings(of name: String) -> [(column: SQLName, value: SQL)] {
    guard let entity = entity(named: name), entity.parent != nil else { return [] }
    let below = ancestors(of: entity).dropFirst() + [entity]
    return [(SQLName(EntityColumn.name), "\(literal: name)")]
      + below.flatMap(\.attributes).compactMap { attribute in
        attribute.defaultValue.map { (SQLName(attribute.name), "\(written: $0.sql)") }
      }
  }
}

/// A name like this one that nobody has yet.
func freeName(_ name: String, among names: Set<String>) -> String {
  let taken = Set(names.map { $0.lowercased() })
  let candidates = (0...taken.count).lazy.map { "\(name)\($0 == 0 ? "" : "\($0)")" }
  return candidates.first { !taken.contains($0.lowercased()) } ?? name
}

extension Schema {
  /// Operations that make other objects of rows keep no order of them.
  func requireNoOrder(_ entity: String, _ relationship: String?) throws(ModelError) {
    guard let relationship, self.entity(named: entity)?.relationship(named: relationship)?.isOrdered == true
    else { return }
    throw ModelError(
      reason:
        "\(entity).\(relationship) is ordered, and its order would be lost; say so before: make \(entity).\(relationship) unordered"
    )
  }
}
