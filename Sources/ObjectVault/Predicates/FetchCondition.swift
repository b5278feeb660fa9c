// A condition of a fetch, with what it shares with others of its shape.

internal import CipherSQLite

// Safe to share: nothing in it changes, and key paths are immutable.
/// The lowered form of all predicates of one shape: constants say which captured value they are.
final class PredicateTemplate: @unchecked Sendable {
  let node: PredicateNode
  /// Held, so that no other key path gets the address that stands for one of them in the shape.
  private let keyPaths: [AnyKeyPath]

  init(node: PredicateNode, keyPaths: [AnyKeyPath]) {
    self.node = node
    self.keyPaths = keyPaths
  }
}

/// One condition of a fetch.
struct FetchCondition: Sendable {
  /// The condition; its constants are those of the first predicate of this shape where `template` is not nil.
  var node: PredicateNode
  var template: PredicateTemplate?
  /// The text it was written in, for the places in errors.
  var format: String?
  /// What the constants are this time, by their sources.
  var values: [PredicateValue] = []
}

extension FetchCondition {
  /// - Throws: ``StoreError/predicate(_:)``.
  init(format: String, _ arguments: [Any?]) throws {
    self.init(node: try PredicateNode(format: format, arguments: arguments), format: format)
  }
}
