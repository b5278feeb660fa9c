// What steps ask of the rows that they meet.

/// What an operation asks of rows.
public enum RefusalRule: String, Sendable, Hashable {
  /// Each value once.
  case unique
  /// A value in each row.
  case required
  /// Values that the new type of the property can hold.
  case fitting
  /// One member at most.
  case single
  /// To lead to objects that are there afterwards, and are what they have to be.
  case leading
  /// What its author says has to be so: `require`. It fails as the author's SQL does.
  case requirement
  /// What only this operation asks.
  case other
}
