// A rule of the schema that an object breaks, so that it cannot be saved.

/// One rule that one object breaks.
public struct ValidationFailure: Sendable, Hashable {
  /// The object's entity.
  public let entity: String
  /// The property.
  public let property: String
  /// The object's id, as its `id` has it: negative for a new object, whose final id is known only inside ``Store/write(_:)``.
  /// 0 where no object is at fault.
  public let rowID: Int64
  /// The rule, such as `is required`.
  public let reason: String
  /// The object that has the values of a property that must be unique. nil for other rules, and for a unique index that is not
  /// part of the model.
  public let holder: Holder?

  /// The object that has the values which another one wants.
  public struct Holder: Sendable, Hashable {
    /// The object's entity.
    public let entity: String
    /// The object's id, as ``ValidationFailure/rowID`` has it.
    public let rowID: Int64
    /// Whether it is new or changed, so that the value may be of the same save; else it stands in the file.
    public let isPending: Bool

    /// An object.
    public init(entity: String, rowID: Int64, isPending: Bool) {
      self.entity = entity
      self.rowID = rowID
      self.isPending = isPending
    }
  }

  /// The rule that two objects break together.
  static let uniqueness = "must be unique"
  /// How the reason begins where a rule of the file refuses a row, which no property of the model has.
  static let refusal = "is refused by the file"

  /// A failure.
  public init(entity: String, property: String, rowID: Int64, reason: String, holder: Holder? = nil) {
    self.entity = entity
    self.property = property
    self.rowID = rowID
    self.reason = reason
    self.holder = holder
  }
}

extension ValidationFailure: CustomStringConvertible {
  /// Such as `User.name of row 7 is required`, or `User.name of new object -2 must be unique, and User 7 has the same value`.
  public var description: String {
    let object = rowID == 0 ? "" : rowID > 0 ? "of row \(rowID) " : "of new object \(rowID) "
    // A rule of the file is about the row, and not about its id.
    if property == "id", reason.hasPrefix(Self.refusal) { return "\(entity) \(object)\(reason)" }
    guard reason == Self.uniqueness else { return "\(entity).\(property) \(object)\(reason)" }
    let other = holder.map { "\($0)" } ?? "another \(entity)"
    let values = property.contains(", ") ? "values" : "value"
    return "\(entity).\(property) \(object)\(reason), and \(other) has the same \(values)"
  }
}

extension ValidationFailure.Holder: CustomStringConvertible {
  /// Such as `User 7`, or `new User -1`.
  public var description: String { "\(rowID < 0 ? "new " : "")\(entity) \(rowID)" }
}
