// The Swift types of to-manys: what a property of one gives and takes.

/// The members of a to-many as a Swift type: a `Set` has no order, an `Array` has the relationship's.
///
/// Both conform. A conformance of one's own is served as well, and slower: each read makes it anew.
public protocol RelatedMembers: Equatable {
  /// The class of the members.
  associatedtype Member: ManagedObject
  /// Whether the relationship keeps an order of its members. It is part of the model: changing it needs a migration step.
  static var isOrdered: Bool { get }
  /// Members, each once, in their order where there is one.
  init(related members: [Member])
  /// The members, in their order where there is one.
  var related: [Member] { get }
}

extension Set: RelatedMembers where Element: ManagedObject {
  /// A set has no order.
  public static var isOrdered: Bool { false }
  /// The members as a set.
  public init(related members: [Element]) { self.init(members) }
  /// The members, in no order.
  public var related: [Element] { Array(self) }
}

extension Array: RelatedMembers where Element: ManagedObject {
  /// An array has the order of the relationship.
  public static var isOrdered: Bool { true }
  /// The members in their order.
  public init(related members: [Element]) { self = members }
  /// The members in their order.
  public var related: [Element] { self }
}
