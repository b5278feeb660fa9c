// `move attribute User.street, User.city -> Address.street, Address.city by User.address`: an entity is split, or what was
// split comes together again.

/// Attributes that move to the entity at the other end of a to-one, with their values.
///
/// Away from the owner of the to-one: an object that leads nowhere and has a value gets an object of its own there. To the
/// owner: each gets what the object has that it leads to. Values that would be lost are refused with their number.
public struct AttributeMove: Sendable, Hashable {
  /// The entity that they leave.
  public let source: String
  /// The entity that they come to.
  public let destination: String
  /// The attributes.
  public let attributes: [PropertyPair]
  /// The owner of the to-one: either of the two.
  public let owner: String
  /// The to-one that leads to the other one, or to one that this inherits from; the owner may inherit it.
  public let relationship: String

  /// A move.
  public init(
    _ attributes: [PropertyPair], from source: String, to destination: String, owner: String,
    relationship: String
  ) {
    (self.source, self.destination, self.attributes) = (source, destination, attributes)
    (self.owner, self.relationship) = (owner, relationship)
  }
}

extension AttributeMove: CustomStringConvertible {
  /// The line of a migration file.
  public var description: String {
    let (names, news) = (
      attributes.map { "\(source).\($0.name)" }, attributes.map { "\(destination).\($0.new)" }
    )
    return "move attribute \(names.joined(separator: ", ")) -> \(news.joined(separator: ", ")) "
      + "by \(owner).\(relationship)"
  }
}
