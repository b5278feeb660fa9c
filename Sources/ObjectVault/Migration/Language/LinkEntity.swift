// `make entity Membership a relationship User.groups` and `make relationship User.groups an entity Membership`: links
// that are objects, and links that are none.

/// `make entity E a relationship A.r -> B [inverse B.s] [from x]`: each object of an entity between two others becomes a link.
///
/// The entity's attributes are lost, and its ids; so are the entities below it, whose objects become links as well.
/// Objects that lack an end, and those that link a pair that another one links already, are refused with their number.
public struct EntityToRelationship: Sendable, Hashable {
  /// The entity that becomes links.
  public let entity: String
  /// The owner of the relationship.
  public let owner: String
  /// The relationship.
  public let relationship: String
  /// The entity at the other end.
  public let destination: String
  /// The relationship there that leads back, or nil.
  public let inverse: String?
  /// The to-one of the entity that leads to the owner; nil where only one does.
  public let from: String?

  /// A change.
  public init(
    _ entity: String, owner: String, relationship: String, destination: String, inverse: String? = nil,
    from: String? = nil
  ) {
    (self.entity, self.owner, self.relationship) = (entity, owner, relationship)
    (self.destination, self.inverse, self.from) = (destination, inverse, from)
  }
}

extension EntityToRelationship: CustomStringConvertible {
  /// The line of a migration file.
  public var description: String {
    "make entity \(entity) a relationship \(owner).\(relationship) -> \(destination)"
      + (inverse.map { " inverse \(destination).\($0)" } ?? "") + (from.map { " from \($0)" } ?? "")
  }
}

/// `make relationship A.r an entity E (a, b) [inverse A.x, B.y]`: each link of a many-to-many becomes an object.
///
/// With inverses the new to-ones are required, and the objects go with what they link; without, they stay behind with an
/// end that is nil.
public struct RelationshipToEntity: Sendable, Hashable {
  /// The owner of the relationship.
  public let owner: String
  /// The relationship.
  public let relationship: String
  /// The entity that the links become.
  public let entity: String
  /// Its to-one that leads to the owner.
  public let own: String
  /// Its to-one that leads to the other end.
  public let other: String
  /// The relationships that lead to it from the owner and from the other end, or nil.
  public let inverses: Inverses?

  /// The two relationships that lead to the new entity.
  public struct Inverses: Sendable, Hashable {
    /// From the owner.
    public let own: String
    /// The entity at the other end.
    public let destination: String
    /// From there.
    public let other: String

    /// Two of them.
    public init(own: String, destination: String, other: String) {
      (self.own, self.destination, self.other) = (own, destination, other)
    }
  }

  /// A change.
  public init(
    owner: String, relationship: String, to entity: String, own: String, other: String,
    inverses: Inverses? = nil
  ) {
    (self.owner, self.relationship, self.entity) = (owner, relationship, entity)
    (self.own, self.other, self.inverses) = (own, other, inverses)
  }
}

extension RelationshipToEntity: CustomStringConvertible {
  /// The line of a migration file.
  public var description: String {
    "make relationship \(owner).\(relationship) an entity \(entity) (\(own), \(other))"
      + (inverses.map { " inverse \(owner).\($0.own), \($0.destination).\($0.other)" } ?? "")
  }
}
