// Comparisons as SQL. PredicateCompiler+Types converts both sides to types that can be compared.

internal import CipherSQLite

extension PredicateCompiler {
  /// Compiles a comparison, or its opposite.
  mutating func compare(
    _ left: PredicateOperand, _ comparison: ComparisonOperator, with right: PredicateOperand,
    options: StringOptions, isNegated: Bool
  ) throws -> Condition {
    // `equal` and `notEqual` are each other's opposite.
    switch comparison {
    case .equal where isNegated:
      return try compare(left, .notEqual, with: right, options: options, isNegated: false)
    case .notEqual where isNegated:
      return try compare(left, .equal, with: right, options: options, isNegated: false)
    default: break
    }
    let condition = try compare(left, comparison, with: right, options: options)
    guard isNegated else { return condition }
    switch condition.sql.text {
    case "0": return .constant(true)
    case "1": return .constant(false)
    default: return Condition(sql: "(\(condition.sql)) IS NOT 1", height: condition.height)
    }
  }

  private mutating func compare(
    _ left: PredicateOperand, _ comparison: ComparisonOperator, with right: PredicateOperand,
    options: StringOptions
  ) throws -> Condition {
    let (left, right) = try typed(left, comparedWith: right)
    isInRange = comparison.isRange
    defer { isInRange = false }
    var (a, b) = (try compiled(left), try compiled(right))
    var comparison = comparison
    // The constant goes to the right side. If the right side already is a constant UUID or date, and the
    // left side is a string, the sides are exchanged, so that a constant text is converted to the type of
    // the other side.
    let isFlipped =
      b.constant == nil
      ? a.constant != nil : a.constant != nil && a.type == .string && b.type?.traits.written != nil
    if isFlipped, let flipped = comparison.entry.flipped {
      (a, b, comparison) = (b, a, flipped)
    }
    if comparison.isForStrings { return try strings(a, comparison, with: b, options: options) }
    if b.constant == .null {
      guard comparison == .equal || comparison == .notEqual else { return .constant(false) }
      if a.constant == .null { return .constant(comparison == .equal) }
      return isNil(a, comparison == .equal)
    }
    switch try adapted(b, to: a, for: comparison) {
    case .constant(let holds):
      // The types alone decide the result, except that nil is never less or greater.
      guard holds, comparison != .notEqual else { return .constant(holds) }
      return isNil(a, false)
    case .operand(let fitting, let meaning):
      if let column = collated(a, options), fitting.type == .string {
        return plain(column, meaning, with: fitting)
      }
      return plain(try folded(a, options), meaning, with: try folded(fitting, options))
    }
  }

  /// Compiles the comparison of two operands of compatible types.
  private func plain(_ a: CompiledOperand, _ comparison: ComparisonOperator, with b: CompiledOperand)
    -> Condition
  {
    let isConstant = b.constant != nil && b.constant != .null
    let (needs, height) = (a.needs.union(b.needs), max(a.height, b.height))
    if isMixed(a, with: b) {
      // The older engine converts integers to doubles to compare them with a double; a Decimal is text to
      // both engines. So a function compares them.
      let order: SQL = "vault_compare(\(a.sql), \(b.sql))"
      switch comparison {
      // Two nils are equal.
      case .equal:
        return Condition(sql: "\(order) = 0 OR \(a.sql) IS NULL AND \(b.sql) IS NULL", height: height + 1)
      case .notEqual:
        return Condition(
          sql: "ifnull(\(order) <> 0, (\(a.sql) IS NULL) <> (\(b.sql) IS NULL))", height: height)
      case .less, .lessOrEqual, .greater, .greaterOrEqual, .contains, .beginsWith, .endsWith, .like, .matches:
        return Condition(sql: comparison.entry.sql(order, "0"), needs: needs, height: height)
      }
    }
    let left = comparable(a, with: b)
    switch comparison {
    case .equal where isConstant: return Condition(sql: "\(left) = \(b.sql)", needs: needs, height: height)
    case .equal, .notEqual: return Condition(sql: comparison.entry.sql(left, b.sql), height: height)
    case .less, .lessOrEqual, .greater, .greaterOrEqual, .contains, .beginsWith, .endsWith, .like, .matches:
      return Condition(sql: comparison.entry.sql(left, b.sql), needs: needs, height: height)
    }
  }

  /// Returns whether both operands are numbers of different kinds and neither is a constant.
  private func isMixed(_ a: CompiledOperand, with b: CompiledOperand) -> Bool {
    guard a.constant == nil, b.constant == nil, let left = a.type, let right = b.type else { return false }
    return left.isNumeric && right.isNumeric && left.numberKind != right.numberKind
  }

  /// Returns the left side of a comparison, with a collation if needed: only a column has its own
  /// collation.
  func comparable(_ a: CompiledOperand, with b: CompiledOperand? = nil) -> SQL {
    // Only decimals have a collation; the collation of a column on either side is enough.
    let isDecimal = a.type?.traits.collation != nil || b?.type?.traits.collation != nil
    guard isDecimal, !a.isColumn, b?.isColumn != true else { return a.sql }
    return "\(a.sql) COLLATE vault_decimal"
  }

  // MARK: Strings

