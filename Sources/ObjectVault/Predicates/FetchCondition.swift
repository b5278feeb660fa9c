// A condition of a fetch, with what it shares with others of its shape.

internal import CipherSQLite

// Safe to share: nothing in it changes but what stands behind a lock, and key paths are immutable.
/// The lowered form of all predicates of one shape: captured values are variables, named by their numbers.
final class PredicateTemplate: @unchecked Sendable {
  let node: PredicateNode
  /// Held, so that no other key path gets the address that stands for one of them in the shape.
  private let keyPaths: [AnyKeyPath]
  /// What was made of the template the last time: mostly it is asked for again, and nothing is looked up.
  private let recent = Locked<Recent?>(nil)

  private struct Recent {
    let maker: Int
    let details: UInt
    let made: AnyObject
  }

  init(node: PredicateNode, keyPaths: [AnyKeyPath]) {
    self.node = node
    self.keyPaths = keyPaths
  }

  /// What ``keep(_:of:_:)`` was told last, when it was by the same maker, and with the same details.
  /// - Parameter maker: The number of who asks, which nobody else has.
  func recent(of maker: Int, _ details: UInt) -> AnyObject? {
    recent.withLock { recent in
      guard let recent, recent.maker == maker, recent.details == details else { return nil }
      return recent.made
    }
  }

  func keep(_ made: AnyObject, of maker: Int, _ details: UInt) {
    recent.withLock { $0 = Recent(maker: maker, details: details, made: made) }
  }
}

/// One condition of a fetch.
struct FetchCondition: Sendable {
  /// The condition; that of all predicates of the shape where `template` is not nil.
  var node: PredicateNode
  var template: PredicateTemplate?
  /// The text it was written in, for the places in errors.
  var format: String?
  /// What the variables of the template are this time.
  var values: [PredicateValue] = []
}

extension FetchCondition {
  /// - Throws: ``StoreError/predicate(_:)``.
  init(format: String, _ arguments: [Any?]) throws {
    self.init(node: try PredicateNode(format: format, arguments: arguments), format: format)
  }
}

extension PredicateOperand {
  /// The variable of a captured value. In the format language no name begins with a digit.
  static func captured(_ index: Int) -> PredicateOperand { .variable("\(index)") }

  /// The constant that it is, with its place among the captured values where it is one of those; nil for what is no
  /// constant, and for a variable that has no value.
  func constant(among values: [PredicateValue]) -> (value: PredicateValue, source: Int?)? {
    switch self {
    case .value(let value): return (value.normal, nil)
    case .variable(let name):
      guard let index = Int(name), values.indices.contains(index) else { return nil }
      return (values[index].normal, index)
    case .path, .count, .arithmetic, .call, .coalesce: return nil
    }
  }
}

extension PredicateValue {
  /// Nil has one form, whatever type a tree that was made by hand gives it: it is `.null`.
  fileprivate var normal: PredicateValue {
    guard stored.isNull else { return self }
    var null = PredicateValue.null
    null.place = place
    return null
  }
}
