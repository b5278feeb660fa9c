// The operations `set parent of E to P` and `set parent of E to none`. ParentChange derives the effect on
// the model, ParentRows makes the SQL.

struct SetParent: TableOperation {
  let entity: String
  let parent: String?

  static let forms = [
    OperationForm("set", "parent") { line in
      try line.expect("of")
      let entity = try line.name("the entity's name")
      try line.expect("to")
      return [.setParent(entity, to: line.take("none") ? nil : try line.name("the parent's name, or none"))]
    }
  ]
  var text: OperationText { .line("set parent of \(entity) to \(parent ?? "none")") }
  var subject: OperationSubject { .movedEntity(entity, below: parent) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: true, completesInverses: true, breaksReaders: true,
      hasForeignSQL: false)
  }
  var indexedEntity: String? { entity }

  func change(_ model: inout Schema) throws(ModelError) { try model.setParent(of: entity, to: parent) }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) throws(ModelError) {
    mapping.follow(try ParentChange(entity, to: parent, in: model))
  }

  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    guard let change = try? ParentChange(entity, to: parent, in: model), change.way == .within else {
      return .none(reason: "its objects move to another table and get other ids")
    }
    return change.losses(in: model).isEmpty
      ? .operations([.setParent(entity, to: change.entity.parent)])
      : .none(reason: "the inherited values are lost")
  }

  func advice(in model: Schema) -> String? {
    guard let lacking = lackingValues(in: model) else { return nil }
    return "\(lacking), but existing rows have no value; \(Self.advice)"
  }

  private static let advice =
    "first add a property of that name with filling, which then becomes the inherited one"

  /// A clause that names the required properties which the entity will inherit and its objects lack; nil
  /// if there are none.
  private func lackingValues(in model: Schema) -> String? {
    guard let change = try? ParentChange(entity, to: parent, in: model),
      let own = model.flattenedEntity(named: entity)?.propertyNames
    else { return nil }
    let required =
      change.joined.flatMap(\.attributes).filter { !$0.isOptional && $0.defaultValue == nil }.map(\.name)
      + change.joined.flatMap(\.relationships).filter(\.isRequired).map(\.name)
    let lacking = required.filter { !own.contains($0) }
    guard !lacking.isEmpty else { return nil }
    return
      "\(entity) inherits \(lacking.joined(separator: ", ")), which \(lacking.count == 1 ? "is" : "are") required"
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    guard let parent, let change = try? ParentChange(entity, to: parent, in: place.model) else { return [] }
    let lacking = place.existed(entity) ? lackingValues(in: place.model) : nil
    return
      (lacking.map {
        [(.requiresWithoutFilling, "\($0), but existing rows have no value; \(Self.advice)")]
      } ?? [])
      + change.lostIndexes.map { index in
        (
          .losesIndex,
          "the index \(entity)\(index.text) is dropped, because \(parent) has none; to keep one, write: add "
            + "index \(parent)\(index.text)"
        )
      }
  }
}
