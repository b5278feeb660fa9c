// Comparisons -> SQL, with the types of both sides made to fit. Numbers compare by value, exactly, although
// the older engine turns integers into doubles when it meets a mixed pair.

internal import CipherSQLite
private import Foundation

/// A constant made to fit the other side: with the comparison that then means the same, or decided already.
enum Adapted {
  case operand(CompiledOperand, ComparisonOperator)
  case constant(Bool)
}

extension PredicateCompiler {
  mutating func compare(
    _ left: PredicateOperand, _ comparison: ComparisonOperator, _ right: PredicateOperand,
    _ options: StringOptions, _ isExact: Bool
  ) throws -> Fragment {
    var (a, b) = (try compiled(left), try compiled(right))
    var comparison = comparison
    if a.constant != nil, b.constant == nil, let flipped = comparison.flipped {
      (a, b, comparison) = (b, a, flipped)
    }
    if comparison.isForStrings { return try strings(a, comparison, b, options, isExact) }
    if b.constant == .null {
      switch comparison {
      case .equal: return a.fragment + " IS NULL"
      case .notEqual: return a.fragment + " IS NOT NULL"
      default: return Fragment(sql: "0")
      }
    }
    switch try adapted(b, to: a, for: comparison) {
    case .constant(let holds):
      // Decided by the types alone, but for nil, which is never less nor greater.
      guard holds, comparison != .notEqual else { return Fragment(sql: holds ? "1" : "0") }
      return a.fragment + " IS NOT NULL"
    case .operand(let fitting, let meaning):
      return plain(try folded(a, options), meaning, try folded(fitting, options), isExact)
    }
  }

  private func plain(
    _ a: CompiledOperand, _ comparison: ComparisonOperator, _ b: CompiledOperand, _ isExact: Bool
  ) -> Fragment {
    switch comparison {
    case .equal:
      let isPlain = b.constant != nil && !isExact
      return a.fragment + (isPlain ? " = " : " IS ") + b.fragment
    case .notEqual: return a.fragment + " IS NOT " + b.fragment
    default:
      let sql = a.fragment + comparison.sql + b.fragment
      return isExact ? "ifnull(" + sql + ", 0)" : sql
    }
  }

  private mutating func strings(
    _ a: CompiledOperand, _ comparison: ComparisonOperator, _ b: CompiledOperand, _ options: StringOptions,
    _ isExact: Bool
  ) throws -> Fragment {
    for side in [a, b] where side.constant != .null {
      guard !side.isObject, side.type == nil || side.type == .string || side.type == .url else {
        throw failure("\(side.name) is no string; \(comparison.word) takes strings")
      }
    }
    if a.constant == .null || b.constant == .null { return Fragment(sql: "0") }
    let (left, right) = (try folded(a, options).fragment, try folded(b, options).fragment)
    let sql: Fragment
    switch comparison {
    case .beginsWith:
      if let range = prefixRange(right) {
        // A range, so that an index serves.
        sql = left + " >= " + .bound(range.lower) + " AND " + left + " < " + .bound(range.upper)
      } else {
        sql = "instr(" + left + ", " + right + ") = 1"
      }
    case .endsWith: sql = "vault_ends(" + left + ", " + right + ")"
    case .like: sql = "vault_like(" + left + ", " + right + ")"
    default: sql = "instr(" + left + ", " + right + ") > 0"
    }
    return isExact ? "ifnull(" + sql + ", 0)" : sql
  }

  /// The strings that begin with a constant: from itself to the next that does not, by code points.
  private mutating func prefixRange(_ fragment: Fragment) -> (lower: SQLValue, upper: SQLValue)? {
    dependsOnValues(fragment)
    guard fragment.sql == "?", case .text(let prefix)? = fragment.bindings.first?.value,
      let last = prefix.unicodeScalars.last
    else { return nil }
    let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
    guard let scalar = Unicode.Scalar(next) else { return nil }
    var upper = String.UnicodeScalarView()
    upper.append(contentsOf: prefix.unicodeScalars.dropLast())
    upper.append(scalar)
    return (.text(prefix), .text(String(upper)))
  }

  /// The operand with case or marks taken out; constants are folded here, columns by the store's function.
  mutating func folded(_ operand: CompiledOperand, _ options: StringOptions) throws -> CompiledOperand {
    guard !options.isEmpty else { return operand }
    guard operand.type == .string || operand.type == nil else {
      throw failure("\(operand.name) is no string; [c] and [d] are for strings")
    }
    var folded = operand
    if case .text(let text)? = operand.constant?.stored {
      dependsOnValues(operand.fragment)
      folded.fragment = .bound(.text(Folding.fold(text, options)))
    } else {
      folded.fragment = "vault_fold(" + operand.fragment + ", \(options.rawValue))"
    }
    return folded
  }

  // MARK: Types

