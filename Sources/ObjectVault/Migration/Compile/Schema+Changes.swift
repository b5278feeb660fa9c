// Changes of a model that several operations use, and errors for names that the model does not have.

extension Schema {
  func index(of name: String) throws(ModelError) -> Int {
    guard let index = entities.firstIndex(where: { $0.name == name }) else {
      throw ModelError(
        reason: "there is no entity \(name)\(EntityDescription.hint(name, entities.map(\.name)))")
    }
    return index
  }

  mutating func change(
    _ name: String, _ body: (inout EntityDescription) throws(ModelError) -> Void
  ) throws(ModelError) {
    try body(&entities[index(of: name)])
  }

  mutating func changeAttribute(
    of entity: String, named name: String, _ body: (inout AttributeDescription) throws(ModelError) -> Void
  ) throws(ModelError) {
    try change(entity) { entity throws(ModelError) in
      try body(&entity.attributes[entity.attributeIndex(name)])
    }
  }

  /// Changes a relationship; returns false if the entity has none of this name.
  mutating func changeRelationship(
    of entity: String, named name: String, _ body: (inout RelationshipDescription) -> Void
  ) throws(ModelError) -> Bool {
    let owner = try index(of: entity)
    guard let index = entities[owner].relationships.firstIndex(where: { $0.name == name }) else {
      return false
    }
    body(&entities[owner].relationships[index])
    return true
  }

  func relationshipIndex(_ owner: Int, _ name: String) throws(ModelError) -> Int {
    guard let index = entities[owner].relationships.firstIndex(where: { $0.name == name }) else {
      let hint = EntityDescription.hint(name, entities[owner].relationships.map(\.name))
      throw ModelError(reason: "there is no relationship \(entities[owner].name).\(name)\(hint)")
    }
    return index
  }

  /// Returns the relationship whose inverse is a given one: the index of its entity, and its own index in
  /// that entity; nil if there is none.
  func back(to entity: String, property name: String) -> (Int, Int)? {
    for (owner, description) in entities.enumerated() {
      if let index = description.relationships.firstIndex(where: {
        $0.destination == entity && $0.inverse == name
      }) {
        return (owner, index)
      }
    }
    return nil
  }
}

extension EntityDescription {
  /// Throws if a property has this name already, or if the entity has the maximum number of properties.
  func requireFree(_ name: String) throws(ModelError) {
    // Models between operations may exceed the limits of a final model. This limit bounds the time,
    // because each added name is compared with all others.
    let count = propertyNames.count
    guard count < 1024 else {
      throw ModelError(reason: "\(SchemaFault.tooManyProperties(entity: self.name, count: count + 1))")
    }
    guard !propertyNames.contains(name) else {
      throw ModelError(reason: "\(self.name).\(name) already exists")
    }
  }

  func attributeIndex(_ name: String) throws(ModelError) -> Int {
    guard let index = attributes.firstIndex(where: { $0.name == name }) else {
      throw ModelError(
        reason: "there is no attribute \(self.name).\(name)\(Self.hint(name, attributes.map(\.name)))")
    }
    return index
  }

  fileprivate static func hint(_ name: String, _ names: [String]) -> String {
    didYouMean(nearest(name, among: names)).map { "; \($0)" } ?? ""
  }

  /// Refuses a change of a property that an index uses.
  func requireUnindexed(_ name: String) throws(ModelError) {
    if let index = indexes.first(where: { $0.properties.contains(name) }) {
      throw ModelError(
        reason: "the index \(self.name)\(index.wording) uses it; drop the index first"
      )
    }
  }

  mutating func renameInIndexes(_ name: String, to new: String) {
    for index in indexes.indices {
      indexes[index].properties = indexes[index].properties.map { $0 == name ? new : $0 }
    }
  }
}
