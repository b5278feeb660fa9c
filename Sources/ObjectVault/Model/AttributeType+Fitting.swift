// Which Swift types an attribute takes and gives where it is named by a string, and no compiler compares them.

internal import CipherSQLite

extension AttributeType {
  /// Whether values of a Swift type of another attribute type may be written: whole numbers for any numbers, one
  /// floating-point type for the other, and strings for what is stored as text.
  func takes(_ type: AttributeType) -> Bool {
    if self == type { return true }
    if type == .string { return sqlType == "TEXT" }
    if type.isInteger, type != .bool { return isNumeric && self != .bool }
    return isFloating && type.isFloating
  }

  /// Whether values may be read as a Swift type of another attribute type.
  func reads(as type: AttributeType) -> Bool {
    if self == type { return true }
    return type == .string ? sqlType == "TEXT" : type != .string && self != .string && type.takes(self)
  }

  private var isFloating: Bool { self == .float || self == .double }

  /// The form in which the type stores a value.
  /// - Throws: ``UnstorableValue`` for what is none of its values.
  func stored(_ value: SQLValue) throws -> SQLValue {
    switch value {
    case .null: return .null
    case .integer(let number):
      if let integerRange, integerRange.contains(number) { return value }
      if self == .decimal { return .text("\(number)") }
      if sqlType == "REAL" { return try stored(.real(Double(number))) }
    case .real(let number):
      guard !number.isNaN else { throw UnstorableValue.notANumber }
      if self == .float, Float(number).isInfinite == number.isInfinite { return .real(Double(Float(number))) }
      if self == .double || self == .date { return .real(number == 0 ? 0 : number) }
    case .text(let text): if sqlType == "TEXT", isForm(text) { return value }
    case .blob: if self == .data { return value }
    }
    throw UnstorableValue(description: "\(value.kind) that was given is none of type \(rawValue)")
  }
}

extension SQLValue {
  /// What it is, for a message that must not tell the value.
  fileprivate var kind: String {
    switch self {
    case .null: "nil"
    case .integer: "the whole number"
    case .real: "the number"
    case .text: "the text"
    case .blob: "the data"
    }
  }
}
