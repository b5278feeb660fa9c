// The operations `make entity Membership a relationship User.groups` and `make relationship User.groups an
// entity Membership`: objects become links of a many-to-many, and links become objects.

/// `make entity E a relationship A.r -> B [inverse B.s] [from x]`: turns each object between two others
/// into a link.
///
/// The entity's attributes and ids are lost. Its subentities are lost too; their objects become links as
/// well. The step is refused, with their number, where objects lack an end or link a pair that another
/// object links already.
public struct EntityToRelationship: Sendable, Hashable {
  /// The entity whose objects become links.
  public let entity: String
  /// The owner of the relationship.
  public let owner: String
  /// The name of the relationship.
  public let relationship: String
  /// The entity at the other end.
  public let destination: String
  /// The inverse of the relationship at that entity, or nil.
  public let inverse: String?
  /// The to-one of the entity that refers to the owner; nil where the entity has only one such to-one.
  public let from: String?

  /// Creates a change.
  /// - Parameters:
  ///   - entity: The entity whose objects become links.
  ///   - owner: The owner of the relationship.
  ///   - relationship: The name of the relationship.
  ///   - destination: The entity at the other end.
  ///   - inverse: The inverse at that entity, or nil.
  ///   - from: The to-one of the entity that refers to the owner; nil where the entity has only one such
  ///     to-one.
  public init(
    _ entity: String, owner: String, relationship: String, destination: String, inverse: String? = nil,
    from: String? = nil
  ) {
    (self.entity, self.owner, self.relationship) = (entity, owner, relationship)
    (self.destination, self.inverse, self.from) = (destination, inverse, from)
  }
}

extension EntityToRelationship: CustomStringConvertible {
  /// The operation as a line of a migration file.
  public var description: String {
    "make entity \(entity) a relationship \(owner).\(relationship) -> \(destination)"
      + (inverse.map { " inverse \(destination).\($0)" } ?? "") + (from.map { " from \($0)" } ?? "")
  }
}

/// `make relationship A.r an entity E (a, b) [inverse A.x, B.y]`: turns each link of a many-to-many into
/// an object.
///
/// With inverses the new to-ones are required, and the objects are deleted with the objects that they
/// link. Without inverses the objects remain, and the to-one whose target was deleted is nil.
public struct RelationshipToEntity: Sendable, Hashable {
  /// The owner of the relationship.
  public let owner: String
  /// The name of the relationship.
  public let relationship: String
  /// The entity that the links become.
  public let entity: String
  /// The entity's to-one that refers to the owner.
  public let own: String
  /// The entity's to-one that refers to the other end.
  public let other: String
  /// The relationships that refer to the new entity from the owner and from the other end, or nil.
  public let inverses: Inverses?

  /// The two relationships that refer to the new entity.
  public struct Inverses: Sendable, Hashable {
    /// The relationship of the owner.
    public let own: String
    /// The entity at the other end.
    public let destination: String
    /// The relationship of that entity.
    public let other: String

    /// Creates a pair of inverses.
    /// - Parameters:
    ///   - own: The relationship of the owner.
    ///   - destination: The entity at the other end.
    ///   - other: The relationship of that entity.
    public init(own: String, destination: String, other: String) {
      (self.own, self.destination, self.other) = (own, destination, other)
    }
  }

  /// Creates a change.
  /// - Parameters:
  ///   - owner: The owner of the relationship.
  ///   - relationship: The name of the relationship.
  ///   - entity: The entity that the links become.
  ///   - own: The entity's to-one that refers to the owner.
  ///   - other: The entity's to-one that refers to the other end.
  ///   - inverses: The relationships that refer to the entity from both ends, or nil.
  public init(
    owner: String, relationship: String, to entity: String, own: String, other: String,
    inverses: Inverses? = nil
  ) {
    (self.owner, self.relationship, self.entity) = (owner, relationship, entity)
    (self.own, self.other, self.inverses) = (own, other, inverses)
  }
}

extension RelationshipToEntity: CustomStringConvertible {
  /// The operation as a line of a migration file.
  public var description: String {
    "make relationship \(owner).\(relationship) an entity \(entity) (\(own), \(other))"
      + (inverses.map { " inverse \(owner).\($0.own), \($0.destination).\($0.other)" } ?? "")
  }
}
