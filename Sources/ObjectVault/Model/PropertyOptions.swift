// The options of attributes and relationships.

/// An option of an attribute.
public enum AttributeOption: Sendable, Hashable {
  /// No two objects of the entity have the same value. nil does not count as a value.
  case unique
  /// The attribute has an index, for predicates and sorting.
  case indexed
  /// As ``indexed(_:)``.
  case foldedIndex(StringOptions)
  /// A fetch leaves the value out; the first access to the attribute reads it. For large values, such as
  /// the content of a document.
  ///
  /// ```swift
  /// @Attribute(.lazy) var content: Data
  /// ```
  ///
  /// ``FetchBuilder/prefetch(_:)`` reads it for all results of a fetch, and
  /// ``ObjectContext/readBytes(of:_:_:)`` reads it in parts. An object keeps the value that it has read
  /// until its row changes or the object is refreshed. If another context has changed the row before the
  /// value is read, the object gets all values of the present row, and a save of it throws
  /// ``StoreError/conflicts(_:)``. Assigning the value that the row already has counts as a change if the
  /// value was not read before.
  ///
  /// The column comes after all others in the table: to reach a column, the engine reads the pages of all
  /// columns before it in the row. For this reason, a step that makes an attribute lazy copies the table, and
  /// so does one that adds a column that is not lazy, of an attribute or a to-one. A save of other attributes
  /// does not read the value, but the engine writes the whole row again: if other attributes change often,
  /// keep the value in an entity of its own.
  case lazy
  /// The attribute had another name in an earlier version.
  ///
  /// The lines that a schema mismatch prints then rename it; otherwise they would drop the old attribute
  /// and add the new one.
  case renamed(from: String)
  /// The key of the attribute in JSON: see ``ObjectContext/importJSON(_:into:mapping:)``. Default: its name,
  /// in the form of ``JSONMapping/names``.
  ///
  /// ```swift
  /// @Attribute(.key("screen_name")) var screenName: String
  /// ```
  ///
  /// The key is part of the program, not of the file: it can change without a migration.
  case key(String)

  /// The attribute, a String, has an index for comparisons and sorts that ignore case, diacritics or both.
  ///
  /// ```swift
  /// @Attribute(.indexed(.caseInsensitive)) var title: String
  /// ```
  ///
  /// It serves only conditions and sorts with exactly the same options. The index in the example serves
  /// `title BEGINSWITH[c] 'a'`, `title ==[c] 'a'`, `title IN[c] {…}`,
  /// `sorted(by: \.title, comparing: .caseInsensitive)` and pages of this order. Together with
  /// ``indexed``, the attribute has two indexes. Each comparison inside the index folds both texts, so
  /// that an insertion costs more than with ``indexed``.
  ///
  /// The index uses a collation of the store, so SQL keeps it correct, too. A program without the
  /// collation, such as the sqlcipher shell, is refused when it writes to the attribute: see
  /// <doc:swift-and-sql>.
  /// - Parameter options: What the index ignores.
  public static func indexed(_ options: StringOptions) -> AttributeOption { .foldedIndex(options) }
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
  /// The key of the relationship in JSON, as ``AttributeOption/key(_:)``.
  case key(String)
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
