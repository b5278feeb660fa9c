// What a predicate asks of an object when it is evaluated in memory.

internal import CipherSQLite

/// An object that predicates are evaluated on.
package protocol PredicateSubject {
  /// Its id; that of a new object is negative.
  var subjectID: Int64 { get }
  /// The stored form of an attribute; `.null` for nil.
  func value(of attribute: String) -> SQLValue
  /// The object that a to-one leads to.
  func target(of relationship: String) -> Self?
  /// The members of a to-many, in any order.
  func members(of relationship: String) -> [Self]
}
