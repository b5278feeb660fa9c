// The Swift types of to-many properties.

/// The members of a to-many as a Swift type: a `Set` has no order, an `Array` has the order of the
/// relationship.
///
/// Both types conform. Other types may conform too, but are slower: each read creates the value again.
public protocol RelatedMembers: Equatable {
  /// The class of the members.
  associatedtype Member: ManagedObject
  /// Whether the relationship keeps an order of its members. This is part of the model: changing it needs
  /// a migration step.
  static var isOrdered: Bool { get }
  /// Creates the value from members, each once, in their order if there is one.
  init(related members: [Member])
  /// The members, in their order if there is one.
  var related: [Member] { get }
}

extension Set: RelatedMembers where Element: ManagedObject {
  /// false: a set has no order.
  public static var isOrdered: Bool { false }
  /// Creates a set of the members.
  public init(related members: [Element]) { self.init(members) }
  /// The members, in no particular order.
  public var related: [Element] { Array(self) }
}

extension Array: RelatedMembers where Element: ManagedObject {
  /// true: an array has the order of the relationship.
  public static var isOrdered: Bool { true }
  /// Creates an array of the members in their order.
  public init(related members: [Element]) { self = members }
  /// The members in their order.
  public var related: [Element] { self }
}
