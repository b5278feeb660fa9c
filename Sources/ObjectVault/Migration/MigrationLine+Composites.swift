// What the words of a line say where an operation stands for others: entities that split, merge, or become links.

extension MigrationLine {
  mutating func entityToRelationship() throws -> EntityToRelationship {
    let entity = try name("the entity's name")
    try expect("a")
    try expect("relationship")
    let (owner, name) = try property()
    try expect("->")
    let destination = try self.name("the entity at the other end")
    var inverse: String?
    if take("inverse") {
      inverse = try self.inverse(of: RelationshipDescription(name: name, destination: destination))
    }
    return EntityToRelationship(
      entity, owner: owner, relationship: name, destination: destination, inverse: inverse,
      from: take("from") ? try self.name("the to-one that leads to \(owner)") : nil)
  }

  mutating func relationshipToEntity() throws -> RelationshipToEntity {
    let (owner, relationship) = try property()
    try expect("an")
    try expect("entity")
    let entity = try name("the entity's name")
    let column = column
    let names = try names()
    guard names.count == 2, names[0] != names[1] else {
      throw failure("a link has two ends", "write the two to-ones of \(entity): (user, group)", column)
    }
    var inverses: RelationshipToEntity.Inverses?
    if take("inverse") {
      let own = try inverse(of: RelationshipDescription(name: relationship, destination: owner))
      try expect(",")
      let (destination, other) = try property()
      inverses = RelationshipToEntity.Inverses(own: own, destination: destination, other: other)
    }
    return RelationshipToEntity(
      owner: owner, relationship: relationship, to: entity, own: names[0], other: names[1], inverses: inverses
    )
  }

  mutating func move() throws -> MigrationOperation {
    try expect("attribute")
    let former = try attributes()
    try expect("->")
    let column = column
    let new = try attributes()
    try expect("by")
    let (owner, relationship) = try property()
    guard former.names.count == new.names.count, Set(new.names).count == new.names.count else {
      throw failure(
        "\(former.names.count) attributes move, and \(new.names.count) names are given", "give each one name",
        column)
    }
    return .moveAttributes(
      AttributeMove(
        zip(former.names, new.names).map { PropertyPair($0, to: $1) }, from: former.entity,
        to: new.entity, owner: owner, relationship: relationship))
  }

  mutating func merge() throws -> MigrationOperation {
    try expect("entity")
    let source = try name("the entity that goes")
    try expect("into")
    let destination = try name("the entity that stays")
    var pairs: [PropertyPair] = []
    if take("with") {
      repeat {
        let name = try property(of: source)
        try expect("->")
        pairs.append(PropertyPair(name, to: try property(of: destination)))
      } while take(",")
    }
    return .mergeEntities(EntityMerge(source, into: destination, with: pairs))
  }

  private mutating func property(of entity: String) throws -> String {
    let column = column
    let (owner, name) = try property()
    guard owner == entity else {
      throw failure("\(owner).\(name) is no property of \(entity)", "write \(entity).\(name)", column)
    }
    return name
  }

  /// Attributes of one entity.
  private mutating func attributes() throws -> (entity: String, names: [String]) {
    let (entity, first) = try property()
    var names = [first]
    while take(",") {
      let column = column
      let (other, name) = try property()
      guard other == entity else {
        throw failure(
          "\(other) is another entity than \(entity)", "move those in a line of their own", column)
      }
      names.append(name)
    }
    return (entity, names)
  }
}
