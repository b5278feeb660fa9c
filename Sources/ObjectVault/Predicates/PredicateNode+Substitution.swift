// Values in the place of variables, as NSPredicate's withSubstitutionVariables has it.

internal import CipherSQLite

extension PredicateNode {
  /// The tree with values in the place of its variables, so that a format is parsed once for many of them.
  ///
  /// ```swift
  /// let grown = try PredicateNode(format: "age >= $age AND name IN $names")
  /// let found = try grown.substituting(["age": 18, "names": ["Ann", "Bo"]])
  /// ```
  ///
  /// A value may be whatever fills a `%@`; a list takes the place of a variable behind `IN` alone. Variables that get no
  /// value stay, and values for which there is no variable are ignored. The work is proportional to the tree.
  /// - Throws: ``StoreError/predicate(_:)`` for a value that no attribute can hold, for a list where none can stand,
  ///   and for a tree beyond the limits of ``PredicateError``.
  public func substituting(_ variables: [String: Any?]) throws -> PredicateNode {
    // What follows descends as deep as the tree is.
    try check()
    let node = try replacing(try PredicateArgument.variables(variables))
    try node.check()
    return node
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
          PredicateError("$\(shortened(name)) is given a list, and a list can only stand behind IN"))
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

  /// What stands for one element of a list.
  fileprivate func elements(_ values: [String: PredicateArgument]) throws -> [PredicateOperand] {
    if case .variable(let name) = self, case .list(let list)? = values[name]?.content {
      return list.map { .value($0) }
    }
    return [try replacing(values)]
  }
}

extension PredicateArgument {
  /// The values of variables, by the names without `$`.
  /// - Throws: ``StoreError/predicate(_:)`` for what can be no value.
  static func variables(_ values: [String: Any?]) throws -> [String: PredicateArgument] {
    var arguments: [String: PredicateArgument] = [:]
    for (name, value) in values {
      arguments[name] = try PredicateArgument(value, named: "$\(shortened(name))")
    }
    return arguments
  }

  /// The one value; nil for a list.
  fileprivate var single: PredicateValue? {
    switch content {
    case .value(let value): value
    case .text(let text): PredicateValue(type: .string, stored: .text(text))
    case .list: nil
    }
  }
}
