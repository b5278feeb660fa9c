// The objects that predicates are evaluated on in memory.

internal import CipherSQLite

/// An object that predicates are evaluated on.
package protocol PredicateSubject {
  /// The object's id, which is negative for a new object.
  var subjectID: Int64 { get }
  /// Returns the stored form of an attribute; `.null` for nil.
  func value(of attribute: String) -> SQLValue
  /// Returns the object that a to-one references; nil when there is none.
  func target(of relationship: String) -> Self?
  /// Returns the members of a to-many: those of an ordered one in their order, others in any order.
  func members(of relationship: String) -> [Self]
  /// Returns whether the object is of one of these entities.
  func isOne(of entities: Set<String>) -> Bool
}
