// Logic and lists as SQL.

internal import CipherSQLite

extension PredicateCompiler {
  /// Compiles a condition.
  /// - Parameters:
  ///   - isNegated: Whether to compile the opposite.
  ///   - isNarrowed: Whether other conditions already reduce the rows to a few, which an index finds.
  mutating func condition(_ node: PredicateNode, isNegated: Bool, isNarrowed: Bool) throws -> Condition {
    switch node {
    case .constant(let value): return .constant(value != isNegated)
    case .not(let inner): return try condition(inner, isNegated: !isNegated, isNarrowed: isNarrowed)
    case .and(let parts):
      return try joined(parts, isAnd: !isNegated, isNegated: isNegated, isNarrowed: isNarrowed)
    case .or(let parts):
      return try joined(parts, isAnd: isNegated, isNegated: isNegated, isNarrowed: isNarrowed)
    case .truth(let operand): return try truth(operand, isNegated)
    case .comparison(let left, let comparison, let right, let options):
      return try compare(left, comparison, with: right, options: options, isNegated: isNegated)
    case .between(let operand, let low, let high):
      return try joined(
        [.comparison(operand, .greaterOrEqual, low, []), .comparison(operand, .lessOrEqual, high, [])],
        isAnd: !isNegated, isNegated: isNegated, isNarrowed: isNarrowed)
    case .isIn(let operand, let list, let options):
      return try isIn(operand, list, options: options, isNegated: isNegated)
    case .quantified(let quantifier, let path, let inner):
      // ALL is compiled as: there is no member for which the condition is not true.
      let exists = (quantifier == .any) != isNegated
      return try members(
        path, inner, isInnerNegated: quantifier == .all, exists: exists, isNarrowed: isNarrowed)
    }
  }

  private mutating func joined(
    _ parts: [PredicateNode], isAnd: Bool, isNegated: Bool, isNarrowed: Bool
  ) throws -> Condition {
    let narrowing = isAnd && !isNegated ? parts.map { isNarrow($0, depth: scopes.count - 1) } : []
    let count = narrowing.count { $0 }
    var conditions: [Condition] = []
    for (index, part) in parts.enumerated() {
      let others = narrowing.isEmpty ? 0 : count - (narrowing[index] ? 1 : 0)
      conditions.append(try condition(part, isNegated: isNegated, isNarrowed: isNarrowed || others > 0))
    }
    return combined(conditions, isAnd: isAnd)
  }

  /// Returns the conjunction of the conditions, or their disjunction.
  func combined(_ parts: [Condition], isAnd: Bool) -> Condition {
    guard let first = parts.first else { return .constant(isAnd) }
    if parts.count == 1 { return first }
    var parts = parts
    let height = parts.reduce(0) { max($0, $1.height) } + 1
    // The engine's parser has a stack of 100 entries. The part with the deepest nesting comes first,
    // where each level takes one entry and not three.
    if height > 3 { parts.sort { $0.height > $1.height } }
    // The engine's expression tree has at most 1,000 levels, and each AND of a sequence is one.
    if parts.count > 50 {
      parts = parts.chunked(50).map { combined($0, isAnd: isAnd) }
      return combined(parts, isAnd: isAnd)
    }
    let sql: SQL = "(\(SQL.joined(parts.map(\.sql), by: isAnd ? ") AND (" : ") OR (")))"
    let needs = parts.dropFirst().reduce(parts[0].needs) {
      isAnd ? $0.union($1.needs) : $0.intersection($1.needs)
    }
    return Condition(sql: sql, needs: needs, height: height)
  }

  private mutating func truth(_ operand: PredicateOperand, _ isNegated: Bool) throws -> Condition {
    let truth = PredicateOperand.value(PredicateValue.boolean(true))
    let subject = try compiled(try typed(operand, comparedWith: truth).0)
    guard subject.type == .bool, !subject.isObject else {
      throw failure(
        "\(subject.name) is \(subject.kind), not a condition; a comparison is missing after it",
        at: subject.place)
    }
    return try compare(
      operand, .equal, with: truth, options: [], isNegated: isNegated)
  }

  // MARK: IN

