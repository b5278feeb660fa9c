// Which types can be compared, and the conversion of constants to the type of the other side. Numbers are
// compared by value, exactly.

internal import CipherSQLite

/// A constant that was converted to the type of the other side, with the operator that has the original
/// meaning for the converted constant; or the result of the comparison, if it is known already.
enum Adapted {
  case operand(CompiledOperand, ComparisonOperator)
  case constant(Bool)
}

extension PredicateCompiler {
  /// Makes `operand` comparable with `subject`.
  /// - Throws: ``StoreError/predicate(_:)`` when the two types cannot be compared.
  mutating func adapted(
    _ operand: CompiledOperand, to subject: CompiledOperand, for comparison: ComparisonOperator
  ) throws -> Adapted {
    guard let type = subject.type, let other = operand.type else { return .operand(operand, comparison) }
    if subject.isObject || operand.isObject {
      try checkObjects(subject, and: operand, for: comparison)
      return .operand(operand, comparison)
    }
    guard let constant = operand.constant else {
      guard type == other || (type.isNumeric && other.isNumeric) || (type.isText && other.isText) else {
        throw mismatch(subject, with: operand)
      }
      return .operand(operand, comparison)
    }
    if type.isNumeric && other.isNumeric {
      if constant.stored.isPlain(type.numberKind) { return .operand(operand, comparison) }
      dependsOnValues(operand.sql)
      return number(constant.stored, operand, to: type.numberKind, for: comparison)
    }
    if type == other { return .operand(operand, comparison) }
    // A constant text can be compared with a UUID or a date, to whose stored form it is converted, and
    // with a URL; a string can be compared with a constant URL or UUID.
    guard case .text(let text) = constant.stored, other == .string || type == .string else {
      throw mismatch(subject, with: operand)
    }
    dependsOnValues(operand.sql)
    if let written = type.traits.written, let lifted = type.lifted(text) {
      guard case .value(let value) = lifted else {
        throw failure(
          "\"\(shortened(text))\" is not a \(written.name), but \(subject.name) is one"
            + (written.example.map { "; write \($0)" } ?? ""), at: operand.place)
      }
      return .operand(replacing(operand, value), comparison)
    }
    switch type.traits.storage {
    case .text(.url): return .operand(operand, comparison)
    case .text(.any) where other.isText || other.traits.storage == .text(.uuid):
      return .operand(operand, comparison)
    case .integer, .real, .text, .blob: throw mismatch(subject, with: operand)
    }
  }

  private func mismatch(_ subject: CompiledOperand, with operand: CompiledOperand) -> StoreError {
    failure(
      "\(subject.name) is \(subject.kind) and cannot be compared with "
        + (operand.constant == nil ? "\(operand.name), \(operand.kind)" : operand.name),
      at: operand.place ?? subject.place)
  }

  /// Returns a constant with another value.
  func replacing(_ operand: CompiledOperand, _ value: SQLValue) -> CompiledOperand {
    var copy = operand
    copy.sql = .bound(value)
    copy.constant?.stored = value
    return copy
  }

  // MARK: Objects

  /// Checks that two operands, at least one of which is an object, can be compared.
  private mutating func checkObjects(
    _ subject: CompiledOperand, and operand: CompiledOperand, for comparison: ComparisonOperator
  ) throws {
    let place = operand.place ?? subject.place
    let isID = { (side: CompiledOperand) in
      side.isObject || (side.constant?.type == .int && side.constant?.entity == nil)
    }
    guard isID(subject), isID(operand) else {
      throw failure(
        "\(subject.name) and \(operand.name) cannot be compared; give an object or its id with %@, or use "
          + "where(_:equals:)", at: place)
    }
    guard comparison == .equal || comparison == .notEqual || (subject.isID && operand.isID) else {
      throw failure(
        "objects can only be equal or not equal; \(comparison.word) has no meaning for \(subject.name)",
        at: place)
    }
    if let left = subject.entityName, let right = operand.entityName, left != right,
      !isRelated(subject, right), !isRelated(operand, left)
    {
      throw failure(
        "\(subject.ownership(left)) and \(operand.ownership(right)) are never the same object",
        at: place)
    }
    for (side, other) in [(subject, operand), (operand, subject)] {
      guard let constant = side.constant, constant.entity != nil else { continue }
      if case .integer(let rowID) = constant.stored, rowID <= 0 {
        throw failure(
          rowID < 0
            ? "\(side.name) is new: nothing can refer to it before it is saved"
            : "\(constant.entity ?? "object") id 0 is not the id of an object, because ids begin at 1; to "
              + "compare with 0, pass the number 0",
          at: place)
      }
      if let owner = constant.owner, let entity = other.object,
        (owner as? EntityMapping)?.root !== entity.root
      {
        throw failure("\(side.name) belongs to another store; compare with its id there", at: place)
      }
    }
  }