  /// Makes `operand` comparable with `subject`.
  /// - Throws: When the two have nothing in common.
  mutating func adapted(
    _ operand: CompiledOperand, to subject: CompiledOperand, for comparison: ComparisonOperator
  ) throws -> Adapted {
    guard let type = subject.type, let other = operand.type else { return .operand(operand, comparison) }
    if subject.isObject || operand.isObject {
      let isID = { (side: CompiledOperand) in side.isObject || side.constant?.type == .int }
      guard isID(subject), isID(operand) else {
        throw failure("\(subject.name) and \(operand.name) cannot be compared; give an object or its id")
      }
      guard comparison == .equal || comparison == .notEqual || subject.name.hasSuffix("id") else {
        throw failure("objects are equal or not; \(comparison.word) has no meaning for \(subject.name)")
      }
      return .operand(operand, comparison)
    }
    if type == other && (!type.isNumeric || operand.constant?.isPlain(type) == true) {
      return .operand(operand, comparison)
    }
    guard let constant = operand.constant else {
      guard type == other || (type.isNumeric && other.isNumeric && (type == .decimal) == (other == .decimal))
      else {
        throw mismatch(subject, operand)
      }
      return .operand(operand, comparison)
    }
    dependsOnValues(operand.fragment)
    if type.isNumeric && other.isNumeric { return number(constant, operand, type, comparison) }
    // Text may stand for what is stored as text.
    guard case .text(let text) = constant.stored, other == .string || type == .string else {
      throw mismatch(subject, operand)
    }
    switch type {
    case .uuid:
      guard let uuid = UUID(uuidString: text) else {
        throw failure("\"\(text.prefix(40))\" is no UUID, and \(subject.name) is one")
      }
      return .operand(replacing(operand, .text(uuid.uuidString)), comparison)
    case .url, .string: return .operand(operand, comparison)
    default: throw mismatch(subject, operand)
    }
  }

  private func mismatch(_ subject: CompiledOperand, _ operand: CompiledOperand) -> StoreError {
    failure(
      "\(subject.name) is a \(subject.type?.rawValue ?? "value") and cannot be compared with "
        + (operand.constant == nil ? "\(operand.name), a \(operand.type?.rawValue ?? "value")" : operand.name)
    )
  }

  private func replacing(_ operand: CompiledOperand, _ value: SQLValue) -> CompiledOperand {
    var copy = operand
    copy.fragment = .bound(value)
    copy.constant?.stored = value
    return copy
  }

  /// A numeric constant against a column of another numeric type.
  private func number(
    _ constant: PredicateValue, _ operand: CompiledOperand, _ type: AttributeType,
    _ comparison: ComparisonOperator
  ) -> Adapted {
    if type == .decimal {
      let text: String
      switch constant.stored {
      case .integer(let value): text = "\(value)"
      case .real(let value): text = (Decimal(string: "\(value)") ?? Decimal(value)).description
      default: return .operand(operand, comparison)
      }
      return .operand(replacing(operand, .text(text)), comparison)
    }
    var value = constant.stored
    if case .text(let text) = value,
      let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
    {
      // A decimal constant: an integer if it is one, else the nearest double.
      let double = NSDecimalNumber(decimal: decimal).doubleValue
      value = Int64(text).map { .integer($0) } ?? .real(double)
    }
    switch value {
    case .real(let real) where type.isInteger: return integers(against: real, operand, comparison)
    case .integer(let integer) where !type.isInteger: return reals(against: integer, operand, comparison)
    default: return .operand(replacing(operand, value), comparison)
    }
  }

  private func integers(against real: Double, _ operand: CompiledOperand, _ comparison: ComparisonOperator)
    -> Adapted
  {
    if let exact = Int64(exactly: real) { return .operand(replacing(operand, .integer(exact)), comparison) }
    switch comparison {
    case .equal: return .constant(false)
    case .notEqual: return .constant(true)
    case .less, .lessOrEqual:
      guard let floor = Int64(exactly: real.rounded(.down)) else { return .constant(real > 0) }
      return .operand(replacing(operand, .integer(floor)), .lessOrEqual)
    default:
      guard let ceiling = Int64(exactly: real.rounded(.up)) else { return .constant(real < 0) }
      return .operand(replacing(operand, .integer(ceiling)), .greaterOrEqual)
    }
  }

  private func reals(against integer: Int64, _ operand: CompiledOperand, _ comparison: ComparisonOperator)
    -> Adapted
  {
    let near = Double(integer)
    if let exact = Double(exactly: integer) { return .operand(replacing(operand, .real(exact)), comparison) }
    // No double lies between the integer and the nearest one.
    let isAbove = near >= 0x1p63 || Int64(near) > integer
    let fitting = replacing(operand, .real(near))
    switch comparison {
    case .equal: return .constant(false)
    case .notEqual: return .constant(true)
    case .less, .lessOrEqual: return .operand(fitting, isAbove ? .less : .lessOrEqual)
    default: return .operand(fitting, isAbove ? .greaterOrEqual : .greater)
    }
  }
}

extension PredicateValue {
  /// Whether it is stored as attributes of the type are.
  fileprivate func isPlain(_ type: AttributeType) -> Bool {
    switch stored {
    case .integer: type.isInteger
    case .real: !type.isInteger && type != .decimal
    case .text: type == .decimal
    case .null, .blob: false
    }
  }
}

extension ComparisonOperator {
  fileprivate var sql: String {
    switch self {
    case .less: " < "
    case .lessOrEqual: " <= "
    case .greater: " > "
    case .greaterOrEqual: " >= "
    case .notEqual: " IS NOT "
    default: " IS "
    }
  }

  /// As the format language writes it.
  var word: String {
    switch self {
    case .equal: "=="
    case .notEqual: "!="
    case .contains: "CONTAINS"
    case .beginsWith: "BEGINSWITH"
    case .endsWith: "ENDSWITH"
    case .like: "LIKE"
    case .less: "<"
    case .lessOrEqual: "<="
    case .greater: ">"
    case .greaterOrEqual: ">="
    }
  }

  var isForStrings: Bool {
    switch self {
    case .contains, .beginsWith, .endsWith, .like: true
    default: false
    }
  }

  /// The operator for exchanged sides; nil where sides cannot be exchanged.
  var flipped: ComparisonOperator? {
    switch self {
    case .equal, .notEqual: self
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    default: nil
    }
  }
}