  private mutating func isIn(
    _ operand: PredicateOperand, _ list: [PredicateOperand], options: StringOptions, isNegated: Bool
  ) throws -> Condition {
    listedIDs = nil
    let operand = try typed(operand, among: list)
    let subject = try compiled(operand)
    let column = collated(subject, options)
    var hasNil = false
    var values: [SQLValue] = []
    var parts: [Condition] = []
    values.reserveCapacity(list.count)
    let plain = options.isEmpty ? PlainConstants(for: subject) : nil
    for element in list {
      if case .value(let constant) = element, plain?.contain(constant) == true {
        values.append(constant.stored)
        continue
      }
      guard let (constant, _) = constant(element), !isWritten(constant, as: subject) else {
        // An operand that is not a constant may be nil, and nil equals nil.
        parts.append(try compare(operand, .equal, with: element, options: options, isNegated: isNegated))
        continue
      }
      let candidate = try compiled(element)
      dependsOnValues(candidate.sql)
      if constant.stored.isNull {
        hasNil = true
        continue
      }
      guard subject.constant != .null else { continue }
      // A value that the attribute's type cannot have equals nothing.
      guard case .operand(let fitting, _) = try adapted(candidate, to: subject, for: .equal) else { continue }
      let text = column == nil ? try folded(fitting, options) : fitting
      if let value = text.sql.boundValue { values.append(value) }
    }
    if subject.constant == .null {
      if hasNil { return .constant(!isNegated) }
    } else {
      let left = try column ?? folded(subject, options)
      if !values.isEmpty {
        let isAll = !isNegated && !hasNil && parts.isEmpty && values.count > Self.longestWrittenList
        let ids = isAll && isRowID(operand) ? values.compactMap(\.int64) : []
        listedIDs = ids.count == values.count ? ids : nil
        let (column, list) = (comparable(left), Self.list(values))
        let sql: SQL = isOwnID(operand) ? "+\(column) IN (\(list))" : "\(column) IN (\(list))"
        // A list in one parameter is a query, which counts as several levels of parentheses.
        let height = max(values.count > Self.longestWrittenList ? 4 : 0, subject.height)
        parts.append(
          isNegated
            ? Condition(sql: "(\(sql)) IS NOT 1", height: height)
            : Condition(sql: sql, needs: subject.needs, height: height))
      }
      if hasNil { parts.append(isNil(left, !isNegated)) }
    }
    return parts.isEmpty ? .constant(isNegated) : combined(parts, isAnd: isNegated)
  }

  /// Returns whether the operand is the id of members that are found by their owner. A plus before the id
  /// keeps the engine from looking up each id of the list, however long, once for each owner.
  private func isOwnID(_ operand: PredicateOperand) -> Bool {
    guard case .path(let path) = operand, scopes.indices.contains(path.depth),
      scopes[path.depth].usableIndexSlots != nil
    else { return false }
    let names = scopes[path.depth].prefix + path.names
    return names.isEmpty || names == ["id"]
  }

  /// Returns whether the operand is the id of the fetched object.
  private func isRowID(_ operand: PredicateOperand) -> Bool {
    guard case .path(let path) = operand, path.depth == 0, scopes.count == 1 else { return false }
    return path.names.isEmpty || path.names == ["id"]
  }

  /// Returns whether the element is a UUID or a date and the subject is a constant text. The text is then
  /// converted to the stored form of a UUID or a date.
  private func isWritten(_ constant: PredicateValue, as subject: CompiledOperand) -> Bool {
    constant.type?.traits.written != nil && subject.constant?.type == .string
  }

  /// The highest number of values of a list that are written into the SQL one by one; the values of a longer
  /// list are one parameter. It is low enough for a statement to have several short lists.
  private static let longestWrittenList = 100

  private static func list(_ values: [SQLValue]) -> SQL {
    guard values.count <= longestWrittenList else {
      return "SELECT value FROM \(ValueList.name)(\(SQL.bound(.blob(ValueList.packed(values)))))"
    }
    return .joined(
      values.map { value in
        // Integers are written into the SQL, because the number of parameters is limited. For integers
        // this is safe.
        if case .integer(let number) = value { "\(number: number)" } else { .bound(value) }
      })
  }

  /// Compiles the check that an operand is nil, or is not.
  func isNil(_ operand: CompiledOperand, _ isNil: Bool) -> Condition {
    // NaN is not nil, but the engine has no NaN and would treat it as NULL.
    if let constant = operand.constant { return .constant(constant.stored.isNull == isNil) }
    guard isNil else {
      return Condition(sql: "\(operand.sql) IS NOT NULL", needs: operand.needs, height: operand.height)
    }
    let sql: SQL = "\(operand.sql) IS NULL"
    return isMostlyNil(operand)
      ? Condition(sql: "likelihood(\(sql), 0.99)", height: 1) : Condition(sql: sql, height: operand.height)
  }

  /// Returns whether most rows have nil in the operand's column. The engine cannot estimate this: its
  /// statistics are about values (`TableStatistics`).
  private func isMostlyNil(_ operand: CompiledOperand) -> Bool {
    guard operand.isColumn, case .property(let entity, let name) = operand.label,
      let slot = entity.slot(named: name), let column = entity.slots[slot].columnName
    else { return false }
    return entity.nilColumns.withLock { $0?.contains(column) == true }
  }
}
