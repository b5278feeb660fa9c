// The operations `add index E(a, b) unique`, `add index E(a) ignoring case` and `drop index E(a, b)`.

struct AddIndex: TableOperation {
  let entity: String
  let index: IndexDescription

  static let forms = [
    OperationForm("add", "index") { line in
      let entity = try line.name("the entity's name")
      return [.addIndex(entity, try line.indexDescription())]
    }
  ]
  var text: OperationText {
    .line("add index \(entity)\(index.text)")
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
    let drop = MigrationOperation.dropIndex(entity, index.properties, index.comparing)
    // `drop index` removes the older index of the same properties first. So the rollback drops both indexes
    // and adds the older one again.
    guard let former = model.index(of: entity, index.properties, comparing: index.comparing) else {
      return .operations([drop])
    }
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
  /// What the index ignores.
  let comparing: StringOptions

  static let forms = [
    OperationForm("drop", "index") { line in
      [.dropIndex(try line.name("the entity's name"), try line.names(), try line.ignoring())]
    }
  ]
  var text: OperationText {
    .line("drop index \(entity)\(IndexDescription(properties: names, comparing: comparing).text)")
  }
  var subject: OperationSubject { .droppedIndex(entity, names) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: false,
      hasForeignSQL: false)
  }

  func change(_ model: inout Schema) throws(ModelError) {
    let owner = try model.index(of: entity)
    if names.count == 1, comparing.isEmpty,
      let attribute = model.entities[owner].attributes.firstIndex(where: { $0.name == names[0] }),
      model.entities[owner].attributes[attribute].isUnique
        || model.entities[owner].attributes[attribute].isIndexed
    {
      model.entities[owner].attributes[attribute].isUnique = false
      model.entities[owner].attributes[attribute].isIndexed = false
      return
    }
    guard
      let index = model.entities[owner].indexes.firstIndex(where: {
        $0.properties == names && $0.comparing == comparing
      })
    else {
      // Every to-one has an index, which stays: dropping it does nothing.
      if names.count == 1, comparing.isEmpty,
        model.entities[owner].relationship(named: names[0])?.hasColumn == true
      {
        return
      }
      let known = model.entities[owner].droppableIndexes.map { entity + $0.text }
      let others =
        known.isEmpty ? "\(entity) has no index" : "the indexes are \(known.joined(separator: ", "))"
      let wanted = IndexDescription(properties: names, comparing: comparing)
      throw ModelError(reason: "there is no index \(entity)\(wanted.text); \(others)")
    }
    model.entities[owner].indexes.remove(at: index)
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations(model.index(of: entity, names, comparing: comparing).map { [.addIndex(entity, $0)] } ?? [])
  }
}

extension Schema {
  /// The index of exactly these properties that ignores exactly this, declared as an index or by an
  /// attribute. nil if there is none.
  fileprivate func index(
    of entity: String, _ properties: [String], comparing: StringOptions
  ) -> IndexDescription? {
    guard let entity = self.entity(named: entity) else { return nil }
    let isWanted = { (index: IndexDescription) in
      index.properties == properties && index.comparing == comparing
    }
    if let index = entity.indexes.first(where: isWanted) { return index }
    guard properties.count == 1, comparing.isEmpty, let attribute = entity.attribute(named: properties[0]),
      attribute.isUnique || attribute.isIndexed
    else { return nil }
    return IndexDescription(properties: properties, isUnique: attribute.isUnique)
  }
}

extension EntityDescription {
  /// The indexes in the form in which `drop index` names them. Those of to-ones are not included, because
  /// they cannot be dropped.
  fileprivate var droppableIndexes: [IndexDescription] {
    attributes.filter { $0.isUnique || $0.isIndexed }.map { IndexDescription(properties: [$0.name]) }
      + indexes.map { IndexDescription(properties: $0.properties, comparing: $0.comparing) }
  }
}

extension MigrationLine {
  /// Parses the properties of an index, and its options.
  mutating func indexDescription() throws -> IndexDescription {
    let properties = try names()
    let isUnique = take("unique")
    return IndexDescription(properties: properties, isUnique: isUnique, comparing: try ignoring())
  }

  /// Parses what an index ignores: `ignoring case`, `ignoring diacritics` or `ignoring case diacritics`.
  mutating func ignoring() throws -> StringOptions {
    guard take("ignoring") else { return [] }
    var options: StringOptions = []
    if take("case") { options.insert(.caseInsensitive) }
    if take("diacritics") { options.insert(.diacriticInsensitive) }
    guard !options.isEmpty else {
      throw failure(
        "what the index ignores is missing", hint: "write ignoring case, or ignoring case diacritics")
    }
    return options
  }
}
