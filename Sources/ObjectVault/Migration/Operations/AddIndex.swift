// The operations `add index E(a, b) unique` and `drop index E(a, b)`.

struct AddIndex: TableOperation {
  let entity: String
  let index: IndexDescription

  static let forms = [
    OperationForm("add", "index") { line in
      let entity = try line.name("the entity's name")
      return [
        .addIndex(entity, IndexDescription(properties: try line.names(), isUnique: line.take("unique")))
      ]
    }
  ]
  var text: OperationText {
    .line(
      "add index \(entity)(\(index.properties.joined(separator: ", ")))\(index.isUnique ? " unique" : "")")
  }
  var subject: OperationSubject { .madeIndex(entity, index.properties) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: index.isUnique,
      hasForeignSQL: false)
  }
  var indexedEntity: String? { entity }

  func change(_ model: inout Schema) throws(ModelError) {
    let owner = try model.index(of: entity)
    let former = model.entities[owner]
    model.entities[owner].indexes.append(index)
    model.entities[owner].normalizeIndexes()
    // Every to-one has an index. Adding it again changes nothing, but is accepted, because released steps
    // do it.
    let isOwn = index.properties.count == 1 && former.relationship(named: index.properties[0]) != nil
    guard model.entities[owner] != former || (isOwn && !index.isUnique) else {
      throw ModelError(reason: "this index already exists")
    }
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    let drop = MigrationOperation.dropIndex(entity, index.properties)
    // `drop index` removes the older index of the same properties first. So the rollback drops both indexes
    // and adds the older one again.
    guard let former = model.index(entity, index.properties) else { return .operations([drop]) }
    return .operations([drop, drop, .addIndex(entity, former)])
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    guard index.isUnique, place.existed(entity) else { return [] }
    return [
      (.uniqueOnExisting, "the step fails if two rows have equal values; a plan for a store counts them")
    ]
  }
}

struct DropIndex: TableOperation {
  let entity: String
  let names: [String]

  static let forms = [
    OperationForm("drop", "index") { [.dropIndex(try $0.name("the entity's name"), try $0.names())] }
  ]
  var text: OperationText { .line("drop index \(entity)(\(names.joined(separator: ", ")))") }
  var subject: OperationSubject { .droppedIndex(entity, names) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: false,
      hasForeignSQL: false)
  }

  func change(_ model: inout Schema) throws(ModelError) {
    let owner = try model.index(of: entity)
    if names.count == 1,
      let attribute = model.entities[owner].attributes.firstIndex(where: { $0.name == names[0] }),
      model.entities[owner].attributes[attribute].isUnique
        || model.entities[owner].attributes[attribute].isIndexed
    {
      model.entities[owner].attributes[attribute].isUnique = false
      model.entities[owner].attributes[attribute].isIndexed = false
      return
    }
    guard let index = model.entities[owner].indexes.firstIndex(where: { $0.properties == names }) else {
      // Every to-one has an index, which stays: dropping it does nothing.
      if names.count == 1, model.entities[owner].relationship(named: names[0])?.hasColumn == true { return }
      let known = model.entities[owner].indexedProperties.map {
        "\(entity)(\($0.joined(separator: ", ")))"
      }
      let others =
        known.isEmpty ? "\(entity) has no index" : "the indexes are \(known.joined(separator: ", "))"
      throw ModelError(reason: "there is no index \(entity)(\(names.joined(separator: ", "))); \(others)")
    }
    model.entities[owner].indexes.remove(at: index)
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations(model.index(entity, names).map { [.addIndex(entity, $0)] } ?? [])
  }
}

extension Schema {
  /// The index of exactly these properties, declared as an index or by an attribute. nil if there is none.
  fileprivate func index(_ entity: String, _ properties: [String]) -> IndexDescription? {
    guard let entity = self.entity(named: entity) else { return nil }
    if let index = entity.indexes.first(where: { $0.properties == properties }) { return index }
    guard properties.count == 1, let attribute = entity.attribute(named: properties[0]),
      attribute.isUnique || attribute.isIndexed
    else { return nil }
    return IndexDescription(properties: properties, isUnique: attribute.isUnique)
  }
}

extension EntityDescription {
  /// The properties of each index. The indexes of to-ones are not included, because they cannot be dropped.
  fileprivate var indexedProperties: [[String]] {
    attributes.filter { $0.isUnique || $0.isIndexed }.map { [$0.name] } + indexes.map(\.properties)
  }
}
