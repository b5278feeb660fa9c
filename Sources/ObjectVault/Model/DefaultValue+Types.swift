// Which constants an attribute type accepts: one rule for defaults of Swift classes, migration files and
// backfill values.

extension DefaultValue {
  /// Returns the value as it is stored in a column of the type: for a float, rounded to single precision.
  func stored(as type: AttributeType) -> DefaultValue {
    let value = fitting(type)
    guard type.traits.storage == .real(isSingle: true), case .real(let number) = value,
      Float(number).isFinite
    else { return value }
    return .real(Double(Float(number)))
  }

  /// Returns the value converted to the type: an integer becomes a real number if the type is stored as
  /// one, and text if the type is a decimal.
  ///
  /// Digits are not rounded, because the checksum of a step covers them as they were written.
  func fitting(_ type: AttributeType) -> DefaultValue {
    guard case .integer(let number) = self else { return self }
    switch type.traits.storage {
    case .real: return .real(Double(number))
    case .text(.decimal): return .text("\(number)")
    case .integer, .text, .blob: return self
    }
  }

  /// Returns why attributes of this type cannot have the value, as a part of a sentence; nil when they
  /// can.
  ///
  /// An accepted value passes ``Store/verify()`` in a column of the type, and can be written as an SQL
  /// literal.
  package func problem(for type: AttributeType) -> String? {
    let value = fitting(type)
    if case .real(let number) = value, !number.isFinite {
      return "\(number) is not finite, and SQL has no constant for it; set it in each object"
    }
    if case .text(let text) = value, text.unicodeScalars.contains("\0") {
      return "it has a NUL character, where SQL text ends; set it in each object"
    }
    if value.isValue(of: type) { return nil }
    return "\(self.text) is not a valid \(type.rawValue)"
  }

  private func isValue(of type: AttributeType) -> Bool {
    switch self {
    case .integer(let number): type.integerRange?.contains(number) ?? false
    case .real(let number):
      switch type.traits.storage {
      case .real(let isSingle): !isSingle || Float(number).isFinite
      case .integer, .text, .blob: false
      }
    case .text(let text): type.isStoredAsText && type.isForm(text)
    }
  }
}

extension AttributeType {
  /// How a migration file writes a constant of the type, as a hint in errors.
  var constantForm: String {
    switch traits.storage {
    case .integer(0...1): "true or false"
    case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .real where self == .date:
      "the seconds from 2001-01-01 00:00 UTC, such as 788918400 for 2026-01-01"
    case .real: "a number, such as 1.5"
    case .text(.any): "a text in quotes"
    case .text(.decimal): "the digits in quotes, such as \"1.50\""
    case .text(.uuid): "it in quotes and capitals, such as \"6F9619FF-8B86-D011-B42D-00C04FC964FF\""
    case .text(.url): "it in quotes, as it is written in a URL, such as \"https://example.com/a%20b\""
    case .text(.json): "it in quotes, with sorted keys and without spaces, such as \"{\\\"a\\\":1}\""
    case .blob: "transform sql { UPDATE … SET … = x'00ff' } after it, because data has no constant"
    }
  }
}

extension AttributeDescription {
  /// Converts the default to the form in which the type stores it, so that models of the same meaning are
  /// equal.
  mutating func normalizeDefault() { defaultValue = defaultValue?.stored(as: type) }

  /// Throws when the default is not a value of the attribute's type.
  func requireDefault() throws(ModelError) {
    if let problem = defaultValue?.problem(for: type) { throw ModelError(reason: problem) }
  }
}

extension AttributeType {
  /// Returns whether a cast converts every value of this type to an equivalent value of the other.
  ///
  /// False from a float or a double to a string: SQLite writes 15 digits of a number, and some numbers
  /// need 17.
  func converts(to type: AttributeType) -> Bool {
    if self == type { return true }
    if let from = integerRange {
      if let to = type.integerRange { return to.contains(from.lowerBound) && to.contains(from.upperBound) }
      return type == .string || type == .decimal || (type == .double && self != .int)
    }
    if self == .float && type == .double { return true }
    return type == .string && isStoredAsText
  }
}
