// The SQL functions and collations that compiled predicates, decimal columns and indexes use.

package import CipherSQLite

package enum StoreFunctions {
  /// Registers the functions and collations on a connection of a store.
  /// - Parameters:
  ///   - connection: The connection.
  ///   - matchLimit: The time that a MATCHES may take for one text, in seconds.
  package static func register(
    on connection: Connection, matchLimit: Double = MatchPattern.defaultLimit
  ) throws {
    try unsafe connection.register(textFunction: "vault_fold") { text, options, result in
      unsafe Folding.fold(text, StringOptions(rawValue: Int(truncatingIfNeeded: options)), into: &result)
    }
    // The pattern is folded already.
    try unsafe connection.register(textTest: "vault_contains") { text, pattern, options in
      unsafe Folding.contains(
        text, pattern: pattern, options: StringOptions(rawValue: Int(truncatingIfNeeded: options)))
    }
    // The last pattern is cached: a statement compares many rows with one pattern.
    let last = Locked<LikePattern?>(nil)
    try connection.register(function: "vault_like", argumentCount: 2) { arguments in
      guard case .text(let text) = arguments[0], case .text(let source) = arguments[1] else { return .null }
      let pattern = last.withLock { last in
        if let last, last.source.utf8.elementsEqual(source.utf8) { return last }
        let made = LikePattern(source)
        last = made
        return made
      }
      return .integer(pattern.matches(text) ? 1 : 0)
    }
    let matcher = Matcher(limit: matchLimit)
    try connection.register(function: "vault_matches", argumentCount: 3) { arguments in
      guard case .text(let text) = arguments[0], case .text(let pattern) = arguments[1],
        case .integer(let options) = arguments[2]
      else { return .null }
      let isMatch = try matcher.matches(
        text, expression: pattern, options: StringOptions(rawValue: Int(truncatingIfNeeded: options)))
      return .integer(isMatch ? 1 : 0)
    }
    try connection.register(function: "vault_ends", argumentCount: 2) { arguments in
      guard case .text(let text) = arguments[0], case .text(let end) = arguments[1] else { return .null }
      return .integer(text.utf8.reversed().starts(with: end.utf8.reversed()) ? 1 : 0)
    }
    // -1 allows any number of arguments: a calculation has a program and any number of operands.
    try connection.register(function: "vault_math", argumentCount: -1) { arguments in
      guard case .text(let program)? = arguments.first else { return .null }
      return ValueArithmetic.run(program, arguments.dropFirst())
    }
    // The exact sum of decimals; NULL if there are none. A sum with more digits than a decimal can have
    // is returned as infinity, which no decimal is.
    try connection.register(aggregate: "vault_sum", argumentCount: 1, initial: DecimalText?.none) {
      sum, values in
      guard let value = DecimalText(values[0]) else { return }
      sum = sum.map { DecimalText.sum($0, and: value) } ?? value
    } result: { sum in
      sum.map { .text($0.text) } ?? .null
    }
    // A function of members: its name, options (1: the values are numbers or dates, 2: equal ones count
    // once) and a value. Without any row it is NULL.
    try connection.register(aggregate: "vault_members", argumentCount: 3, initial: CollectedValues?.none) {
      state, arguments in
      let values = state ?? CollectedValues(arguments)
      values.add(arguments[2])
      state = values
    } result: {
      $0?.result ?? .null
    }
    try connection.register(function: "vault_compare", argumentCount: 2) { arguments in
      ValueArithmetic.compareNumbers(arguments[0], with: arguments[1]).map { .integer(Int64($0)) } ?? .null
    }
    // A part of JSON: the text, the path and the type. A statement uses few paths, which are parsed once.
    let paths = Locked<[(text: String, path: JSONPath)]>([])
    try connection.register(function: "vault_json", argumentCount: 3) { arguments in
      guard case .text(let source) = arguments[1], case .text(let name) = arguments[2],
        let type = AttributeType(rawValue: name)
      else { return .null }
      let path = paths.withLock { paths in
        // By bytes: Swift takes different spellings of a character as equal.
        if let known = paths.first(where: { $0.text.utf8.elementsEqual(source.utf8) }) { return known.path }
        if paths.count >= 16 { paths.removeAll() }
        let made = JSONPath(text: source)
        paths.append((source, made))
        return made
      }
      return path.value(in: arguments[0], as: type)
    }
    try connection.registerValueLists()
    try connection.registerPositions()
    try connection.registerPendingRows()
    try unsafe connection.register(collation: "vault_decimal") { left, right in
      unsafe ValueArithmetic.compareDecimals(left, with: right)
    }
    for options in StringOptions.folding {
      guard let name = options.collation else { continue }
      try unsafe connection.register(collation: name) { left, right in
        unsafe Folding.compare(left, with: right, options)
      }
    }
  }
}
