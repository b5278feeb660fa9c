// What each operation does to a model. Pure: replaying all steps gives the model at any version.

extension MigrationStep {
  /// The model after this step.
  func applied(to schema: Schema) throws -> Schema {
    let former = schema
    var schema = schema
    for operation in operations {
      do { try operation.apply(to: &schema) } catch { throw failed(operation, error.reason) }
    }
    let faults = schema.modelFaults(after: former)
    guard faults.isEmpty else { throw failed(faults, of: former) }
    return schema
  }

  /// A failure with what is wrong in the model behind the step, laid to the operations that made it so.
  func failed(_ faults: [SchemaFault], of former: Schema) -> StoreError {
    var (model, present, names): (Schema, Set<SchemaFault>, [SchemaFault: String]) = (former, [], [:])
    for operation in operations {
      guard (try? operation.apply(to: &model)) != nil else { break }
      let found = Set(model.modelFaults)
      for fault in found.subtracting(present) { names[fault] = operation.summary }
      present = found
    }
    var makers: [String] = []
    for name in faults.compactMap({ names[$0] }) where !makers.contains(name) { makers.append(name) }
    return failed(
      makers.isEmpty ? operations.last?.summary ?? "" : makers.joined(separator: "; "),
      faults.map { "\($0)" }.joined(separator: " "))
  }

  func failed(_ operation: MigrationOperation, _ reason: String) -> StoreError {
    failed(operation.summary, reason)
  }

  func failed(_ operation: String, _ reason: String) -> StoreError {
    .migrationFailed(step: number, name: name, operation: operation, reason: Self.withoutStop(reason))
  }

  /// What a plan tells before, where it can.
  func refused(_ operation: String, _ reason: String) -> StoreError {
    .rowsRefused(step: number, name: name, operation: operation, reason: Self.withoutStop(reason))
  }

  private static func withoutStop(_ reason: String) -> String {
    reason.hasSuffix(".") ? String(reason.dropLast()) : reason
  }
}

extension MigrationOperation {
  func apply(to schema: inout Schema) throws(ModelError) {
    guard !schema.rawObjects.isEmpty || isAboutRawObjects else { return try change(&schema) }
    let former = schema
    try change(&schema)
    schema.renameInRawObjects(self, former)
    try schema.requireRawNames(after: former)
  }

  private var isAboutRawObjects: Bool {
    switch self {
    case .createRawObject, .dropRawObject: true
    default: false
    }
  }

