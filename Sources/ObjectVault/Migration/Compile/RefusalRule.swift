// The rules by which steps refuse existing rows.

/// A condition of an operation on existing rows.
public enum RefusalRule: String, Sendable, Hashable {
  /// Values must be unique.
  case unique
  /// Each row must have a value.
  case required
  /// Values must fit the new type of the property.
  case fitting
  /// An object may have one link at most.
  case single
  /// References must refer to objects that remain, and that have the required entity.
  case leading
  /// A `require` of the author must be true. Its failure is reported like a failure of the author's SQL.
  case requirement
  /// A condition of this operation only.
  case other
}
