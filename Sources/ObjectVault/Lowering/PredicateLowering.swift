// Foundation's #Predicate -> PredicateNode. Each expression type lowers itself:
// PredicateLowering+Values, +Comparisons, +Optionals and +Collections. What is in none is an error that names it.

internal import CipherSQLite
public import Foundation

extension PredicateNode {
  /// The tree of a `#Predicate`.
  /// - Throws: ``StoreError/predicate(_:)`` when it holds an expression that SQL cannot stand for, named in
  ///   the error.
  public init<Object: ManagedObject>(_ predicate: Predicate<Object>) throws {
    guard let root = predicate.expression as? any LowerableExpression else {
      throw Lowering.unsupported(
        "\(Lowering.unknownExpression(in: predicate.expression)) has no counterpart in SQL; fetch first, "
          + "then filter in Swift")
    }
    self = try Lowering.node(root, over: predicate.variable.key)
  }
}

/// What an expression means.
enum Lowered {
  /// A constant, a calculation, an attribute.
  case operand(PredicateOperand)
  /// An object or a to-many, by its path.
  case path(PropertyPath)
  /// A truth value, and the condition under which it is nil (inside optional chaining).
  case condition(PredicateNode, isNil: PredicateNode?)
  /// An operand that has a value also where it should be nil, and when that is (inside `flatMap`).
  case guarded(PredicateOperand, isNil: PredicateNode)
  /// Several constants.
  case list([PredicateValue])
  /// From one operand to another; the flag says whether the upper one is included.
  case range(PredicateOperand, PredicateOperand, isClosed: Bool)
}

extension Lowered {
  /// What can be compared or calculated with.
  func operand() throws -> PredicateOperand {
    switch self {
    case .operand(let operand): return operand
    case .path(let path): return .path(path)
    case .guarded: throw Lowering.unsupported(Lowering.guardedReason)
    default: throw Lowering.unsupported("a list, a range or a condition cannot be compared")
    }
  }
}

struct Lowering {
  var variables: [PredicateExpressions.VariableID: Lowered] = [:]
  var depth = 0
  /// How many captured values have been met.
  var valueCount = 0

  static func node(
    _ root: some LowerableExpression, over variable: PredicateExpressions.VariableID
  ) throws -> PredicateNode {
    var lowering = Lowering()
    lowering.variables[variable] = .path(PropertyPath([]))
    return try lowering.condition(root)
  }

  mutating func operand(_ expression: some LowerableExpression) throws -> PredicateOperand {
    switch try expression.lower(in: &self) {
    case .operand(let operand): return operand
    case .path(let path): return .path(path)
    case .guarded: throw Self.unsupported(Self.guardedReason)
    case .condition, .list, .range:
      throw Self.unsupported("\(Self.name(of: expression)) cannot stand in a comparison here")
    }
  }

  mutating func condition(_ expression: some LowerableExpression) throws -> PredicateNode {
    switch try expression.lower(in: &self) {
    case .condition(let node, _): return node
    case .operand(let operand): return .truth(operand)
    case .path(let path): return .truth(.path(path))
    case .list, .range, .guarded:
      throw Self.unsupported("\(Self.name(of: expression)) is no condition")
    }
  }

  static let guardedReason =
    "what flatMap gives without its value, as by ?? inside, can only be compared; write the ?? behind the flatMap"

  static func unsupported(_ what: String) -> StoreError { .predicate(PredicateError(what)) }

  /// The expression that has no meaning in SQL, among those of a tree that has none for that reason.
  static func unknownExpression(in expression: Any) -> String {
    for child in Mirror(reflecting: expression).children where isExpression(child.value) {
      if !(child.value is any LowerableExpression) { return unknownExpression(in: child.value) }
    }
    return name(of: expression)
  }

  private static func isExpression(_ value: Any) -> Bool { value is any PredicateExpression }

  private static func name(of expression: Any) -> String {
    let name = String(describing: type(of: expression))
    return String(name.prefix { $0 != "<" })
  }
}

/// An expression of a `#Predicate` that has a meaning in SQL. The conformances ask the same of the parts, so
/// that one look-up, of the whole, is enough and the parts are called directly.
protocol LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered
  /// Notes what tells this expression from others of its type, and the captured values in the order in which
  /// ``lower(in:)`` meets them.
  func note(in shape: inout PredicateShape)
}