  private func change(_ schema: inout Schema) throws(ModelError) {
    if schema.hasFamilies { try checkFamily(in: schema) }
    switch self {
    case .createEntity(let entity):
      guard schema.entity(named: entity.name) == nil else {
        throw ModelError(reason: "\(entity.name) exists already")
      }
      for attribute in entity.attributes { try attribute.requireDefault() }
      if let parent = entity.parent {
        _ = try schema.index(of: parent)
        try schema.requireFreeNames(of: entity)
      }
      // At its place: a first step makes all of them, and a schema made anew for each would look at all again.
      schema.entities.insert(
        contentsOf: Schema(entities: [entity]).entities, at: schema.entityPlace(entity.name))
    case .dropEntity(let name):
      let dropped = schema.entities[try schema.index(of: name)]
      let below = schema.children(of: dropped).map(\.name)
      guard below.isEmpty else {
        let them = below.count == 1 ? ("inherits", "that") : ("inherit", "them")
        throw ModelError(
          reason: "\(below.joined(separator: ", ")) \(them.0) from it; drop \(them.1) first")
      }
      schema.entities.removeAll { $0.name == name }
      let left = schema.entities.flatMap { entity in
        entity.relationships.filter { $0.destination == name }.map { "\(entity.name).\($0.name)" }
      }
      guard left.isEmpty else {
        throw ModelError(reason: "\(left.joined(separator: ", ")) still lead to it; drop them first")
      }
    case .renameEntity(let name, let new): try schema.rename(name, to: new)
    case .setParent(let entity, let parent): try schema.setParent(of: entity, to: parent)
    case .addAttribute(let entity, let attribute):
      try schema.change(entity) { entity throws(ModelError) in
        try entity.requireFree(attribute.name)
        try attribute.requireDefault()
        entity.attributes.append(attribute)
        entity.attributes[entity.attributes.count - 1].normalizeDefault()
      }
    case .dropAttribute(let entity, let name):
      try schema.change(entity) { entity throws(ModelError) in
        let index = try entity.attributeIndex(name)
        try entity.requireUnindexed(name)
        entity.attributes.remove(at: index)
      }
    case .renameAttribute(let entity, let name, let new):
      try schema.change(entity) { entity throws(ModelError) in
        let index = try entity.attributeIndex(name)
        try entity.requireFree(new)
        entity.attributes[index].name = new
        entity.renameInIndexes(name, new)
      }
      schema.renameInIndexes(below: entity, name, new)
    case .retype(let entity, let name, let type, let using):
      try schema.changeAttribute(entity, name) { attribute throws(ModelError) in
        guard using != nil || attribute.type.converts(to: type) else {
          throw ModelError(
            reason:
              "\(attribute.type.rawValue) does not become \(type.rawValue) by itself; say how: using (SQL)")
        }
        attribute.retype(to: type)
      }
    case .retypeBySwift(let entity, let name, let type, _):
      try schema.changeAttribute(entity, name) { $0.retype(to: type) }
    case .makeRequired(let entity, let name, let filling):
      try schema.requireFilling(filling, entity, name)
      if try schema.changeRelationship(entity, name, { $0.isRequired = true }) { return }
      try schema.changeAttribute(entity, name) { $0.isOptional = false }
    case .makeOptional(let entity, let name):
      if try schema.changeRelationship(entity, name, { $0.isRequired = false }) { return }
      try schema.changeAttribute(entity, name) { $0.isOptional = true }
    case .setDefault(let entity, let name, let value):
      try schema.changeAttribute(entity, name) { attribute throws(ModelError) in
        attribute.defaultValue = value
        try attribute.requireDefault()
        attribute.normalizeDefault()
      }
    case .addRelationship(let entity, let relationship):
      try schema.change(entity) { entity throws(ModelError) in
        try entity.requireFree(relationship.name)
        entity.relationships.append(relationship)
      }
    case .dropRelationship(let entity, let name): try schema.dropRelationship(entity, name)
    case .setDeleteRule(let entity, let name, let rule):
      guard try schema.changeRelationship(entity, name, { $0.deleteRule = rule }) else {
        throw ModelError(reason: "there is no relationship \(entity).\(name)")
      }
    case .makeEntityRelationship(let change): try schema.apply(change)
    case .makeRelationshipEntity(let change): try schema.apply(change)
    case .moveAttributes(let move): try schema.apply(move)
    case .mergeEntities(let merge): try schema.apply(merge)
    case .makeMany(let entity, let name): try schema.changeNumber(entity, name, toMany: true)
    case .makeOne(let entity, let name, _): try schema.changeNumber(entity, name, toMany: false)
    case .makeOrdered(let entity, let name): try schema.changeOrder(entity, name, isOrdered: true)
    case .makeUnordered(let entity, let name): try schema.changeOrder(entity, name, isOrdered: false)
    case .renameRelationship(let entity, let name, let new): try schema.renameRelationship(entity, name, new)
    case .addIndex(let entity, let index): try schema.addIndex(entity, index)
    case .dropIndex(let entity, let names): try schema.dropIndex(entity, names)
    case .transformSwift(let transform): try transform.check(in: schema)
    case .createRawObject(let object): try schema.add(object)
    case .dropRawObject(let kind, let name): try schema.dropRawObject(kind, name)
    case .transform, .seed, .require: break
    }
    if completesInverses { schema.completeInverses() }
  }
}

extension AttributeDescription {
  fileprivate mutating func retype(to type: AttributeType) {
    self.type = type
    // A default goes along where it is a value of the new type, too.
    if defaultValue?.problem(for: type) != nil { defaultValue = nil }
    normalizeDefault()
  }
}

extension EntityDescription {
  fileprivate func requireFree(_ name: String) throws(ModelError) {
    guard !propertyNames.contains(name) else {
      throw ModelError(reason: "\(self.name).\(name) exists already")
    }
  }

