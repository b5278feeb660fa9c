// Comparisons -> SQL. How the types of both sides are made to fit is in PredicateCompiler+Types.

internal import CipherSQLite

extension PredicateCompiler {
  mutating func compare(
    _ left: PredicateOperand, _ comparison: ComparisonOperator, _ right: PredicateOperand,
    _ options: StringOptions, isNegated: Bool
  ) throws -> Condition {
    // The two that have an opposite among themselves.
    switch comparison {
    case .equal where isNegated:
      return try compare(left, .notEqual, right, options, isNegated: false)
    case .notEqual where isNegated:
      return try compare(left, .equal, right, options, isNegated: false)
    default: break
    }
    let condition = try compare(left, comparison, right, options)
    guard isNegated else { return condition }
    switch condition.sql.text {
    case "0": return .constant(true)
    case "1": return .constant(false)
    default: return Condition(sql: "(\(condition.sql)) IS NOT 1")
    }
  }

  private mutating func compare(
    _ left: PredicateOperand, _ comparison: ComparisonOperator, _ right: PredicateOperand,
    _ options: StringOptions
  ) throws -> Condition {
    var (a, b) = (try compiled(left), try compiled(right))
    var comparison = comparison
    // The constant to the right; of two, the text that may stand for a UUID or a date.
    let isFlipped =
      b.constant == nil
      ? a.constant != nil : a.type == .string && b.type?.traits.written != nil
    if isFlipped, let flipped = comparison.entry.flipped {
      (a, b, comparison) = (b, a, flipped)
    }
    if comparison.isForStrings { return try strings(a, comparison, b, options) }
    if b.constant == .null {
      guard comparison == .equal || comparison == .notEqual else { return .constant(false) }
      if a.constant == .null { return .constant(comparison == .equal) }
      return isNil(a, comparison == .equal)
    }
    switch try adapted(b, to: a, for: comparison) {
    case .constant(let holds):
      // Decided by the types alone, but for nil, which is never less nor greater.
      guard holds, comparison != .notEqual else { return .constant(holds) }
      return isNil(a, false)
    case .operand(let fitting, let meaning):
      return plain(try folded(a, options), meaning, try folded(fitting, options))
    }
  }

  private func plain(_ a: CompiledOperand, _ comparison: ComparisonOperator, _ b: CompiledOperand)
    -> Condition
  {
    let isConstant = b.constant != nil && b.constant != .null
    let needs = a.needs.union(b.needs)
    if isMixed(a, b) {
      // The older engine makes integers doubles to compare them with one; a Decimal is text to both.
      let order: SQL = "vault_compare(\(a.sql), \(b.sql))"
      switch comparison {
      // Two nils are equal.
      case .equal:
        return Condition(sql: "\(order) = 0 OR \(a.sql) IS NULL AND \(b.sql) IS NULL", height: 1)
      case .notEqual:
        return Condition(sql: "ifnull(\(order) <> 0, (\(a.sql) IS NULL) <> (\(b.sql) IS NULL))")
      case .less, .lessOrEqual, .greater, .greaterOrEqual, .contains, .beginsWith, .endsWith, .like:
        return Condition(sql: comparison.entry.sql(order, "0"), needs: needs)
      }
    }
    let left = comparable(a, with: b)
    switch comparison {
    case .equal where isConstant: return Condition(sql: "\(left) = \(b.sql)", needs: needs)
    case .equal, .notEqual: return Condition(sql: comparison.entry.sql(left, b.sql))
    case .less, .lessOrEqual, .greater, .greaterOrEqual, .contains, .beginsWith, .endsWith, .like:
      return Condition(sql: comparison.entry.sql(left, b.sql), needs: needs)
    }
  }

  /// Whether neither is a constant and they are numbers of different kinds.
  private func isMixed(_ a: CompiledOperand, _ b: CompiledOperand) -> Bool {
    guard a.constant == nil, b.constant == nil, let left = a.type, let right = b.type else { return false }
    return left.isNumeric && right.isNumeric && left.numberKind != right.numberKind
  }

  /// The left side of a comparison. Only a column has its collation by itself.
  func comparable(_ a: CompiledOperand, with b: CompiledOperand? = nil) -> SQL {
    // Only decimals have a collation; of both sides the column's serves.
    let isDecimal = a.type?.traits.collation != nil || b?.type?.traits.collation != nil
    guard isDecimal, !a.isColumn, b?.isColumn != true else { return a.sql }
    return "\(a.sql) COLLATE vault_decimal"
  }

  // MARK: Strings

  private mutating func strings(
    _ a: CompiledOperand, _ comparison: ComparisonOperator, _ b: CompiledOperand, _ options: StringOptions
  ) throws -> Condition {
    for side in [a, b] where side.constant != .null {
      guard !side.isObject, side.type?.isText == true else {
        throw failure("\(side.name) is no string; \(comparison.word) takes strings", at: side.place)
      }
    }
    if a.constant == .null || b.constant == .null { return .constant(false) }
    let (left, right) = (try folded(a, options).sql, try folded(b, options).sql)
    let needs = a.needs.union(b.needs)
    if comparison == .beginsWith, let range = prefixRange(right) {
      // A range, so that an index serves.
      return Condition(
        sql: "\(left) >= \(SQL.bound(range.lower)) AND \(left) < \(SQL.bound(range.upper))", needs: needs)
    }
    return Condition(sql: comparison.entry.sql(left, right), needs: needs)
  }

  /// The strings that begin with a constant: from itself to the next that does not, by code points.
  private mutating func prefixRange(_ sql: SQL) -> (lower: SQLValue, upper: SQLValue)? {
    dependsOnValues(sql)
    guard sql.text == "?", case .text(let prefix)? = sql.boundValue,
      let last = prefix.unicodeScalars.last
    else { return nil }
    let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
    guard let scalar = Unicode.Scalar(next) else { return nil }
    var upper = prefix
    upper.unicodeScalars.removeLast()
    upper.unicodeScalars.append(scalar)
    return (.text(prefix), .text(upper))
  }

  /// The operand with case or marks taken out; constants are folded here, columns by the store's function.
  mutating func folded(_ operand: CompiledOperand, _ options: StringOptions) throws -> CompiledOperand {
    guard !options.isEmpty else { return operand }
    guard operand.type == .string || operand.type == nil else {
      throw failure("\(operand.name) is no string; [c] and [d] are for strings", at: operand.place)
    }
    var folded = operand
    folded.isColumn = false
    if case .text(let text)? = operand.constant?.stored {
      dependsOnValues(operand.sql)
      folded.sql = .bound(.text(Folding.fold(text, options)))
    } else {
      folded.sql = "vault_fold(\(operand.sql), \(number: options.rawValue))"
    }
    return folded
  }
}
