// The operations `make entity Membership a relationship User.groups` and `make relationship User.groups an
// entity Membership`: objects become links of a many-to-many, and links become objects.

/// `make entity E a relationship A.r -> B [inverse B.s] [from x]`: turns each object of an entity into a
/// link between the two objects that it refers to.
///
/// The entity's attributes and ids are lost. Its subentities are dropped, and their objects become links
/// as well. The step is refused if an object lacks one of the two references, or if several objects refer
/// to the same two objects; the error states how many.
public struct EntityToRelationship: Sendable, Hashable {
  /// The entity whose objects become links.
  public let entity: String
  /// The owner of the relationship.
  public let owner: String
  /// The name of the relationship.
  public let relationship: String
  /// The destination of the relationship.
  public let destination: String
  /// The inverse of the relationship at the destination, or nil.
  public let inverse: String?
  /// The to-one of the entity that refers to the owner; nil if the entity has only one such to-one.
  public let from: String?

  /// Creates a change.
  /// - Parameters:
  ///   - entity: The entity whose objects become links.
  ///   - owner: The owner of the relationship.
  ///   - relationship: The name of the relationship.
  ///   - destination: The destination of the relationship.
  ///   - inverse: The inverse of the relationship at the destination, or nil.
  ///   - from: The to-one of the entity that refers to the owner; nil if the entity has only one such
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
/// an object of a new entity.
///
/// With inverses, the to-ones of the new entity are required, and an object of the new entity is deleted
/// when one of the two objects that it refers to is deleted. Without inverses, the object remains, and
/// its to-one becomes nil.
public struct RelationshipToEntity: Sendable, Hashable {
  /// The owner of the relationship.
  public let owner: String
  /// The name of the relationship.
  public let relationship: String
  /// The new entity.
  public let entity: String
  /// The new entity's to-one that refers to the owner.
  public let own: String
  /// The new entity's to-one that refers to the destination.
  public let other: String
  /// The relationships from the owner and from the destination to the new entity, or nil.
  public let inverses: Inverses?

  /// The two relationships that refer to the new entity.
  public struct Inverses: Sendable, Hashable {
    /// The relationship of the owner to the new entity.
    public let own: String
    /// The destination of the former relationship.
    public let destination: String
    /// The relationship of the destination to the new entity.
    public let other: String

    /// Creates a pair of inverses.
    /// - Parameters:
    ///   - own: The relationship of the owner to the new entity.
    ///   - destination: The destination of the former relationship.
    ///   - other: The relationship of the destination to the new entity.
    public init(own: String, destination: String, other: String) {
      (self.own, self.destination, self.other) = (own, destination, other)
    }
  }

  /// Creates a change.
  /// - Parameters:
  ///   - owner: The owner of the relationship.
  ///   - relationship: The name of the relationship.
  ///   - entity: The new entity.
  ///   - own: The new entity's to-one that refers to the owner.
  ///   - other: The new entity's to-one that refers to the destination.
  ///   - inverses: The relationships from the owner and from the destination to the new entity, or nil.
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
