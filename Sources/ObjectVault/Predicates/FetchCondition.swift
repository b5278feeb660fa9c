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

extension PredicateValue {
  /// What stands in the place of a template's constant this time; its source is the place among `values`.
  func current(among values: [PredicateValue]) -> PredicateValue {
    var value = self
    value.source = nil
    if let source, source < values.count {
      value = values[source]
      value.source = source
    }
    // Nil has one form, whatever type a tree that was made by hand gives it: from here on it is `.null`.
    guard value.stored.isNull else { return value }
    var null = PredicateValue.null
    (null.source, null.place) = (value.source, value.place)
    return null
  }
}
