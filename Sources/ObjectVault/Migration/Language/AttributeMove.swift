// The operation `move attribute User.street, User.city -> Address.street, Address.city by User.address`.
// It splits an entity in two, or joins two entities that were split.

/// Moves attributes, with their values, along a to-one relationship to the entity at its other end.
///
/// Away from the owner of the to-one: an object that has a value and no reference gets a new object there.
/// To the owner: each owner gets the value of the object that it references. The step is refused, with the
/// number of values, where values would be lost.
public struct AttributeMove: Sendable, Hashable {
  /// The entity that has the attributes before.
  public let source: String
  /// The entity that has them afterwards.
  public let destination: String
  /// The attributes, with their names before and after.
  public let attributes: [PropertyPair]
  /// The entity that has the to-one: the source or the destination.
  public let owner: String
  /// The to-one, declared or inherited by the owner. It refers to the other entity, or to one that the
  /// other entity inherits from.
  public let relationship: String

  /// Creates a move.
  /// - Parameters:
  ///   - attributes: The attributes, with their names before and after.
  ///   - source: The entity that has them before.
  ///   - destination: The entity that has them afterwards.
  ///   - owner: The entity that has the to-one: the source or the destination.
  ///   - relationship: The name of the to-one.
  public init(
    _ attributes: [PropertyPair], from source: String, to destination: String, owner: String,
    relationship: String
  ) {
    (self.source, self.destination, self.attributes) = (source, destination, attributes)
    (self.owner, self.relationship) = (owner, relationship)
  }
}

extension AttributeMove: CustomStringConvertible {
  /// The operation as a line of a migration file.
  public var description: String {
    let (names, news) = (
      attributes.map { "\(source).\($0.name)" }, attributes.map { "\(destination).\($0.new)" }
    )
    return "move attribute \(names.joined(separator: ", ")) -> \(news.joined(separator: ", ")) "
      + "by \(owner).\(relationship)"
  }
}
