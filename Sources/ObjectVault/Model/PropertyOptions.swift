// The options of attributes and relationships.

/// An option of an attribute.
public enum AttributeOption: Sendable, Hashable {
  /// No two objects of the entity have the same value. nil does not count as a value.
  case unique
  /// The attribute has an index, for predicates and sorting.
  case indexed
  /// The attribute had another name in an earlier version.
  ///
  /// The lines that a schema mismatch prints then rename it; otherwise they would drop the old attribute
  /// and add the new one.
  case renamed(from: String)
}

/// An option of a relationship.
public enum RelationshipOption: Sendable, Hashable {
  /// A to-one must not be nil when its object is saved.
  case required
  /// The relationship had another name in an earlier version.
  ///
  /// The lines that a schema mismatch prints then rename it; otherwise they would drop the old
  /// relationship and add the new one.
  case renamed(from: String)
}

/// What happens to the objects at the other end when an object is deleted.
public enum DeleteRule: String, Sendable, Hashable, Codable, CaseIterable {
  /// Their reference to the deleted object becomes nil.
  case nullify
  /// They are deleted too.
  case cascade
  /// The deletion is refused while there are such objects.
  case deny
}