  /// Compiles a comparison of strings.
  private mutating func strings(
    _ a: CompiledOperand, _ comparison: ComparisonOperator, with b: CompiledOperand, options: StringOptions
  ) throws -> Condition {
    for side in [a, b] where side.constant != .null {
      guard !side.isObject, side.type?.isText == true else {
        throw failure("\(side.name) is not a string; \(comparison.word) needs strings", at: side.place)
      }
    }
    if a.constant == .null || b.constant == .null { return .constant(false) }
    if comparison == .matches { return try matches(a, with: b, options: options) }
    let (left, right) = (try folded(a, options).sql, try folded(b, options).sql)
    let needs = a.needs.union(b.needs)
    let height = max(a.height, b.height)
    if comparison == .beginsWith, let range = prefixRange(right) {
      // A range can use an index.
      let exact: SQL = "\(left) >= \(SQL.bound(range.lower)) AND \(left) < \(SQL.bound(range.upper))"
      guard let column = collated(a, options), let wide = foldedRange(range, options) else {
        return Condition(sql: exact, needs: needs, height: height)
      }
      let inIndex: SQL =
        "\(column.sql) >= \(SQL.bound(wide.lower)) AND \(column.sql) < \(SQL.bound(wide.upper))"
      return Condition(
        sql: wide.upper == range.upper ? inIndex : "\(inIndex) AND \(exact)", needs: needs, height: height)
    }
    // Searches the folded bytes of each row without making a text of them.
    if comparison == .contains, !options.isEmpty {
      return Condition(
        sql: "vault_contains(\(a.sql), \(right), \(number: options.rawValue))", needs: needs, height: height)
    }
    return Condition(sql: comparison.entry.sql(left, right), needs: needs, height: height)
  }

  /// Compiles MATCHES. A constant expression is checked here, so that the error has its position.
  private mutating func matches(
    _ a: CompiledOperand, with pattern: CompiledOperand, options: StringOptions
  ) throws -> Condition {
    if case .text(let source)? = pattern.constant?.stored {
      dependsOnValues(pattern.sql)
      guard (try? MatchPattern(source, options)) != nil else {
        throw failure(
          "this is not a regular expression; its syntax is that of NSRegularExpression", at: pattern.place)
      }
    }
    return Condition(
      sql: "vault_matches(\(a.sql), \(pattern.sql), \(number: options.rawValue))",
      needs: a.needs.union(pattern.needs), height: max(a.height, pattern.height))
  }

  /// Returns the range of strings that begin with a constant: from the constant to the next string by
  /// code points that does not begin with it. nil when the SQL is not a constant, or no such next string
  /// is found.
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

  /// Returns the range that a collation finds for a range of folded texts. The collation folds both
  /// bounds, so they must be the same afterwards. The range may contain texts that do not begin with the
  /// prefix. nil if there is no such range.
  private func foldedRange(
    _ range: (lower: SQLValue, upper: SQLValue), _ options: StringOptions
  ) -> (lower: SQLValue, upper: SQLValue)? {
    guard case .text(let lower) = range.lower, case .text(var upper) = range.upper,
      Folding.fold(lower, options).utf8.elementsEqual(lower.utf8)
    else { return nil }
    // The next characters may be capital letters, which are folded to others.
    for _ in 0..<100 {
      guard let last = upper.unicodeScalars.last else { return nil }
      if Folding.fold(upper, options).utf8.elementsEqual(upper.utf8) { return (range.lower, .text(upper)) }
      guard let next = Unicode.Scalar(last.value == 0xD7FF ? 0xE000 : last.value + 1) else { return nil }
      upper.unicodeScalars.removeLast()
      upper.unicodeScalars.append(next)
    }
    return nil
  }

  /// Returns a column with the collation that ignores case or marks, if an index of the column ignores
  /// exactly this. Unlike the folded operand, it can be looked up in the index. nil for other operands.
  func collated(_ operand: CompiledOperand, _ options: StringOptions) -> CompiledOperand? {
    guard let collation = options.collation, operand.isColumn, operand.type == .string,
      case .property(let entity, let name) = operand.label, entity.isIndexed(name, comparing: options)
    else { return nil }
    // Among the members of one owner, the link to it is the better index: see `isServed`.
    if scopes.contains(where: { $0.usableIndexSlots != nil }), !isInRange, !entity.hasStatistics {
      return nil
    }
    var collated = operand
    collated.isColumn = false
    collated.sql = "\(operand.sql) COLLATE \(identifier: collation)"
    return collated
  }

  /// Returns the operand without case or marks. Constants are folded here, columns by the store's
  /// function.
  mutating func folded(_ operand: CompiledOperand, _ options: StringOptions) throws -> CompiledOperand {
    guard !options.isEmpty else { return operand }
    guard operand.type == .string || operand.type == nil else {
      throw failure("\(operand.name) is not a string; [c] and [d] need strings", at: operand.place)
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

extension ComparisonOperator {
  /// Whether an index finds the values that compare in this way as a range.
  fileprivate var isRange: Bool {
    switch self {
    case .less, .lessOrEqual, .greater, .greaterOrEqual, .beginsWith: true
    case .equal, .notEqual, .contains, .endsWith, .like, .matches: false
    }
  }
}
