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

  fileprivate func replacing(_ values: [String: PredicateArgument]) throws -> PredicateNode {
    if case .isIn(let operand, let list, let options) = self {
      return .isIn(try operand.replacing(values), try list.flatMap { try $0.elements(values) }, options)
    }
    return try mapping({ try $0.replacing(values) }, { try $0.replacing(values) })
  }
}

extension PredicateOperand {
  fileprivate func replacing(_ values: [String: PredicateArgument]) throws -> PredicateOperand {
    switch self {
    case .variable(let name):
      guard let argument = values[name] else { return self }
      guard let value = argument.single else {
        throw StoreError.predicate(
          PredicateError("the value of $\(shortened(name)) is a list, but a list can only follow IN"))
      }
      return .value(value)
    case .list(let function, let elements):
      return .list(function, try elements.flatMap { try $0.elements(values) })
    default: return try mapping({ try $0.replacing(values) }, { try $0.replacing(values) })
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
