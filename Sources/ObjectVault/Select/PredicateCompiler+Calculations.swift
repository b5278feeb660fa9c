// Calculations and functions as SQL. A calculation is a single call of `vault_math`, so that the text is
// flat. The code is not recursive: the depth of a calculation may equal its number of operands, and a
// thread may have a stack of 512 KiB.

internal import CipherSQLite

extension PredicateCompiler {
  /// A calculation in the form that `ValueArithmetic.run` takes.
  private struct Program {
    var symbols = ""
    var operands: [SQL] = []
    /// A stack of the remaining steps.
    var steps: [Step] = []
    /// A stack of the operands and results so far; each step takes its operands from the end.
    var results: [CompiledOperand] = []
  }

  private enum Step {
    case operand(PredicateOperand, isText: Bool)
    case calculation(String)
    case call(PredicateFunction)
    case collect(CollectionFunction, count: Int)
    case cast(AttributeType)
  }

  /// Compiles a calculation or a function.
  mutating func calculation(_ operand: PredicateOperand) throws -> CompiledOperand {
    var program = Program()
    program.steps.append(.operand(operand, isText: false))
    while let step = program.steps.popLast() {
      switch step {
      case .operand(let operand, let isText): try meet(operand, isText: isText, &program)
      case .calculation(let symbol): try calculate(symbol, &program)
      case .call(let function): try call(function, &program)
      case .collect(let function, let count): try collect(function, count: count, &program)
      case .cast(let type): try cast(to: type, &program)
      }
    }
    guard var result = program.results.popLast() else { throw failure("a calculation has no operands") }
    result.sql = "vault_math(\(SQL.joined(["\(literal: program.symbols)"] + program.operands)))"
    if result.height > 0 { result.height += 1 }
    return result
  }

  private mutating func meet(_ operand: PredicateOperand, isText: Bool, _ program: inout Program) throws {
    switch operand {
    case .arithmetic(let left, let operation, let right):
      program.steps += [
        .calculation(operation.rawValue), .operand(right, isText: false), .operand(left, isText: false),
      ]
    // A `??` of strings is no part of the program: it is compiled to the SQL function coalesce().
    case .coalesce where !isText:
      let parts = try typedParts(of: operand)
      for part in parts.dropFirst().reversed() {
        program.steps += [.calculation("?"), .operand(part, isText: false)]
      }
      program.steps += parts.prefix(1).map { .operand($0, isText: false) }
    case .call(let function, let arguments):
      let parameters = function.entry.parameters
      guard arguments.count == parameters.count else {
        throw failure(
          "\(function.word) takes \(counted(parameters.count, "operand")), not \(arguments.count)")
      }
      program.steps.append(.call(function))
      for (argument, kind) in zip(arguments, parameters).reversed() {
        program.steps.append(.operand(argument, isText: kind == .text))
      }
    case .list(let function, let elements):
      program.steps.append(.collect(function, count: elements.count))
      program.steps += elements.reversed().map { .operand($0, isText: false) }
    case .cast(let inner, let type):
      if let path = untypedPart(inner) {
        program.steps.append(.operand(.path(path.read(as: type)), isText: true))
      } else {
        program.steps += [.cast(type), .operand(inner, isText: true)]
      }
    case .value, .variable, .path, .count, .coalesce, .aggregate, .conditional, .position:
      let leaf = try compiled(operand)
      program.symbols += "."
      program.operands.append(leaf.sql)
      program.results.append(leaf)
    }
  }

  private func calculate(_ symbol: String, _ program: inout Program) throws {
    guard let b = program.results.popLast(), let a = program.results.popLast() else { return }
    try checkNumber(a)
    try checkNumber(b)
    program.symbols += symbol
    let type = AttributeType.common(a.type, and: b.type)
    if symbol == "?", let type, a.type?.numberKind != b.type?.numberKind {
      program.symbols += type.numberKind == .decimal ? "d" : "r"
    }
    program.results.append(
      CompiledOperand(
        sql: a.sql, type: type,
        needs: symbol == "?" ? a.needs.intersection(b.needs) : a.needs.union(b.needs),
        height: max(a.height, b.height), place: a.place, label: .other("a calculation")))
  }

