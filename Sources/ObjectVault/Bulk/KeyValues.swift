// The values of a unique key, compared as the file compares them.

internal import CipherSQLite
private import Foundation

/// A value that a row or a caller gives for an attribute of a key.
enum KeyPart {
  case value(SQLValue)
  /// The value cannot be that of a key, for this reason.
  case refused(String)

  /// Makes the part of a value, in its stored form.
  init<Value: AttributeValue>(_ value: Value?) {
    guard let value else {
      self = .refused("is nil")
      return
    }
    self.init { try value.stored() }
  }

  /// Makes the part of a value for an attribute of a type that the compiler does not know.
  init(_ value: (any AttributeValue)?, as type: AttributeType) {
    guard let value else {
      self = .refused("is nil")
      return
    }
    self.init { try type.stored(of: value) }
  }

  private init(_ form: () throws -> SQLValue) {
    do {
      let stored = try form()
      self = stored.isNull ? .refused("is nil") : .value(stored)
    } catch { self = .refused("cannot be stored: \(error)") }
  }
}

/// The values of a unique key.
///
/// Two keys are equal if the unique index of the file has them as one: texts by their bytes, so that two
/// compositions of one character differ; decimals and other numbers by their values.
struct KeyValues: Hashable {
  /// The values in the order of the key's slots, without nil.
  let stored: [SQLValue]
  private let forms: [Form]

  /// A value in a form that is equal for equal values.
  private enum Form: Hashable {
    case integer(Int64)
    case real(Double)
    case text(ExactText)
    case bytes(Data)
  }

  /// Creates the values of a key.
  /// - Returns: nil if one of them is nil.
  init?(_ values: [SQLValue], of key: UniqueKey) {
    var forms: [Form] = []
    for (slot, value) in zip(key.slots, values) {
      let isDecimal = key.entity.slots[slot].attribute?.type == .decimal
      guard let form = Self.form(value, isDecimal: isDecimal) else { return nil }
      forms.append(form)
    }
    (stored, self.forms) = (values, forms)
  }

  private static func form(_ value: SQLValue, isDecimal: Bool) -> Form? {
    if isDecimal, let number = DecimalText(value) {
      let digits = number.digits.map { "\($0)" }.joined()
      return .text(ExactText("\(number.isNegative ? "-" : "")\(digits)e\(number.exponent)"))
    }
    return switch value {
    case .null: nil
    case .integer(let number): .integer(number)
    case .real(let number): Int64(exactly: number).map(Form.integer) ?? .real(number)
    case .text(let text): .text(ExactText(text))
    case .blob(let bytes): .bytes(bytes)
    }
  }

  static func == (left: KeyValues, right: KeyValues) -> Bool { left.forms == right.forms }
  func hash(into hasher: inout Hasher) { hasher.combine(forms) }
}

/// A text that equals only texts with the same bytes.
private struct ExactText: Hashable {
  private let text: String

  init(_ text: String) { self.text = text }

  static func == (left: ExactText, right: ExactText) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  // Texts with the same bytes are also equal in Swift.
  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
