// The rules by which a step refuses existing rows.

/// A rule for existing rows that a step requires.
public enum RefusalRule: String, Sendable, Hashable {
  /// Values must be unique.
  case unique
  /// Each row must have a value.
  case required
  /// Values must be valid for the new type of the property.
  case fitting
  /// An object may have at most one link.
  case single
  /// References must refer to objects that exist after the step and are of the required entity.
  case leading
  /// The query of a `require` must return true. Its failure is reported like a failure of the author's
  /// SQL.
  case requirement
  /// A condition that only one operation has.
  case other
}
