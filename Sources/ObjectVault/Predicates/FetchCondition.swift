// A condition of a fetch, with the parts that it shares with all conditions of the same shape. The shapes of
// trees are in SharedShape, those of `#Predicate` in the folder Lowering.

internal import CipherSQLite

// Safe to share: only the value in the lock changes, and key paths are immutable.
/// The tree that all predicates of one shape share. Captured values are variables, named by their
/// numbers.
final class PredicateTemplate: @unchecked Sendable {
  let node: PredicateNode
  /// Retained, because the shape identifies key paths by address: a released key path's address could be
  /// reused.
  private let keyPaths: [AnyKeyPath]
  /// The last result that was made from the template, such as a plan. The next use mostly needs it again.
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

  /// Returns what `keep` stored last, if the same maker stored it with the same details; nil otherwise.
  /// - Parameters:
  ///   - maker: A number that is unique to the caller.
  ///   - details: What the result depends on besides the template, as bits that the caller chooses.
  func recent(of maker: Int, _ details: UInt) -> AnyObject? {
    recent.withLock { recent in
      guard let recent, recent.maker == maker, recent.details == details else { return nil }
      return recent.made
    }
  }

  /// Stores a result that was made from the template.
  func keep(_ made: AnyObject, of maker: Int, _ details: UInt) {
    recent.withLock { $0 = Recent(maker: maker, details: details, made: made) }
  }
}

/// One condition of a fetch.
struct FetchCondition: Sendable {
  /// The tree. If `template` is not nil, it is the template's tree, with variables for captured values.
  var node: PredicateNode
  var template: PredicateTemplate?
  /// The text that the condition was parsed from, for positions in errors.
  var format: String?
  /// The values of the template's variables in this condition.
  var values: [PredicateValue] = []
  /// Whether a constant is an object without a row. A save changes the id of this object.
  var refersToNewObjects = false
}

extension FetchCondition {
  /// Parses a condition in the format language.
  /// - Throws: ``StoreError/predicate(_:)``.
  init(format: String, _ arguments: [Any?]) throws {
    self.init(
      sharing: try PredicateNode(format: format, arguments: arguments), format: format,
      refersToNewObjects: arguments.contains(where: PredicateArgument.isNew))
  }

  /// Returns the condition that an object is one of those with the given ids.
  static func isOne(of ids: [Int64]) -> FetchCondition {
    FetchCondition(node: .isIn(.path(PropertyPath([])), ids.map { .value(.id($0)) }, []))
  }

  /// Creates a condition from a tree of a program.
  init(checking node: PredicateNode) {
    // The limits are checked first: a small tree with shared parts may take very long to walk. The
    // compiler rejects a tree beyond the limits.
    guard (try? node.check()) != nil else {
      self.init(node: node)
      return
    }
    self.init(sharing: node, refersToNewObjects: node.firstValue { $0.map != nil } != nil)
  }

  /// Creates a condition from a tree that is within the limits. Trees that differ only in their constants
  /// share a template, so that their SQL is made once.
  private init(sharing node: PredicateNode, format: String? = nil, refersToNewObjects: Bool) {
    self.init(node: node, format: format, refersToNewObjects: refersToNewObjects)
    guard let shape = SharedShape(of: node) else { return }
    (self.node, template, values) = (shape.node, shape.template, shape.values)
  }

  /// The tree with the captured values in place of the template's variables.
  var substituted: PredicateNode {
    template == nil ? node : node.replacingCaptured(by: values)
  }
}

extension PredicateOperand {
  /// Returns the variable of a captured value, named by its index. A name in the format language never
  /// begins with a digit.
  static func captured(_ index: Int) -> PredicateOperand { .variable("\(index)") }

  /// Returns the operand's constant, with its index among the captured values if it is one of them; nil
  /// for other operands, and for a variable without a value.
  func constant(among values: [PredicateValue]) -> (value: PredicateValue, source: Int?)? {
    switch self {
    case .value(let value): return (value.normal, nil)
    case .variable(let name):
      guard let index = Int(name), values.indices.contains(index) else { return nil }
      return (values[index].normal, index)
    case .path, .count, .arithmetic, .call, .coalesce, .aggregate, .list, .conditional, .cast, .position:
      return nil
    }
  }
}

extension PredicateValue {
  /// The value, with nil in its one form `.null`: a tree that was made by hand may give nil a type.
  fileprivate var normal: PredicateValue {
    guard stored.isNull else { return self }
    var null = PredicateValue.null
    null.place = place
    return null
  }
}
