// A rule of the schema that an object breaks, so that it cannot be saved.

/// A rule that an object breaks. The hooks that validate an object throw it.
public struct ValidationFailure: Error, Sendable, Hashable {
  /// The entity of the object.
  public let entity: String
  /// The property; empty for a rule about the whole object.
  public let property: String
  /// The id of the object: negative for a new object, whose final id is known only inside
  /// ``Store/write(_:)``; 0 where no object is at fault.
  public let rowID: Int64
  /// The broken rule, such as `is required`.
  public let reason: String
  /// The object that already has the values of a property that must be unique. nil for other rules, and
  /// for a unique index that is not part of the model.
  public let holder: Holder?

  /// The object that already has the values.
  public struct Holder: Sendable, Hashable {
    /// The entity of the object.
    public let entity: String
    /// The id of the object, in the form of ``ValidationFailure/rowID``.
    public let rowID: Int64
    /// Whether the object is new or changed, so that its value may belong to this save; otherwise the
    /// value is in the file.
    public let isPending: Bool

    /// Creates a holder.
    public init(entity: String, rowID: Int64, isPending: Bool) {
      self.entity = entity
      self.rowID = rowID
      self.isPending = isPending
    }
  }

  /// The rule that two objects break together.
  static let uniqueness = "must be unique"
  /// How the reason begins if the constraint that rejects the row is in the file, but not in the model.
  static let refusal = "is rejected by the file"

  /// Creates a failure.
  public init(entity: String, property: String, rowID: Int64, reason: String, holder: Holder? = nil) {
    self.entity = entity
    self.property = property
    self.rowID = rowID
    self.reason = reason
    self.holder = holder
  }
}

extension ValidationFailure: CustomStringConvertible {
  /// A text such as `User.name of row 7 is required` or
  /// `User.name of new object -2 must be unique, and User 7 has the same value`.
  public var description: String {
    let object = rowID == 0 ? "" : rowID > 0 ? "of row \(rowID) " : "of new object \(rowID) "
    // A constraint of the file concerns the row, not its id.
    if property == "id", reason.hasPrefix(Self.refusal) { return "\(entity) \(object)\(reason)" }
    if property.isEmpty { return "\(entity) \(object)\(reason)" }
    guard reason == Self.uniqueness else { return "\(entity).\(property) \(object)\(reason)" }
    let other = holder.map { "\($0)" } ?? "another \(entity)"
    let values = property.contains(", ") ? "values" : "value"
    return "\(entity).\(property) \(object)\(reason), and \(other) has the same \(values)"
  }
}

extension ValidationFailure.Holder: CustomStringConvertible {
  /// A text such as `User 7`, or `new User -1`.
  public var description: String { "\(rowID < 0 ? "new " : "")\(entity) \(rowID)" }
}
