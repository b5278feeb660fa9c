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
  func isOne(of entities: Set<String>) -> Bool { false }
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
    let last = names.lastIndex { Self.toManys.contains($0) } ?? names.startIndex
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
    case .count(let path): return aggregate(MemberAggregate(.count, of: path))
    case .aggregate(let members): return aggregate(members)
    case .list(let function, let elements): return collect(function, elements.map(value), isDistinct: false)
    case .conditional(let test, let first, let second): return value(holds(test) ? first : second)
    case .cast(let inner, let type): return cast(value(inner), to: type)
    case .position(let inner, let ids):
      return ids.firstIndex { .integer($0) == value(inner) }.map { .integer(Int64($0)) } ?? .null
    case .arithmetic(let left, let operation, let right):
      return calculate(value(left), operation, with: value(right))
    case .call(let function, let arguments): return call(function, arguments.map(value))
    case .coalesce(let first, let second): return value(first).isNull ? value(second) : value(first)
    }
  }

  // MARK: Members and lists

  private static let toManys: Set<String> = ["genres", "books", "loans", "members"]

  private func aggregate(_ aggregate: MemberAggregate) -> SQLValue {
    let names = scopes[aggregate.path.depth].prefix + aggregate.path.names
    let front = names.prefix { !Self.toManys.contains($0) }
    guard owner(scopes[aggregate.path.depth].object, front) != nil else { return .null }
    let (objects, rest) = members(aggregate.path)
    let inner = objects.map { object -> PredicateEvaluation in
      var copy = self
      copy.scopes.append((object, rest))
      return copy
    }.filter { $0.holds(aggregate.condition) }
    if aggregate.function == .count, !aggregate.isDistinct { return .integer(Int64(inner.count)) }
    let values = inner.map { $0.value(.path(PropertyPath(depth: scopes.count, aggregate.value))) }
    return collect(aggregate.function, values, isDistinct: aggregate.isDistinct)
  }

  private func collect(_ function: CollectionFunction, _ values: [SQLValue], isDistinct: Bool) -> SQLValue {
    let areTexts = values.contains { if case .text(let text) = $0 { number(text) == nil } else { false } }
    var found = values.filter { !$0.isNull }
    if isDistinct {
      found =
        areTexts
        ? Set(found.compactMap(\.string).map { Array($0.utf8) }).map {
          .text(String(decoding: $0, as: UTF8.self))
        }
        : Dictionary(found.map { (exact($0), $0) }, uniquingKeysWith: { first, _ in first }).map(\.value)
    }
    if function == .count { return .integer(Int64(found.count)) }
    found.sort { exact($0) < exact($1) }
    let doubles = found.map { double($0) }
    let areDecimals = found.contains { $0.string != nil }
    let areReals = found.contains { if case .real = $0 { true } else { false } }
    guard let least = found.first, let greatest = found.last else {
      return function == .sum ? .integer(0) : .null
    }
    let mean = doubles.reduce(0, +) / Double(doubles.count)
    switch function {
    case .sum where areDecimals: return .text("\(found.map(exact).reduce(0, +))")
    case .sum where areReals: return .real(doubles.reduce(0, +))
    case .sum: return .integer(found.compactMap(\.int64).reduce(0, +))
    case .average: return .real(mean)
    case .minimum: return least
    case .maximum: return greatest
    case .median:
      let half = doubles.count / 2
      return .real(doubles.count % 2 == 1 ? doubles[half] : (doubles[half - 1] + doubles[half]) / 2)
    case .mode:
      let counts = Dictionary(grouping: found) { exact($0) }.mapValues(\.count)
      return found.first { counts[exact($0)] == counts.values.max() } ?? .null
    case .deviation:
      let squares = doubles.map { pow($0 - mean, 2) }.sorted()
      return .real(sqrt(squares.reduce(0, +) / Double(squares.count)))
    case .count: return .null
    }
  }

  private func double(_ value: SQLValue) -> Double { value.double ?? Double(value.string ?? "") ?? 0 }

  private func cast(_ value: SQLValue, to type: AttributeType) -> SQLValue {
    if value.isNull { return .null }
    switch (type, value) {
    case (.string, .integer(let number)): return .text(String(number))
    case (.int, .text(let text)) where number(text) == nil: return .null
    case (.int, .real(let number)): return .integer(Int64(number))
    case (.int, _):
      var (number, whole) = (exact(value), Decimal())
      NSDecimalRound(&whole, &number, 0, number < 0 ? .up : .down)
      return .integer((whole as NSDecimalNumber).int64Value)
    case (.double, _): return .real(double(value))
    case (.decimal, _): return .text("\(exact(value))")
    default: return value
    }
  }

  private func whole(_ value: SQLValue, _ up: (Decimal) -> Bool, _ rule: FloatingPointRoundingRule)
    -> SQLValue
  {
    if case .real(let number) = value { return .real(number.rounded(rule)) }
    guard case .text = value else { return value }
    var (number, result) = (exact(value), Decimal())
    NSDecimalRound(&result, &number, 0, up(number) ? .up : .down)
    return .text("\(result)")
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
    case (_, .null): return .null
    case (.canonical, .text(let text)): return .text(fold(text, [.caseInsensitive, .diacriticInsensitive]))
    case (.squareRoot, let value): return double(value) < 0 ? .null : .real(sqrt(double(value)))
    case (.logarithm, let value): return double(value) <= 0 ? .null : .real(log10(double(value)))
    case (.naturalLogarithm, let value): return double(value) <= 0 ? .null : .real(log(double(value)))
    case (.exponential, let value): return exp(double(value)).isInfinite ? .null : .real(exp(double(value)))
    case (.periodStart, let value):
      // The days of UTC.
      return abs(double(value)) < 2e11 ? .real((double(value) / 86_400).rounded(.down) * 86_400) : .null
    case (.shuffled, .integer(let number)):
      // The generator's seed is 7.
      var state = UInt64(bitPattern: number).multipliedReportingOverflow(by: 0x9E37_79B9_7F4A_7C15)
        .partialValue
      state = state.addingReportingOverflow(7).partialValue
      for (shift, factor) in [(30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB), (31, 1)]
        as [(UInt64, UInt64)]
      {
        state = (state ^ (state >> shift)).multipliedReportingOverflow(by: factor).partialValue
      }
      return .integer(Int64(bitPattern: state))
    case (.raise, let value): return .real(pow(double(value), double(arguments[1])))
    case (.ceiling, let value): return whole(value, { _ in true }, .up)
    case (.floor, let value): return whole(value, { _ in false }, .down)
    case (.trunc, let value): return whole(value, { $0 < 0 }, .towardZero)
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
    if comparison == .matches, case .text(let a) = left, case .text(let b) = right { return matches(a, b) }
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
    case .matches: return matches(a, b)
    case .notEqual: return left != right
    }
  }

  /// Knows the regular expressions of the generator.
  private func matches(_ text: String, _ pattern: String) -> Bool {
    switch pattern {
    case "[A-Za-z]+":
      !text.isEmpty && text.utf8.allSatisfy { (65...90).contains($0) || (97...122).contains($0) }
    case ".*II": text.hasSuffix("II")
    case "Ann!?|The Watch": ["Ann", "Ann!", "The Watch"].contains(text)
    default: false
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
