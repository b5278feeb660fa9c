// Which Swift types can be written to and read from an attribute that is accessed by its name as a
// string, where the compiler cannot check the type.

internal import CipherSQLite

extension AttributeType {
  /// Returns whether a Swift value of another attribute type may be written to this attribute: an integer
  /// to any number, either floating-point type to the other, and a string to what is stored as text.
  func takes(_ type: AttributeType) -> Bool {
    if self == type { return true }
    if type == .string { return isStoredAsText }
    if type.isInteger, type != .bool { return isNumeric && self != .bool }
    return isFloating && type.isFloating
  }

  /// Returns whether the attribute may be read as a Swift type of another attribute type.
  func reads(as type: AttributeType) -> Bool {
    if self == type { return true }
    return type == .string ? isStoredAsText : type != .string && self != .string && type.takes(self)
  }

  /// Returns whether the storage class of a value fits the type. Of the values that fit, a column
  /// converts only integers: to a real number, or to the text of a decimal.
  ///
  /// An integer fits every numeric type, and dates. The value may still be outside the type's range, or
  /// not in its form.
  func isKind(of value: SQLValue) -> Bool {
    switch (traits.storage, value) {
    case (_, .null), (.integer, .integer), (.real, .integer), (.real, .real), (.text(.decimal), .integer),
      (.text, .text), (.blob, .blob):
      true
    default: false
    }
  }

  private var isFloating: Bool { isNumeric && traits.sqlType == "REAL" }

  /// Returns the form in which the type stores a Swift value of another attribute type.
  /// - Throws: ``UnstorableValue`` when the type has no such value; what ``AttributeValue/stored()`` throws.
  func stored<Value: AttributeValue>(of value: Value) throws -> SQLValue {
    let stored = try value.stored()
    if stored.isNull || Value.attributeType == self { return stored }
    guard takes(Value.attributeType) else {
      throw UnstorableValue(
        description: "a value of type \(Value.attributeType.rawValue) is not a value of type \(rawValue)")
    }
    return try self.stored(stored)
  }

  /// Returns the form in which the type stores a value.
  /// - Throws: ``UnstorableValue`` when the type has no such value.
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
    if self == .json, case .text = value {
      throw UnstorableValue(
        description:
          "the text is not in the form in which JSON is stored: without white space between its parts and "
          + "without escaped slashes, with the keys of each object in order")
    }
    throw UnstorableValue(description: "\(value.kind) that was given is not of type \(rawValue)")
  }
}

extension SQLValue {
  /// What the value is, for a message that refers to it without printing it.
  fileprivate var kind: String {
    switch self {
    case .null: "nil"
    case .integer: "the whole number"
    case .real: "the number"
    case .text: "the text"
    case .blob: "the data"
    }
  }

  /// What the value is, for a message that mentions it for the first time.
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
