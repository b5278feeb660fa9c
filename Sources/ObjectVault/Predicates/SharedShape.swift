// The shapes of trees that were parsed from a format or made by a program. Two trees have one shape if they
// differ only in constants for which the SQL is the same.

internal import CipherSQLite

/// A tree with variables in place of its constants, and the template of all trees of its shape.
struct SharedShape {
  /// The tree, with the positions of its own text.
  let node: PredicateNode
  let values: [PredicateValue]
  let template: PredicateTemplate

  /// The number of templates that are kept. A program has few shapes; more are made from texts at run time.
  private static let capacity = 1000
  /// The depth up to which a tree has a shape.
  private static let maximumDepth = 40
  private static let known = Locked<[Key: PredicateTemplate]>([:])

  private struct Key: Hashable {
    let node: PredicateNode
    let constants: [Constant]
  }

  /// The facts about a constant on which the SQL depends.
  private struct Constant: Hashable {
    let word: UInt
    let type: AttributeType?
    let entity: String?
    let owner: ObjectIdentifier?

    init(_ value: PredicateValue) {
      (word, type, entity) = (value.word, value.type, value.entity)
      owner = value.owner.map { ObjectIdentifier($0) }
    }
  }

  /// Returns the shape of a tree.
  /// - Parameter node: The tree, which is within the limits.
  /// - Returns: nil if the SQL depends on the constants, or the tree has a list or a variable.
  init?(of node: PredicateNode) {
    var values: [PredicateValue] = []
    guard let shape = Self.capturing(node, in: &values),
      !values.contains(where: { $0.needsOwnSQL || $0.map != nil })
    else { return nil }
    let key = Key(node: shape, constants: values.map(Constant.init))
    (self.node, self.values) = (shape, values)
    template = Self.known.withLock { known in
      if let template = known[key] { return template }
      if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
      let made = PredicateTemplate(node: shape, keyPaths: [])
      known[key] = made
      return made
    }
  }

  /// An error that ends a visit of a tree.
  private struct NoShape: Error {}

  private static func capturing(_ node: PredicateNode, in values: inout [PredicateValue]) -> PredicateNode? {
    var found: [PredicateValue] = []
    // A calculation may be as deep as the number of its operands, and the code that visits, hashes and
    // compares the shape is recursive.
    var depth = 0
    func captured(_ operand: PredicateOperand) throws -> PredicateOperand {
      guard depth < maximumDepth else { throw NoShape() }
      depth += 1
      defer { depth -= 1 }
      switch operand {
      case .value(let value):
        found.append(value)
        return .captured(found.count - 1)
      case .variable, .position: throw NoShape()
      default: return try operand.mapping(captured, condition)
      }
    }
    func condition(_ node: PredicateNode) throws -> PredicateNode {
      // The number of values is a part of the SQL, and a long list takes long to compare.
      if case .isIn = node { throw NoShape() }
      guard depth < maximumDepth else { throw NoShape() }
      depth += 1
      defer { depth -= 1 }
      return try node.mapping(captured, condition)
    }
    guard let shape = try? condition(node) else { return nil }
    values = found
    return shape
  }
}
