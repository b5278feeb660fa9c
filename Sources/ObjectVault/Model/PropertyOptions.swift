// What attributes and relationships are beside their types.

/// What a property is beside its type.
public enum AttributeOption: Sendable, Hashable {
  /// No two objects of the entity share a value. nil is no value.
  case unique
  /// Kept in an index, for predicates and sorting.
  case indexed
  /// Was called otherwise in an earlier version: the lines that a schema mismatch prints rename it then, where they would
  /// else drop the one and add the other.
  case renamed(from: String)
}

/// What a relationship is beside its target.
public enum RelationshipOption: Sendable, Hashable {
  /// A to-one that may not be nil when it is saved.
  case required
  /// Was called otherwise in an earlier version: the lines that a schema mismatch prints rename it then, where they would
  /// else drop the one and add the other.
  case renamed(from: String)
}

/// What becomes of the objects at the other end when an object is deleted.
public enum DeleteRule: String, Sendable, Hashable, Codable, CaseIterable {
  /// Their reference to it becomes nil.
  case nullify
  /// They are deleted too.
  case cascade
  /// While there are any, the deletion is refused.
  case deny
}
