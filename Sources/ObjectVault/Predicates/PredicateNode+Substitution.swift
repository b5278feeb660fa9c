// Replaces variables by values, as NSPredicate's withSubstitutionVariables does.

internal import CipherSQLite

extension PredicateNode {
  /// Returns the tree with its variables replaced by values, so that a format is parsed once and used
  /// with many values.
  ///
  /// ```swift
  /// let grown = try PredicateNode(format: "age >= $age AND name IN $names")
  /// let found = try grown.substituting(["age": 18, "names": ["Ann", "Bo"]])
  /// ```
  ///
  /// A value may be anything that a `%@` takes; a list may only replace a variable after `IN`. Variables
  /// without a value stay, and values without a variable are ignored. Costs time proportional to the size
  /// of the tree.
  /// - Parameter variables: The values by the names without `$`.
  /// - Returns: The tree with the values.
  /// - Throws: ``StoreError/predicate(_:)`` for a value that no attribute can have, for a list where none
  ///   is allowed, and for a tree beyond the limits of ``PredicateError``.
  public func substituting(_ variables: [String: Any?]) throws -> PredicateNode {
    // Checked first, because the replacement recurses as deep as the tree.
    try check()
    let node = try replacing(try PredicateArgument.variables(variables))
    try node.check()
    return node
  }

  /// Returns the tree of a template with its variables replaced by captured values.
  func replacingCaptured(by values: [PredicateValue]) -> PredicateNode {
    let arguments = values.enumerated().map { ("\($0.offset)", PredicateArgument($0.element)) }
    // Only a list where none is allowed is an error, and captured lists are not variables.
    return (try? replacing(Dictionary(uniqueKeysWithValues: arguments))) ?? self
  }

  private func replacing(_ values: [String: PredicateArgument]) throws -> PredicateNode {
    switch self {
    case .constant: self
    case .and(let parts): .and(try parts.map { try $0.replacing(values) })
    case .or(let parts): .or(try parts.map { try $0.replacing(values) })
    case .not(let inner): .not(try inner.replacing(values))
    case .truth(let operand): .truth(try operand.replacing(values))
    case .comparison(let left, let comparison, let right, let options):
      .comparison(try left.replacing(values), comparison, try right.replacing(values), options)
    case .between(let operand, let low, let high):
      .between(try operand.replacing(values), try low.replacing(values), try high.replacing(values))
    case .isIn(let operand, let list, let options):
      .isIn(try operand.replacing(values), try list.flatMap { try $0.elements(values) }, options)
    case .quantified(let quantifier, let path, let inner):
      .quantified(quantifier, path, try inner.replacing(values))
    }
  }
}

extension PredicateOperand {
  fileprivate func replacing(_ values: [String: PredicateArgument]) throws -> PredicateOperand {
    switch self {
    case .value, .path, .count: return self
    case .variable(let name):
      guard let argument = values[name] else { return self }
      guard let value = argument.single else {
        throw StoreError.predicate(
          PredicateError("the value of $\(shortened(name)) is a list, but a list can only follow IN"))
      }
      return .value(value)
    case .arithmetic(let left, let operation, let right):
      return .arithmetic(try left.replacing(values), operation, try right.replacing(values))
    case .call(let function, let arguments):
      return .call(function, try arguments.map { try $0.replacing(values) })
    case .coalesce(let first, let second):
      return .coalesce(try first.replacing(values), try second.replacing(values))
    }
  }

  /// Returns the elements that replace one element of a list.
  fileprivate func elements(_ values: [String: PredicateArgument]) throws -> [PredicateOperand] {
    if case .variable(let name) = self, case .list(let list)? = values[name]?.content {
      return list.map { .value($0) }
    }
    return [try replacing(values)]
  }
}

extension PredicateArgument {
  /// Creates arguments from the values of variables, by the names without `$`.
  /// - Throws: ``StoreError/predicate(_:)`` for a value that cannot be an argument.
  static func variables(_ values: [String: Any?]) throws -> [String: PredicateArgument] {
    var arguments: [String: PredicateArgument] = [:]
    for (name, value) in values {
      arguments[name] = try PredicateArgument(value, named: "$\(shortened(name))")
    }
    return arguments
  }

  /// The single value; nil for a list.
  fileprivate var single: PredicateValue? {
    switch content {
    case .value(let value): value
    case .text(let text): PredicateValue(type: .string, stored: .text(text))
    case .list: nil
    }
  }
}
