// A property and its new name, for operations on two entities.

/// A property, with its names before and after an operation.
public struct PropertyPair: Sendable, Hashable {
  /// The name before the operation.
  public let name: String
  /// The name after the operation.
  public let new: String

  /// Creates a pair.
  /// - Parameters:
  ///   - name: The name before the operation.
  ///   - new: The name after the operation.
  public init(_ name: String, to new: String) { (self.name, self.new) = (name, new) }
}
