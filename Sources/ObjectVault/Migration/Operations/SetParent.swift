// `set parent of E to P`, `set parent of E to none`. What it comes to is in ParentChange, the SQL in MigrationCompiler+Parents.

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
      movesLinks: true, rewritesValues: true, completesInverses: true, breaksReaders: true,
      hasForeignSQL: false)
  }
  var indexedEntity: String? { entity }

  func change(_ model: inout Schema) throws(ModelError) { try model.setParent(of: entity, to: parent) }

  func needsOwnRun(behind mapping: SegmentMapping) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) throws(ModelError) {
    mapping.follow(try ParentChange(entity, to: parent, in: model))
  }

  func wayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack {
    guard let change = try? ParentChange(entity, to: parent, in: model), change.way == .within else {
      return .none(reason: "its objects lie in another table, and have other ids there or here")
    }
    return change.losses(in: model).isEmpty
      ? .operations([.setParent(entity, to: change.entity.parent)])
      : .none(reason: "what it inherited is gone")
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    guard let parent, let change = try? ParentChange(entity, to: parent, in: place.model) else { return [] }
    return change.lostIndexes.map { properties in
      let names = properties.joined(separator: ", ")
      return (
        .losesIndex,
        "the index \(entity)(\(names)) goes, as \(parent) has none; to have one write: add index \(parent)(\(names))"
      )
    }
  }
}
