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
  /// The author's own condition, `require`. The step fails with an error of the author's SQL, too.
  case requirement
  /// A condition of this operation only.
  case other
}
