// Logic, comparisons and calculations of a #Predicate.

internal import CipherSQLite

extension PredicateReader {
  mutating func conjunction() throws -> Lowered {
    // `a && b && c` becomes one list, not a tree whose depth grows with its length.
    let (left, right) = (try condition(), try condition())
    if case .and(let parts) = left { return .condition(.and(parts + [right]), isNil: nil) }
    return .condition(.and([left, right]), isNil: nil)
  }

  mutating func disjunction() throws -> Lowered {
    let (left, right) = (try condition(), try condition())
    if case .or(let parts) = left { return .condition(.or(parts + [right]), isNil: nil) }
    return .condition(.or([left, right]), isNil: nil)
  }

  // MARK: Comparisons

  /// Reads `==`. A condition from optional chaining is true, false or nil, and may be compared with a
  /// constant.
  mutating func equality() throws -> PredicateNode {
    switch (try next(), try next()) {
    case (.condition(let node, let isNil), .operand(let operand)),
      (.operand(let operand), .condition(let node, let isNil)):
      guard let value = constant(operand) else {
        throw Self.unsupported("a list, a range or a condition cannot be compared")
      }
      return Self.equality(node, isNil: isNil, to: value)
    case (.condition(let a, nil), .condition(let b, nil)):
      return .or([.and([a, b]), .and([.not(a), .not(b)])])
    case (.guarded(let a, let isNil), let other), (let other, .guarded(let a, let isNil)):
      let b = try other.operand()
      let isOtherNil = PredicateNode.comparison(b, .equal, .value(.null), [])
      return .or([.and([.not(isNil), .comparison(a, .equal, b, [])]), .and([isNil, isOtherNil])])
    case (let a, let b):
      return .comparison(try a.operand(), .equal, try b.operand(), [])
    }
  }

  private static func equality(
    _ node: PredicateNode, isNil: PredicateNode?, to value: PredicateValue
  ) -> PredicateNode {
    switch value.stored {
    case .null: isNil ?? .constant(false)
    case .integer(1): .and([node] + (isNil.map { [.not($0)] } ?? []))
    case .integer, .real, .text, .blob: .and([.not(node)] + (isNil.map { [.not($0)] } ?? []))
    }
  }

  mutating func inequality() throws -> PredicateNode {
    let equal = try equality()
    if case .comparison(let left, .equal, let right, let options) = equal {
      return .comparison(left, .notEqual, right, options)
    }
    return .not(equal)
  }

  /// Reads an ordering comparison. An operand that is nil is never less or greater.
  mutating func comparison(_ comparison: ComparisonOperator) throws -> Lowered {
    switch (try next(), try next()) {
    case (.guarded(let a, let isNil), let b):
      return .condition(.and([.not(isNil), .comparison(a, comparison, try b.operand(), [])]), isNil: nil)
    case (let a, .guarded(let b, let isNil)):
      return .condition(.and([.not(isNil), .comparison(try a.operand(), comparison, b, [])]), isNil: nil)
    case (let a, let b):
      return .condition(.comparison(try a.operand(), comparison, try b.operand(), []), isNil: nil)
    }
  }

  mutating func strings(_ comparison: ComparisonOperator) throws -> Lowered {
    .condition(.comparison(try operand(), comparison, try operand(), []), isNil: nil)
  }

  /// Reads `test ? a : b`, of two values or of two conditions.
  mutating func conditional() throws -> Lowered {
    let test = try condition()
    switch (try next(), try next()) {
    case (.condition(let a, nil), .condition(let b, nil)):
      return .condition(.either(a, if: test, else: b), isNil: nil)
    case (.condition(let a, nil), .operand(let b)):
      return .condition(.either(a, if: test, else: .truth(b)), isNil: nil)
    case (.operand(let a), .condition(let b, nil)):
      return .condition(.either(.truth(a), if: test, else: b), isNil: nil)
    case (let a, let b): return .operand(.conditional(test, try a.operand(), try b.operand()))
    }
  }

  // MARK: Calculations

  mutating func calculation(_ operation: ArithmeticOperator) throws -> Lowered {
    .operand(.arithmetic(try operand(), operation, try operand()))
  }

  mutating func negative() throws -> Lowered {
    let zero = PredicateValue(type: .int, stored: .integer(0))
    return .operand(.arithmetic(.value(zero), .subtract, try operand()))
  }
}