  /// Returns whether an operand's object may belong to the entity of this name: whether that is the
  /// operand's entity, an ancestor or a descendant.
  private func isRelated(_ operand: CompiledOperand, _ name: String) -> Bool {
    guard let entity = operand.object, entity.isInHierarchy else { return false }
    return entity.relatives.contains { $0.name == name && ($0.includes(entity) || entity.includes($0)) }
  }

  // MARK: Numbers

  /// Converts a numeric constant for the comparison with numbers of another kind.
  private func number(
    _ value: SQLValue, _ operand: CompiledOperand, to kind: NumberKind, for comparison: ComparisonOperator
  ) -> Adapted {
    if case .real(let real) = value {
      // As in IEEE 754: NaN is unequal to everything, and infinity is beyond every other number.
      if real.isNaN { return .constant(comparison == .notEqual) }
      if real.isInfinite, kind != .real { return .constant(comparison.holds(real > 0 ? -1 : 1)) }
    }
    switch (kind, value) {
    case (.decimal, _):
      return DecimalText(value).map { .operand(replacing(operand, .text($0.text)), comparison) }
        ?? .constant(false)
    case (.integer, .real(let real)):
      guard let exact = Int64(exactly: real) else {
        return integers(
          below: Int64(exactly: real.rounded(.down)), isPositive: real > 0, operand, comparison)
      }
      return .operand(replacing(operand, .integer(exact)), comparison)
    case (.integer, .text(let text)):
      guard let decimal = DecimalText(text.utf8) else { return .constant(false) }
      if let floor = decimal.floor, floor.isExact {
        return .operand(replacing(operand, .integer(floor.value)), comparison)
      }
      return integers(below: decimal.floor?.value, isPositive: !decimal.isNegative, operand, comparison)
    case (.real, .integer), (.real, .text): return reals(against: value, operand, comparison)
    default: return .operand(operand, comparison)
    }
  }

  /// Converts the comparison of integers with a number that is no integer. `floor` is the integer below
  /// the number; nil when the number is beyond all integers.
  private func integers(
    below floor: Int64?, isPositive: Bool, _ operand: CompiledOperand, _ comparison: ComparisonOperator
  ) -> Adapted {
    switch comparison {
    case .equal: return .constant(false)
    case .notEqual: return .constant(true)
    case .less, .lessOrEqual:
      guard let floor else { return .constant(isPositive) }
      return .operand(replacing(operand, .integer(floor)), .lessOrEqual)
    default:
      guard let floor else { return .constant(!isPositive) }
      return .operand(replacing(operand, .integer(floor)), .greater)
    }
  }

  /// Converts the comparison of doubles with a number that may be between two doubles: the nearest double
  /// replaces it.
  private func reals(
    against value: SQLValue, _ operand: CompiledOperand, _ comparison: ComparisonOperator
  ) -> Adapted {
    let near =
      switch value {
      case .integer(let integer): Double(integer)
      case .text(let text): Double(text) ?? .nan
      default: Double.nan
      }
    guard let order = ValueArithmetic.compareNumbers(value, with: .real(near)) else {
      return .constant(false)
    }
    let fitting = replacing(operand, .real(near))
    if order == 0 { return .operand(fitting, comparison) }
    switch comparison {
    case .equal: return .constant(false)
    case .notEqual: return .constant(true)
    case .less, .lessOrEqual: return .operand(fitting, order > 0 ? .lessOrEqual : .less)
    default: return .operand(fitting, order > 0 ? .greater : .greaterOrEqual)
    }
  }
}

/// A fast check for constants that can be compared with an operand without conversion or error. Usually
/// all constants of a long list pass the check, and need no other one.
struct PlainConstants {
  private let entity: String?
  private let type: AttributeType?
  private let kind: NumberKind?

  /// Creates the check; nil for an operand that is a constant itself.
  init?(for subject: CompiledOperand) {
    guard subject.constant == nil else { return nil }
    (entity, type) = (subject.object?.name, subject.type)
    kind = subject.object == nil && subject.type?.isNumeric == true ? subject.type?.numberKind : nil
  }

  func contain(_ constant: PredicateValue) -> Bool {
    guard constant.type == type, constant.owner == nil else { return false }
    if let entity {
      guard case .integer(let id) = constant.stored else { return false }
      // A number without an entity may be compared with any object's id.
      return constant.entity.map { $0 == entity && id > 0 } ?? true
    }
    guard constant.entity == nil else { return false }
    if let kind { return constant.stored.isPlain(kind) }
    return !constant.stored.isNull
  }
}

extension SQLValue {
  /// Returns whether the value is a number other than NaN, and is stored as numbers of the kind are.
  fileprivate func isPlain(_ kind: NumberKind) -> Bool {
    switch self {
    case .integer: kind == .integer
    case .real(let number): kind == .real && !number.isNaN
    case .text: kind == .decimal
    case .null, .blob: false
    }
  }
}
