// The types of parts of JSON attributes in the evaluation. PredicateCompiler+JSON finds the same types for
// SQL.

internal import CipherSQLite

extension PredicatePreparation {
  /// Returns two operands of a comparison. A part of JSON without a type gets the type of the other operand.
  mutating func typed(
    _ a: PredicateOperand, comparedWith b: PredicateOperand
  ) -> (PredicateOperand, PredicateOperand) {
    switch (untypedPart(a), untypedPart(b)) {
    case (let path?, nil): return (.path(path.read(as: type(b)?.ofJSONPart ?? .json)), b)
    case (nil, let path?): return (a, .path(path.read(as: type(a)?.ofJSONPart ?? .json)))
    case (nil, nil), (_?, _?): return (a, b)
    }
  }

  /// Returns the operand of an IN: a part of JSON without a type gets that of the first element that has one.
  mutating func typed(_ operand: PredicateOperand, among list: [PredicateOperand]) -> PredicateOperand {
    guard let path = untypedPart(operand) else { return operand }
    guard let element = list.first(where: { constant($0)?.stored.isNull != true }) else {
      return .path(path.read(as: .json))
    }
    return typed(operand, comparedWith: element).0
  }

  /// Returns `a ?? b ?? c` with a type for each part of JSON: that of the first operand that has one. Other
  /// operands are returned as they are.
  mutating func typedAlternatives(of operand: PredicateOperand) -> PredicateOperand {
    guard case .coalesce = operand else { return operand }
    var parts = operand.alternatives
    guard parts.contains(where: { if case .path = $0 { true } else { false } }) else { return operand }
    var paths: [Int: PropertyPath] = [:]
    for (index, part) in parts.enumerated() { paths[index] = untypedPart(part) }
    guard !paths.isEmpty,
      let known = parts.indices.first(where: { paths[$0] == nil && constant(parts[$0]) != .null }),
      let type = type(parts[known])
    else { return operand }
    for (index, path) in paths { parts[index] = .path(path.read(as: type.ofJSONPart)) }
    let last = parts.removeLast()
    return parts.reversed().reduce(last) { .coalesce($1, $0) }
  }

  /// Returns the path of an operand that is a part of JSON without a type; nil for other operands.
  mutating func untypedPart(_ operand: PredicateOperand) -> PropertyPath? {
    guard case .path(let path) = operand, let part = part(at: path), part.type == nil else { return nil }
    return path
  }

  /// Returns the part of JSON that a path leads to; nil for other paths.
  mutating func part(at path: PropertyPath) -> JSONPartPath? {
    let end = walk(path)
    return JSONPartPath(end.rest) { end.entity?.attribute(named: $0)?.type == .json }
  }
}