  fileprivate func attributeIndex(_ name: String) throws(ModelError) -> Int {
    guard let index = attributes.firstIndex(where: { $0.name == name }) else {
      throw ModelError(
        reason: "there is no attribute \(self.name).\(name)\(Self.hint(name, attributes.map(\.name)))")
    }
    return index
  }

  fileprivate static func hint(_ name: String, _ names: [String]) -> String {
    didYouMean(nearest(name, among: names)).map { "; \($0)" } ?? ""
  }

  fileprivate func requireUnindexed(_ name: String) throws(ModelError) {
    if let index = indexes.first(where: { $0.properties.contains(name) }) {
      throw ModelError(
        reason: "the index \(self.name)(\(index.properties.joined(separator: ", "))) uses it; drop that first"
      )
    }
  }

  mutating func renameInIndexes(_ name: String, _ new: String) {
    for index in indexes.indices {
      indexes[index].properties = indexes[index].properties.map { $0 == name ? new : $0 }
    }
  }
}

extension Schema {
  /// The operations that make it of nothing.
  var creation: [MigrationOperation] {
    canonical.parentsFirst.map { .createEntity($0) } + rawObjects.map { .createRawObject($0) }
  }

  fileprivate mutating func apply(_ composite: some CompositeOperation) throws(ModelError) {
    for operation in try composite.operations(in: self) { try operation.apply(to: &self) }
  }

  fileprivate func index(of name: String) throws(ModelError) -> Int {
    guard let index = entities.firstIndex(where: { $0.name == name }) else {
      throw ModelError(
        reason: "there is no entity \(name)\(EntityDescription.hint(name, entities.map(\.name)))")
    }
    return index
  }

  fileprivate mutating func change(
    _ name: String, _ body: (inout EntityDescription) throws(ModelError) -> Void
  ) throws(ModelError) {
    try body(&entities[index(of: name)])
  }

  fileprivate mutating func changeAttribute(
    _ entity: String, _ name: String, _ body: (inout AttributeDescription) throws(ModelError) -> Void
  ) throws(ModelError) {
    try change(entity) { entity throws(ModelError) in
      try body(&entity.attributes[entity.attributeIndex(name)])
    }
  }

  fileprivate func requireFilling(_ filling: DefaultValue?, _ entity: String, _ name: String)
    throws(ModelError)
  {
    guard let filling, let owner = self.entity(named: entity) else { return }
    if let type = owner.attribute(named: name)?.type, let problem = filling.problem(for: type) {
      throw ModelError(reason: problem)
    }
    guard owner.relationship(named: name) != nil else { return }
    if case .integer(let id) = filling, id > 0 { return }
    throw ModelError(reason: "\(filling.text) is no id of an object, and a to-one is filled with one")
  }

  /// Changes a to-one of this name; false when there is none.
  fileprivate mutating func changeRelationship(
    _ entity: String, _ name: String, _ body: (inout RelationshipDescription) -> Void
  ) throws(ModelError) -> Bool {
    let owner = try index(of: entity)
    guard let index = entities[owner].relationships.firstIndex(where: { $0.name == name }) else {
      return false
    }
    body(&entities[owner].relationships[index])
    return true
  }

  fileprivate mutating func rename(_ name: String, to new: String) throws(ModelError) {
    guard entity(named: new) == nil else { throw ModelError(reason: "\(new) exists already") }
    entities[try index(of: name)].name = new
    for entity in entities.indices {
      if entities[entity].parent == name { entities[entity].parent = new }
      for index in entities[entity].relationships.indices
      where entities[entity].relationships[index].destination == name {
        entities[entity].relationships[index].destination = new
      }
    }
    entities.sort { $0.name < $1.name }
  }

  private func relationshipIndex(_ owner: Int, _ name: String) throws(ModelError) -> Int {
    guard let index = entities[owner].relationships.firstIndex(where: { $0.name == name }) else {
      let hint = EntityDescription.hint(name, entities[owner].relationships.map(\.name))
      throw ModelError(reason: "there is no relationship \(entities[owner].name).\(name)\(hint)")
    }
    return index
  }

