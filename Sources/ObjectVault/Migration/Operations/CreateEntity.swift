// The operation `create entity E { … }`, with an optional parent and history: `create entity E : P history
// full { … }`.

struct CreateEntity: TableOperation {
  let entity: EntityDescription

  static let forms = [
    OperationForm(block: "create", "entity") { parser in
      var head = try parser.head()
      try head.expect("create")
      try head.expect("entity")
      var entity = EntityDescription(name: try head.name("the entity's name"))
      if head.take(":") { entity.parent = try head.name("the parent's name") }
      if head.take("history") { entity.history = try head.historyDetail() }
      try head.expect("{")
      try head.end()
      try parser.members(of: "create entity \(entity.name)") { try $0.member(of: &entity) }
      return .createEntity(entity)
    }
  ]
  var text: OperationText {
    .block(
      "create entity \(entity.name)\(entity.parent.map { " : \($0)" } ?? "")"
        + (entity.history.map { " history \($0.rawValue)" } ?? ""),
      lines: entity.memberLines.map { "    \($0)" })
  }
  var subject: OperationSubject { .madeEntity(entity) }
  var traits: OperationTraits {
    OperationTraits(
      // A program with the model before could not record what it does to the objects.
      rewritesValues: false, completesInverses: true, breaksReaders: entity.history != nil,
      hasForeignSQL: false)
  }

  func change(_ model: inout Schema) throws(ModelError) {
    guard model.entity(named: entity.name) == nil else {
      throw ModelError(reason: "\(entity.name) already exists")
    }
    for attribute in entity.attributes { try attribute.requireDefault() }
    if let parent = entity.parent {
      _ = try model.index(of: parent)
      try model.requireFreeNames(of: entity)
    }
    // Inserts at the sorted position. A new schema for each entity would check all entities again, and a
    // first step creates all of them.
    model.entities.insert(
      contentsOf: Schema(entities: [entity]).entities, at: model.entityPlace(entity.name))
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations([.dropEntity(entity.name)])
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    // If this step created the root entity too, older programs read none of its objects.
    guard place.hasOlderReaders, let root = entity.parent.map(place.model.root(of:)), place.existed(root)
    else {
      return []
    }
    return [
      (
        .readerTooOld,
        "reader: \(place.step.reader) lets programs of that version open the store, but these read objects "
          + "of \(entity.name) as objects of \(root)"
      )
    ]
  }
}

extension EntityDescription {
  /// The lines between the braces, in the order that checksums use.
  fileprivate var memberLines: [String] {
    attributes.sorted { $0.name < $1.name }.map { "attribute \($0.text)" }
      + relationships.sorted { $0.name < $1.name }.map { "relationship \($0.text)" }
      + indexes.map { "index \($0.text)" }.sorted()
  }
}
