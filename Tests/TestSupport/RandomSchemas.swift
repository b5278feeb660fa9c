// Random models, and random changes of them, for properties that hold between any two models.

public import ObjectVault

/// Generates valid schemas with few names, so that two of them have much in common.
public enum RandomSchemas {
  private static let entityNames = ["A", "B", "C", "D"]
  private static let attributeNames = ["a", "b", "c", "d", "e"]
  private static let relationshipNames = ["p", "q", "r", "s", "t", "a"]

  /// A schema of one to four entities.
  public static func schema(_ random: inout some RandomNumberGenerator) -> Schema {
    var entities = entityNames.prefix(Int.random(in: 1...4, using: &random)).map { name in
      EntityDescription(
        name: name,
        attributes: attributeNames.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random))
          .map { attribute($0, &random) })
    }
    for _ in 0..<Int.random(in: 0...5, using: &random) { relate(&entities, &random) }
    for _ in 0..<Int.random(in: 0...2, using: &random) { index(&entities, &random) }
    return Schema(entities: entities)
  }

  /// A schema in which some entities have parents.
  public static func hierarchies(_ random: inout some RandomNumberGenerator) -> Schema {
    var entities = schema(&random).entities
    for _ in 0..<6 {
      let before = entities
      inherit(&entities, &random)
      if !isValid(entities) { entities = before }
    }
    return Schema(entities: entities)
  }

  /// The schema with one to five changes, of which one or two may change parents.
  public static func changedHierarchies(
    _ schema: Schema, _ random: inout some RandomNumberGenerator
  ) -> Schema {
    var entities = schema.entities
    for turn in 0..<Int.random(in: 1...5, using: &random) {
      let before = entities
      if turn % 3 == 1 { inherit(&entities, &random) } else { change(&entities, &random) }
      if !isValid(entities) { entities = before }
    }
    return Schema(entities: entities)
  }

  /// Gives an entity a parent, another one, or none. A name that the hierarchy would have twice gets the
  /// entity's name as a suffix.
  private static func inherit(
    _ entities: inout [EntityDescription], _ random: inout some RandomNumberGenerator
  ) {
    guard let child = entities.indices.randomElement(using: &random),
      let parent = entities.indices.randomElement(using: &random)
    else { return }
    if entities[child].parent != nil, Int.random(in: 0..<3, using: &random) == 0 {
      entities[child].parent = nil
      return
    }
    entities[child].parent = entities[parent].name
    let schema = Schema(entities: entities)
    var taken: Set<String> = []
    guard let own = schema.entity(named: entities[child].name) else { return }
    for relative in schema.hierarchy(of: own) where relative.name != own.name {
      taken.formUnion(names(of: relative))
    }
    for index in entities[child].attributes.indices
    where taken.contains(entities[child].attributes[index].name) {
      let name = entities[child].attributes[index].name
      entities[child].attributes[index].name = name + own.name
      for place in entities[child].indexes.indices {
        entities[child].indexes[place].properties = entities[child].indexes[place].properties.map {
          $0 == name ? name + own.name : $0
        }
      }
    }
  }

  /// The schema with one to five changes, or a different schema.
  public static func changed(_ schema: Schema, _ random: inout some RandomNumberGenerator) -> Schema {
    if Int.random(in: 0..<8, using: &random) == 0 { return self.schema(&random) }
    var entities = schema.entities
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      let before = entities
      change(&entities, &random)
      if !isValid(entities) { entities = before }
    }
    return Schema(entities: entities)
  }

  private static func isValid(_ entities: [EntityDescription]) -> Bool {
    (try? Schema(entities: entities).validate()) != nil
  }

  private static func names(of entity: EntityDescription) -> [String] {
    entity.attributes.map(\.name) + entity.relationships.map(\.name)
  }

  private static func change(
    _ entities: inout [EntityDescription], _ random: inout some RandomNumberGenerator
  ) {
    guard let entity = entities.indices.randomElement(using: &random) else { return }
    let attribute = entities[entity].attributes.indices.randomElement(using: &random)
    let relationship = entities[entity].relationships.indices.randomElement(using: &random)
    switch Int.random(in: 0..<14, using: &random) {
    case 0:
      guard let name = entityNames.first(where: { name in !entities.contains { $0.name == name } }) else {
        return
      }
      entities.append(EntityDescription(name: name, attributes: [self.attribute("a", &random)]))
    case 1:
      let name = entities[entity].name
      guard entities.count > 1 else { return }
      for other in entities.indices {
        entities[other].relationships.removeAll { $0.destination == name }
        let names = names(of: entities[other])
        entities[other].indexes.removeAll { !names.contains($0.properties) }
      }
      entities.remove(at: entity)
    case 2:
      if let name = attributeNames.first(where: { !names(of: entities[entity]).contains($0) }) {
        entities[entity].attributes.append(self.attribute(name, &random))
      }
    case 3:
      guard let attribute, entities[entity].attributes.count > 1 else { return }
      let name = entities[entity].attributes.remove(at: attribute).name
      entities[entity].indexes.removeAll { $0.properties.contains(name) }
    case 4, 5:
      if let attribute {
        entities[entity].attributes[attribute] = self.attribute(
          entities[entity].attributes[attribute].name, &random)
      }
    case 6:
      guard let attribute else { return }
      entities[entity].attributes[attribute].isOptional.toggle()
      if entities[entity].attributes[attribute].isOptional {
        entities[entity].attributes[attribute].isLazy.toggle()
      }
    case 7: if let attribute { entities[entity].attributes[attribute].isUnique.toggle() }
    case 8: relate(&entities, &random)
    case 9:
      guard let relationship else { return }
      let (name, gone) = (
        entities[entity].name, entities[entity].relationships.remove(at: relationship)
      )
      entities[entity].indexes.removeAll { $0.properties.contains(gone.name) }
      for other in entities.indices {
        for index in entities[other].relationships.indices
        where entities[other].relationships[index].destination == name
          && entities[other].relationships[index].inverse == gone.name
        {
          entities[other].relationships[index].inverse = nil
        }
      }
    case 10:
      if let relationship {
        entities[entity].relationships[relationship].deleteRule =
          DeleteRule.allCases.randomElement(using: &random) ?? .nullify
      }
    case 13: if let relationship { entities[entity].relationships[relationship].isOrdered.toggle() }
    case 11: if let relationship { entities[entity].relationships[relationship].isRequired.toggle() }
    default:
      if entities[entity].indexes.isEmpty {
        index(&entities, &random)
      } else {
        entities[entity].indexes.removeLast()
      }
    }
  }

  private static func attribute(
    _ name: String, _ random: inout some RandomNumberGenerator
  ) -> AttributeDescription {
    let type = AttributeType.allCases.randomElement(using: &random) ?? .int
    var attribute = AttributeDescription(name: name, type: type)
    attribute.isOptional = Bool.random(using: &random)
    attribute.isUnique = Int.random(in: 0..<8, using: &random) == 0
    attribute.isIndexed = !attribute.isUnique && Int.random(in: 0..<4, using: &random) == 0
    attribute.isLazy = attribute.isOptional && [.string, .data, .json].contains(type)
    let number = Int64.random(in: 0...1, using: &random)
    if Bool.random(using: &random) {
      switch type {
      case .string: attribute.defaultValue = .text("it's \"\(number)\"")
      case .bool, .int, .int8, .int16, .int32, .uint8, .uint16, .uint32:
        attribute.defaultValue = .integer(number)
      case .float, .double: attribute.defaultValue = .real(Double(number) + 0.5)
      case .decimal: attribute.defaultValue = .text("1\(number).5")
      case .date, .uuid, .url, .data, .json: break
      }
    }
    return attribute
  }

  private static func relate(
    _ entities: inout [EntityDescription], _ random: inout some RandomNumberGenerator
  ) {
    let before = entities
    guard let own = entities.indices.randomElement(using: &random),
      let other = entities.indices.randomElement(using: &random)
    else { return }
    func free(_ entity: Int) -> String? {
      relationshipNames.shuffled(using: &random).first {
        !names(of: entities[entity]).contains($0)
      }
    }
    func relationship(_ name: String, to entity: Int, inverse: String?) -> RelationshipDescription {
      let isToMany = Bool.random(using: &random)
      return RelationshipDescription(
        name: name, destination: entities[entity].name, isToMany: isToMany,
        isOrdered: isToMany && Int.random(in: 0..<3, using: &random) == 0,
        isRequired: !isToMany && Int.random(in: 0..<4, using: &random) == 0, inverse: inverse,
        deleteRule: DeleteRule.allCases.randomElement(using: &random) ?? .nullify)
    }
    guard let name = free(own) else { return }
    if Bool.random(using: &random) {
      entities[own].relationships.append(relationship(name, to: other, inverse: nil))
    } else if own != other, let back = free(other) {
      entities[own].relationships.append(relationship(name, to: other, inverse: back))
      entities[other].relationships.append(relationship(back, to: own, inverse: name))
    }
    if !isValid(entities) { entities = before }
  }

  private static func index(_ entities: inout [EntityDescription], _ random: inout some RandomNumberGenerator)
  {
    let before = entities
    guard let entity = entities.indices.randomElement(using: &random) else { return }
    let names =
      entities[entity].attributes.map(\.name)
      + entities[entity].relationships.filter { !$0.isToMany }.map(\.name)
    let properties = Array(names.shuffled(using: &random).prefix(Int.random(in: 2...3, using: &random)))
    guard properties.count > 1,
      !entities[entity].indexes.contains(where: { $0.properties == properties })
    else { return }
    var index = IndexDescription(
      properties: properties, isUnique: Int.random(in: 0..<3, using: &random) == 0)
    let hasString = properties.contains { entities[entity].attribute(named: $0)?.type == .string }
    if !index.isUnique, hasString {
      index.comparing = StringOptions(rawValue: properties.joined().utf8.count % 4)
    }
    entities[entity].indexes.append(index)
    if !isValid(entities) { entities = before }
  }
}

extension [String] {
  fileprivate func contains(_ names: [String]) -> Bool { names.allSatisfy { contains($0) } }
}