  /// The relationship at the other end that names this one as its inverse.
  private func back(_ entity: String, _ name: String) -> (Int, Int)? {
    for (owner, description) in entities.enumerated() {
      if let index = description.relationships.firstIndex(where: {
        $0.destination == entity && $0.inverse == name
      }) {
        return (owner, index)
      }
    }
    return nil
  }

  fileprivate mutating func dropRelationship(_ entity: String, _ name: String) throws(ModelError) {
    let owner = try index(of: entity)
    let index = try relationshipIndex(owner, name)
    try entities[owner].requireUnindexed(name)
    if let (other, back) = back(entity, name) { entities[other].relationships[back].inverse = nil }
    entities[owner].relationships.remove(at: index)
  }

  fileprivate mutating func changeNumber(_ entity: String, _ name: String, toMany: Bool) throws(ModelError) {
    let owner = try index(of: entity)
    let index = try relationshipIndex(owner, name)
    let relationship = entities[owner].relationships[index]
    guard relationship.isToMany != toMany else {
      throw ModelError(reason: "\(entity).\(name) is \(toMany ? "many" : "one") already")
    }
    guard relationship.destination != entity || relationship.inverse != name else {
      throw ModelError(reason: "\(entity).\(name) is its own inverse, and has no other end that stays")
    }
    try entities[owner].requireUnindexed(name)
    entities[owner].relationships[index].isToMany = toMany
    // Of none nobody can say that it is required.
    entities[owner].relationships[index].isRequired = false
    // One has no order; and many have one when that is asked for.
    entities[owner].relationships[index].isOrdered = false
  }

  fileprivate mutating func changeOrder(_ entity: String, _ name: String, isOrdered: Bool) throws(ModelError)
  {
    let owner = try index(of: entity)
    let index = try relationshipIndex(owner, name)
    guard entities[owner].relationships[index].isToMany else {
      throw ModelError(
        reason: "\(entity).\(name) leads to one object, and only members of a to-many have an order")
    }
    guard entities[owner].relationships[index].isOrdered != isOrdered else {
      throw ModelError(reason: "\(entity).\(name) is \(isOrdered ? "" : "un")ordered already")
    }
    entities[owner].relationships[index].isOrdered = isOrdered
  }

  fileprivate mutating func renameRelationship(_ entity: String, _ name: String, _ new: String)
    throws(ModelError)
  {
    let owner = try index(of: entity)
    let index = try relationshipIndex(owner, name)
    try entities[owner].requireFree(new)
    if let (other, back) = back(entity, name) { entities[other].relationships[back].inverse = new }
    entities[owner].relationships[index].name = new
    entities[owner].renameInIndexes(name, new)
    renameInIndexes(below: entity, name, new)
  }

  fileprivate mutating func addIndex(_ entity: String, _ index: IndexDescription) throws(ModelError) {
    let owner = try self.index(of: entity)
    let former = entities[owner]
    entities[owner].indexes.append(index)
    entities[owner].normalizeIndexes()
    // A to-one has an index by itself: asking for it again was no error in stores that migrated.
    let isOwn = index.properties.count == 1 && former.relationship(named: index.properties[0]) != nil
    guard entities[owner] != former || (isOwn && !index.isUnique) else {
      throw ModelError(reason: "this index exists already")
    }
  }

  fileprivate mutating func dropIndex(_ entity: String, _ names: [String]) throws(ModelError) {
    let owner = try index(of: entity)
    if names.count == 1,
      let attribute = entities[owner].attributes.firstIndex(where: { $0.name == names[0] }),
      entities[owner].attributes[attribute].isUnique || entities[owner].attributes[attribute].isIndexed
    {
      entities[owner].attributes[attribute].isUnique = false
      entities[owner].attributes[attribute].isIndexed = false
      return
    }
    guard let index = entities[owner].indexes.firstIndex(where: { $0.properties == names }) else {
      // That of a to-one stays with it.
      if names.count == 1, entities[owner].relationship(named: names[0])?.isToMany == false { return }
      throw ModelError(reason: "there is no index \(entity)(\(names.joined(separator: ", ")))")
    }
    entities[owner].indexes.remove(at: index)
  }
}
