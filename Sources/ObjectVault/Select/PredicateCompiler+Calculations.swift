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
      }
    }
    guard var result = program.results.popLast() else { throw failure("a calculation has no operands") }
    result.sql = "vault_math(\(literal: program.symbols), \(SQL.joined(program.operands)))"
    return result
  }

  private mutating func meet(_ operand: PredicateOperand, isText: Bool, _ program: inout Program) throws {
    switch operand {
    case .arithmetic(let left, let operation, let right):
      program.steps += [
        .calculation(operation.rawValue), .operand(right, isText: false), .operand(left, isText: false),
      ]
    // A `??` of strings is no part of the program: it is compiled to the SQL function coalesce().
    case .coalesce(let left, let right) where !isText:
      program.steps += [.calculation("?"), .operand(right, isText: false), .operand(left, isText: false)]
    case .call(let function, let arguments):
      let parameters = function.entry.parameters
      guard arguments.count == parameters.count else {
        throw failure(
          "\(function.rawValue) takes \(counted(parameters.count, "operand")), not \(arguments.count)")
      }
      program.steps.append(.call(function))
      for (argument, kind) in zip(arguments, parameters).reversed() {
        program.steps.append(.operand(argument, isText: kind == .text))
      }
    case .value, .variable, .path, .count, .coalesce:
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
        needs: symbol == "?" ? a.needs.intersection(b.needs) : a.needs.union(b.needs), place: a.place,
        label: .other("a calculation")))
  }

  private func call(_ function: PredicateFunction, _ program: inout Program) throws {
    let entry = function.entry
    let operands = Array(program.results.suffix(entry.parameters.count))
    program.results.removeLast(operands.count)
    guard let first = operands.first else { return }
    for (operand, kind) in zip(operands, entry.parameters) {
      if kind == .text { try checkText(operand, of: function) } else { try checkNumber(operand) }
    }
    program.symbols.unicodeScalars.append(entry.symbol)
    program.results.append(
      CompiledOperand(
        sql: first.sql, type: AttributeType(entry.result) ?? first.type,
        needs: operands.reduce([]) { $0.union($1.needs) }, place: first.place,
        label: .other("\(function.rawValue)()")))
  }

  private func checkNumber(_ operand: CompiledOperand) throws {
    guard operand.type?.isNumeric ?? true, !operand.isObject else {
      throw failure("\(operand.name) is not a number and cannot be used in a calculation", at: operand.place)
    }
  }

  private func checkText(_ operand: CompiledOperand, of function: PredicateFunction) throws {
    guard operand.type?.isText ?? true, !operand.isObject else {
      throw failure("\(operand.name) is not a string, which \(function.rawValue) needs", at: operand.place)
    }
  }
}