  private mutating func call(_ function: PredicateFunction, _ program: inout Program) throws {
    let entry = function.entry
    let operands = Array(program.results.suffix(entry.parameters.count))
    program.results.removeLast(operands.count)
    guard let first = operands.first else { return }
    for (operand, kind) in zip(operands, entry.parameters) {
      switch kind {
      case .text: try checkText(operand, of: function)
      case .integer where operand.isID: break
      case .number, .integer: try checkNumber(operand)
      case .date: try checkDate(operand, of: function)
      }
    }
    if function == .periodStart, let name = operands.last { try checkPeriod(name) }
    program.symbols.unicodeScalars.append(entry.symbol)
    program.results.append(
      CompiledOperand(
        sql: first.sql, type: AttributeType(entry.result) ?? first.type,
        needs: operands.reduce([]) { $0.union($1.needs) }, height: operands.map(\.height).max() ?? 0,
        place: first.place, label: .other("\(function.word)()")))
  }

  /// Compiles a function of the last `count` results.
  private func collect(_ function: CollectionFunction, count: Int, _ program: inout Program) throws {
    let operands = Array(program.results.suffix(count))
    program.results.removeLast(operands.count)
    for operand in operands {
      let isOrdered = !function.entry.needsNumbers && operand.type == .date
      if !isOrdered { try checkNumber(operand) }
    }
    let types = operands.compactMap(\.type)
    guard types.allSatisfy({ $0 == .date }) || !types.contains(.date) else {
      throw failure(
        "\(function.rawValue) has dates and numbers, which cannot be compared", at: operands[0].place)
    }
    program.symbols += "\(operands.count)\(function.entry.symbol)"
    let common = types.contains(.date) ? .date : types.reduce(nil) { AttributeType.common($0, and: $1) }
    if let common, function.keepsKind, Set(types.map(\.numberKind)).count > 1 {
      program.symbols += common.numberKind == .decimal ? "d" : "r"
    }
    // nil elements are ignored, so the result depends only on tables that all elements depend on.
    let needs = operands.dropFirst().reduce(operands.first?.needs ?? []) { $0.intersection($1.needs) }
    program.results.append(
      CompiledOperand(
        sql: operands.first?.sql ?? "NULL",
        type: AttributeType.result(of: function, operands.count == 1 ? types.first : common),
        needs: function.isZeroOverNothing ? [] : needs, height: operands.map(\.height).max() ?? 0,
        place: operands.first?.place, label: .other("\(function.rawValue)()")))
  }

  /// Compiles the conversion of the last result.
  private func cast(to type: AttributeType, _ program: inout Program) throws {
    guard var operand = program.results.popLast() else { return }
    guard let casts = type.casts(from: operand.type), !operand.isObject || operand.isID else {
      throw failure(
        "\(operand.name) is \(operand.kind), which CAST cannot convert to \(type.rawValue)", at: operand.place
      )
    }
    for cast in casts { program.symbols.unicodeScalars.append(cast.rawValue) }
    (operand.type, operand.object, operand.isID, operand.isColumn) = (type, nil, false, false)
    (operand.constant, operand.label) = (nil, .other("CAST"))
    program.results.append(operand)
  }

  private func checkNumber(_ operand: CompiledOperand) throws {
    guard operand.type?.isNumeric ?? true, !operand.isObject else {
      throw failure("\(operand.name) is not a number and cannot be used in a calculation", at: operand.place)
    }
  }

  private func checkDate(_ operand: CompiledOperand, of function: PredicateFunction) throws {
    guard operand.type ?? .date == .date, !operand.isObject else {
      throw failure("\(operand.name) is not a date, which \(function.word) needs", at: operand.place)
    }
  }

  private mutating func checkPeriod(_ operand: CompiledOperand) throws {
    dependsOnValues(operand.sql)
    guard case .text(let name)? = operand.constant?.stored, CalendarPeriods.named(name) != nil else {
      let periods = CalendarPeriod.allCases.map(\.rawValue).joined(separator: ", ")
      throw failure(
        "startOf:in: needs a text with a period (\(periods)) and a time zone after it, such as "
          + "'month Europe/Berlin'", at: operand.place)
    }
  }

  private func checkText(_ operand: CompiledOperand, of function: PredicateFunction) throws {
    guard operand.type?.isText ?? true, !operand.isObject else {
      throw failure("\(operand.name) is not a string, which \(function.word) needs", at: operand.place)
    }
  }
}
