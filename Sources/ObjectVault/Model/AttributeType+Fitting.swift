// Which Swift types an attribute takes and gives where it is named by a string, and no compiler compares them.

internal import CipherSQLite

extension AttributeType {
  /// Whether values of a Swift type of another attribute type may be written: whole numbers for any numbers, one
  /// floating-point type for the other, and strings for what is stored as text.
  func takes(_ type: AttributeType) -> Bool {
    if self == type { return true }
    if type == .string { return isStoredAsText }
    if type.isInteger, type != .bool { return isNumeric && self != .bool }
    return isFloating && type.isFloating
  }

  /// Whether values may be read as a Swift type of another attribute type.
  func reads(as type: AttributeType) -> Bool {
    if self == type { return true }
    return type == .string ? isStoredAsText : type != .string && self != .string && type.takes(self)
  }

  /// Whether a stored value is of the type's class, so that no column of the type makes another of it: a whole number is any
  /// number. Of one that is it may still not be in the type's range, or form.
  func isKind(of value: SQLValue) -> Bool {
    switch (traits.storage, value) {
    case (_, .null), (.integer, .integer), (.real, .integer), (.real, .real), (.text(.decimal), .integer),
      (.text, .text), (.blob, .blob):
      true
    default: false
    }
  }

  private var isFloating: Bool { isNumeric && traits.sqlType == "REAL" }

  /// The form in which the type stores a value.
  /// - Throws: ``UnstorableValue`` for what is none of its values.
  func stored(_ value: SQLValue) throws -> SQLValue {
    switch value {
    case .null: return .null
    case .integer(let number):
      switch traits.storage {
      case .integer(let range): if range.contains(number) { return value }
      case .text(.decimal): return .text("\(number)")
      case .real: return try stored(.real(Double(number)))
      case .text, .blob: break
      }
    case .real(let number):
      guard !number.isNaN else { throw UnstorableValue.notANumber }
      switch traits.storage {
      case .real(isSingle: true):
        if Float(number).isInfinite == number.isInfinite { return .real(Double(Float(number))) }
      case .real(isSingle: false): return .real(number == 0 ? 0 : number)
      case .integer, .text, .blob: break
      }
    case .text(let text): if isStoredAsText, isForm(text) { return value }
    case .blob: if traits.storage == .blob { return value }
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

  /// The same of one that nobody has spoken of yet.
  var kindName: String {
    switch self {
    case .null: "nil"
    case .integer: "a whole number"
    case .real: "a number"
    case .text: "a text"
    case .blob: "data"
    }
  }
}
