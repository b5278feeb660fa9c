// What two #Predicates from the same place in a program share: all but the captured values. It is found by a
// walk that makes no tree, and under it the lowered predicate and its SQL are kept.

internal import CipherSQLite
internal import Foundation

/// The shape of a `#Predicate` and the values captured in it.
///
/// The type of an expression says nearly everything about it. The rest are words beside the type: key paths,
/// operators, which variable is meant, which values are nil.
struct PredicateShape {
  private(set) var key: Key
  private(set) var keyPaths: [AnyKeyPath] = []
  private(set) var values: [PredicateValue] = []
  /// False when a captured value itself decides what the SQL looks like, as a list does.
  private(set) var isReusable = true
  private var variables: [PredicateExpressions.VariableID]

  /// What shapes are told apart by. A type of its own: that an array of words is Hashable the runtime would
  /// have to look up.
  struct Key: Hashable {
    fileprivate var words: [UInt]

    fileprivate init(word: UInt) {
      words = []
      words.reserveCapacity(48)
      words.append(word)
    }

    func hash(into hasher: inout Hasher) {
      words.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
  }

  init(_ root: some LowerableExpression, over variable: PredicateExpressions.VariableID) {
    key = Key(word: UInt(bitPattern: ObjectIdentifier(type(of: root))))
    variables = [variable]
    root.note(in: &self)
  }

  mutating func note(_ word: UInt) { key.words.append(word) }

  /// By its address, which stands for it while something holds it.
  mutating func note(_ keyPath: AnyKeyPath) {
    key.words.append(UInt(bitPattern: ObjectIdentifier(keyPath)))
    keyPaths.append(keyPath)
  }

  mutating func note(_ variable: PredicateExpressions.VariableID) {
    if let index = variables.firstIndex(of: variable) {
      key.words.append(UInt(index))
    } else {
      key.words.append(UInt(variables.count))
      variables.append(variable)
    }
  }

  mutating func note(_ value: PredicateValue) {
    // Whether a truth value is compared with true or false decides on the condition around it.
    let truth: UInt = value.type == .bool && value.stored == .integer(1) ? 8 : 0
    // Infinity and NaN are decided when the SQL is made, and an unsaved object's id is an error.
    let edge: UInt = value.isEdge ? 16 : 0
    key.words.append(value.stored.storageClass + truth + edge)
    if edge != 0 { isReusable = false }
    values.append(value)
  }

  mutating func noteUnique() { isReusable = false }
}

extension PredicateValue {
  fileprivate var isEdge: Bool {
    switch stored {
    case .real(let number): !number.isFinite
    case .integer(let number): entity != nil && number <= 0
    default: false
    }
  }
}

extension SQLValue {
  fileprivate var storageClass: UInt {
    switch self {
    case .null: 0
    case .integer: 1
    case .real: 2
    case .text: 3
    case .blob: 4
    }
  }
}

extension PredicateTemplate {
  /// A program has few shapes; one that makes key paths as it goes must not fill the memory with them.
  private static let capacity = 1000
  private static let known = Locked<[PredicateShape.Key: PredicateTemplate]>([:])

  /// The condition that a predicate stands for.
  static func condition<Object: ManagedObject>(of predicate: Predicate<Object>) throws -> FetchCondition {
    guard let root = predicate.expression as? any LowerableExpression else {
      return FetchCondition(node: try PredicateNode(predicate))
    }
    return try condition(root, over: predicate.variable.key)
  }

  private static func condition(
    _ root: some LowerableExpression, over variable: PredicateExpressions.VariableID
  ) throws -> FetchCondition {
    let shape = PredicateShape(root, over: variable)
    guard shape.isReusable else { return FetchCondition(node: try Lowering.node(root, over: variable)) }
    if let template = known.withLock({ $0[shape.key] }) {
      return FetchCondition(node: template.node, template: template, values: shape.values)
    }
    let node = try Lowering.node(root, over: variable)
    let template = PredicateTemplate(node: node, keyPaths: shape.keyPaths)
    known.withLock { known in
      if known.count >= capacity { known.removeAll(keepingCapacity: true) }
      known[shape.key] = template
    }
    return FetchCondition(node: node, template: template, values: shape.values)
  }
}
