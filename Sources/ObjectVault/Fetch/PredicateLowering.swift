// Foundation's #Predicate -> PredicateNode. Each expression type lowers itself; the list is in
// PredicateLowering+Expressions. What is not in it is an error that names the expression.

internal import CipherSQLite
public import Foundation

extension PredicateNode {
  /// The tree of a `#Predicate`.
  /// - Throws: ``StoreError/predicate(_:)`` when it holds an expression that SQL cannot stand for, named in
  ///   the error.
  public init<Object: ManagedObject>(_ predicate: Predicate<Object>) throws {
    var lowering = Lowering()
    lowering.variables[predicate.variable.key] = .path(PropertyPath([]))
    self = try lowering.condition(predicate.expression)
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
  /// Several constants.
  case list([PredicateValue])
  /// From one operand to another; the flag says whether the upper one is included.
  case range(PredicateOperand, PredicateOperand, isClosed: Bool)
}

struct Lowering {
  var variables: [PredicateExpressions.VariableID: Lowered] = [:]
  var depth = 0

  mutating func lower(_ expression: Any) throws -> Lowered {
    guard let lowerable = expression as? any LowerableExpression else {
      throw StoreError.predicate(
        PredicateError(
          "\(Self.name(of: expression)) has no counterpart in SQL; fetch first, then filter in Swift"))
    }
    return try lowerable.lower(in: &self)
  }

  mutating func operand(_ expression: Any) throws -> PredicateOperand {
    switch try lower(expression) {
    case .operand(let operand): return operand
    case .path(let path): return .path(path)
    case .condition, .list, .range:
      throw StoreError.predicate(
        PredicateError("\(Self.name(of: expression)) cannot stand in a comparison here"))
    }
  }

  mutating func condition(_ expression: Any) throws -> PredicateNode {
    switch try lower(expression) {
    case .condition(let node, _): return node
    case .operand(let operand): return .comparison(operand, .equal, .value(Self.boolean(true)), [])
    case .path(let path): return .comparison(.path(path), .equal, .value(Self.boolean(true)), [])
    case .list, .range:
      throw StoreError.predicate(PredicateError("\(Self.name(of: expression)) is no condition"))
    }
  }

  static func boolean(_ value: Bool) -> PredicateValue {
    PredicateValue(type: .bool, stored: .integer(value ? 1 : 0))
  }

  static func unsupported(_ what: String) -> StoreError { .predicate(PredicateError(what)) }

  private static func name(of expression: Any) -> String {
    let name = String(describing: type(of: expression))
    return String(name.prefix { $0 != "<" })
  }
}

/// An expression of a `#Predicate` that has a meaning in SQL.
protocol LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered
}
