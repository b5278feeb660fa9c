// A second implementation of the meaning of predicates: on plain values, without the store's functions.

import CipherSQLite
import Foundation
import ObjectVault

/// An object as plain values.
final class PlainObject {
  var id: Int64 = 0
  var values: [String: SQLValue] = [:]
  var one: [String: PlainObject] = [:]
  var many: [String: [PlainObject]] = [:]
}

extension PlainObject: PredicateSubject {
  var subjectID: Int64 { id }
  func value(of attribute: String) -> SQLValue { values[attribute] ?? .null }
  func target(of relationship: String) -> PlainObject? { one[relationship] }
  func members(of relationship: String) -> [PlainObject] { many[relationship] ?? [] }
}

/// Evaluates predicates on an object and its members.
struct PredicateEvaluation {
  /// By the depth of paths: the object, and the names from it to the member at which paths of the depth
  /// begin.
  private var scopes: [(object: PlainObject, prefix: [String])]

  init(_ object: PlainObject) { scopes = [(object, [])] }

  func holds(_ node: PredicateNode) -> Bool {
    switch node {
    case .constant(let value): return value
    case .and(let parts): return parts.allSatisfy(holds)
    case .or(let parts): return parts.contains(where: holds)
    case .not(let inner): return !holds(inner)
    case .truth(let operand): return value(operand) == .integer(1)
    case .comparison(let left, let comparison, let right, let options):
      return compare(value(left), comparison, to: value(right), options: options)
    case .between(let operand, let low, let high):
      return compare(value(operand), .greaterOrEqual, to: value(low), options: [])
        && compare(value(operand), .lessOrEqual, to: value(high), options: [])
    case .isIn(let operand, let list, let options):
      return list.contains { compare(value(operand), .equal, to: value($0), options: options) }
    case .quantified(let quantifier, let path, let inner):
      let (members, rest) = members(path)
      let results = members.map { member -> Bool in
        var copy = self
        copy.scopes.append((member, rest))
        return copy.holds(inner)
      }
      switch quantifier {
      case .any: return results.contains(true)
      case .all: return !results.contains(false)
      case .none: return !results.contains(true)
      }
    }
  }

  /// Returns the objects at the last to-many of a path, and the names after it.
  private func members(_ path: PropertyPath) -> ([PlainObject], [String]) {
    var names = (scopes[path.depth].prefix + path.names)[...]
    var objects = [scopes[path.depth].object]
    let last = names.lastIndex { ["genres", "books", "loans", "members"].contains($0) } ?? names.startIndex
    while names.startIndex <= last, let name = names.popFirst() {
      objects = objects.flatMap { object in object.many[name] ?? object.one[name].map { [$0] } ?? [] }
    }
    return (objects, Array(names))
  }

  private func value(_ operand: PredicateOperand) -> SQLValue {
    switch operand {
    case .value(let value): return value.stored
    case .variable: return .null
    case .path(let path):
      let names = scopes[path.depth].prefix + path.names
      guard let last = names.last else { return .integer(scopes[path.depth].object.id) }
      guard let object = owner(scopes[path.depth].object, names.dropLast()) else { return .null }
      return object.values[last] ?? .null
    case .count(let path):
      let names = scopes[path.depth].prefix + path.names
      guard let object = owner(scopes[path.depth].object, names.dropLast()) else { return .null }
      return .integer(Int64(object.many[names.last ?? ""]?.count ?? 0))
    case .arithmetic(let left, let operation, let right):
      return calculate(value(left), operation, with: value(right))
    case .call(let function, let arguments): return call(function, arguments.map(value))
    case .coalesce(let first, let second): return value(first).isNull ? value(second) : value(first)
    }
  }

  private func owner(_ object: PlainObject, _ names: ArraySlice<String>) -> PlainObject? {
    names.reduce(object) { $0?.one[$1] }
  }

  private func calculate(_ left: SQLValue, _ operation: ArithmeticOperator, with right: SQLValue) -> SQLValue
  {
    if left.isNull || right.isNull { return .null }
    if case .integer(let a) = left, case .integer(let b) = right {
      // The generator divides only by constants, and none of them is zero.
      let result =
        switch operation {
        case .add: a.addingReportingOverflow(b)
        case .subtract: a.subtractingReportingOverflow(b)
        case .multiply: a.multipliedReportingOverflow(by: b)
        case .divide: (a / b, false)
        case .remainder: (a - a / b * b, false)
        }
      return result.1 ? .null : .integer(result.0)
    }
    if let a = left.double, let b = right.double {
      switch operation {
      case .add: return .real(a + b)
      case .subtract: return .real(a - b)
      case .multiply: return .real(a * b)
      case .divide: return .real(a / b)
      case .remainder: return .real(fmod(a, b))
      }
    }
    let (a, b) = (exact(left), exact(right))
    switch operation {
    case .add: return .text("\(a + b)")
    case .subtract: return .text("\(a - b)")
    case .multiply: return .text("\(a * b)")
    case .divide, .remainder: return .null
    }
  }

