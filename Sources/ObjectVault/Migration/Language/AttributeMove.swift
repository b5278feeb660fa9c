// The operation `move attribute User.street, User.city -> Address.street, Address.city by User.address`,
// for splitting an entity in two, or for uniting the attributes of two entities in one.

/// Moves attributes, with their values, to the entity at the other end of a to-one.
///
/// If the owner of the to-one loses the attributes, each of its objects with a value but no reference
/// gets a new object to refer to. If the owner gets the attributes, each of its objects gets the values
/// of the object that it references. A step that would lose values is refused; the error states how many
/// objects it concerns.
public struct AttributeMove: Sendable, Hashable {
  /// The entity that has the attributes before the operation.
  public let source: String
  /// The entity that has the attributes after the operation.
  public let destination: String
  /// The attributes, with their names before and after.
  public let attributes: [PropertyPair]
  /// The entity that has the to-one: the source or the destination.
  public let owner: String
  /// The to-one, declared or inherited by the owner. It refers to the other of the two entities, or to an
  /// ancestor of that entity.
  public let relationship: String

  /// Creates a move.
  /// - Parameters:
  ///   - attributes: The attributes, with their names before and after.
  ///   - source: The entity that has the attributes before the operation.
  ///   - destination: The entity that has the attributes after the operation.
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
