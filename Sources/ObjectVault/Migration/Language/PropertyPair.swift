// A property that becomes one of another name: what operations over two entities are told of.

/// A property, by its names of before and after.
public struct PropertyPair: Sendable, Hashable {
  /// What it is called before.
  public let name: String
  /// What it is called afterwards.
  public let new: String

  /// A pair.
  public init(_ name: String, to new: String) { (self.name, self.new) = (name, new) }
}