  /// Changes the case of the generator's letters by a table, and not by the library's functions.
  private func call(_ function: PredicateFunction, _ arguments: [SQLValue]) -> SQLValue {
    switch (function, arguments[0]) {
    case (.lowercase, .text(let text)):
      return .text(mapped(text, letters: ["Ä": "ä", "ẞ": "ß"]) { (65...90).contains($0) ? $0 + 32 : $0 })
    case (.uppercase, .text(let text)):
      return .text(
        mapped(text, letters: ["ä": "Ä", "é": "É", "ß": "SS"]) { (97...122).contains($0) ? $0 - 32 : $0 })
    case (.length, .text(let text)):
      return .integer(Int64(text.unicodeScalars.count { !(0x300...0x36F).contains($0.value) }))
    case (.absolute, .integer(let number)): return number < 0 ? .integer(-number) : .integer(number)
    case (.absolute, .real(let number)): return number < 0 ? .real(0 - number) : .real(number)
    case (.absolute, .text): return exact(arguments[0]) < 0 ? .text("\(-exact(arguments[0]))") : arguments[0]
    default: return .null
    }
  }

  private func mapped(
    _ text: String, letters: [Unicode.Scalar: String], _ ascii: (UInt32) -> UInt32
  ) -> String {
    text.unicodeScalars.map { scalar in
      letters[scalar] ?? String(Character(Unicode.Scalar(ascii(scalar.value)) ?? scalar))
    }.joined()
  }

  // MARK: Comparing

  private func compare(
    _ left: SQLValue, _ comparison: ComparisonOperator, to right: SQLValue, options: StringOptions
  ) -> Bool {
    if comparison == .notEqual { return !compare(left, .equal, to: right, options: options) }
    if left.isNull || right.isNull { return comparison == .equal && left.isNull && right.isNull }
    if case .text(let a) = left, case .text(let b) = right, number(a) == nil || number(b) == nil {
      return strings(fold(a, options), comparison, to: fold(b, options))
    }
    for case .real(let value) in [left, right] where value.isNaN { return false }
    let (a, b) = (exact(left), exact(right))
    switch comparison {
    case .equal: return a == b
    case .less: return a < b
    case .lessOrEqual: return a <= b
    case .greater: return a > b
    case .greaterOrEqual: return a >= b
    default: return false
    }
  }

  /// Returns the number of a decimal, or nil for other texts. Of the generator's constants, only decimals
  /// consist of digits.
  private func number(_ text: String) -> Decimal? {
    guard let first = text.first, first == "-" && text.count > 1 || ("0"..."9").contains(first) else {
      return nil
    }
    return text.allSatisfy { "-.0123456789".contains($0) } ? Decimal(string: text) : nil
  }

  /// Compares by value: a Decimal represents every number of the generator exactly. Numbers beyond its
  /// range become very large ones.
  private func exact(_ value: SQLValue) -> Decimal {
    switch value {
    case .integer(let number): return Decimal(number)
    case .text(let text): return number(text) ?? 0
    case .real(let number) where abs(number) < 1e17: return Decimal(string: "\(number)") ?? 0
    case .real(let number):
      let far = Decimal(string: "1" + String(repeating: "0", count: number.isInfinite ? 70 : 60)) ?? 0
      return number > 0 ? far : -far
    default: return 0
    }
  }

  private func strings(_ a: String, _ comparison: ComparisonOperator, to b: String) -> Bool {
    let (left, right) = (Array(a.unicodeScalars), Array(b.unicodeScalars))
    switch comparison {
    case .equal: return left == right
    case .less: return left.lexicographicallyPrecedes(right)
    case .lessOrEqual: return !right.lexicographicallyPrecedes(left)
    case .greater: return right.lexicographicallyPrecedes(left)
    case .greaterOrEqual: return !left.lexicographicallyPrecedes(right)
    case .beginsWith: return left.starts(with: right)
    case .endsWith: return left.reversed().starts(with: right.reversed())
    case .contains: return right.isEmpty || left.indices.contains { left[$0...].starts(with: right) }
    case .like: return like(left[...], pattern: right[...])
    case .notEqual: return left != right
    }
  }

  private func like(_ text: ArraySlice<Unicode.Scalar>, pattern: ArraySlice<Unicode.Scalar>) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    switch first {
    case "*":
      return (text.startIndex...text.endIndex).contains { like(text[$0...], pattern: pattern.dropFirst()) }
    case "?": return !text.isEmpty && like(text.dropFirst(), pattern: pattern.dropFirst())
    case "\\" where pattern.count > 1:
      let literal = pattern[pattern.index(after: pattern.startIndex)]
      return text.first == literal && like(text.dropFirst(), pattern: pattern.dropFirst(2))
    case "\\": return text.isEmpty
    default: return text.first == first && like(text.dropFirst(), pattern: pattern.dropFirst())
    }
  }

  /// Folds the generator's letters by a table, and not by the library's function.
  private func fold(_ text: String, _ options: StringOptions) -> String {
    var result = text
    if options.contains(.diacriticInsensitive) {
      for (marked, plain) in [
        ("Ä", "A"), ("ä", "a"), ("é", "e"), ("e\u{301}", "e"), ("É", "E"), ("E\u{301}", "E"), ("\u{308}", ""),
      ] {
        result = result.replacingOccurrences(of: marked, with: plain, options: .literal)
      }
    }
    if options.contains(.caseInsensitive) {
      for sharp in ["ß", "ẞ"] {
        result = result.replacingOccurrences(of: sharp, with: "ss", options: .literal)
      }
      result = String(
        String.UnicodeScalarView(
          result.unicodeScalars.map { scalar in
            scalar == "Ä"
              ? "ä"
              : scalar == "É"
                ? "é"
                : (65...90).contains(scalar.value) ? Unicode.Scalar(scalar.value + 32) ?? scalar : scalar
          }))
    }
    return result
  }
}
