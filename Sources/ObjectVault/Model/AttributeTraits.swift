// The traits of each attribute type, one line for each type. Code in the model, the mapping, predicates
// and migrations uses these traits; it names a type only for behaviour that this type alone has.

internal import CipherSQLite

/// How numbers are stored.
enum NumberKind { case integer, real, decimal }

/// The traits of an attribute type: how its values are stored and compared.
package struct AttributeTraits: Sendable {
  /// How the engine stores values of the type, and which stored values are valid.
  package enum Storage: Sendable, Equatable {
    /// Integers of a range.
    case integer(ClosedRange<Int64>)
    /// Floating-point numbers, of single or double precision.
    case real(isSingle: Bool)
    case text(TextForm)
    case blob
  }

  /// The form that a text must have to be a valid value.
  package enum TextForm: Sendable, Equatable { case any, decimal, uuid, url, json }

  /// The form of a text that a predicate converts to a value of another type, such as a date.
  package enum WrittenForm: Sendable, Equatable { case uuid, date }

  package let storage: Storage
  /// Whether values are numbers, which compare by value with each other and can be used in calculations.
  package let isNumeric: Bool
  /// Whether values compare as strings: with each other, with strings, and in all string operators.
  package let isString: Bool
  /// The collation of the type's columns; nil for the engine's own.
  package let collation: String?
  /// The form of the texts that predicates convert to values of the type; nil for strings, and for other
  /// types to which no text is converted.
  package let written: WrittenForm?

  fileprivate init(
    _ storage: Storage, isNumeric: Bool = false, isString: Bool = false, collation: String? = nil,
    written: WrittenForm? = nil
  ) {
    (self.storage, self.isNumeric, self.isString) = (storage, isNumeric, isString)
    (self.collation, self.written) = (collation, written)
  }

  fileprivate static func integer(_ type: (some FixedWidthInteger).Type) -> AttributeTraits {
    AttributeTraits(.integer(Int64(type.min)...Int64(type.max)), isNumeric: true)
  }
}

extension AttributeType {
  /// The traits of the type.
  package var traits: AttributeTraits {
    switch self {
    // Calculations treat a Bool as a number, as the engine does.
    case .bool: AttributeTraits(.integer(0...1), isNumeric: true)
    case .int: .integer(Int64.self)
    case .int8: .integer(Int8.self)
    case .int16: .integer(Int16.self)
    case .int32: .integer(Int32.self)
    case .uint8: .integer(UInt8.self)
    case .uint16: .integer(UInt16.self)
    case .uint32: .integer(UInt32.self)
    case .float: AttributeTraits(.real(isSingle: true), isNumeric: true)
    case .double: AttributeTraits(.real(isSingle: false), isNumeric: true)
    case .date: AttributeTraits(.real(isSingle: false), written: .date)
    case .decimal: AttributeTraits(.text(.decimal), isNumeric: true, collation: "vault_decimal")
    case .string: AttributeTraits(.text(.any), isString: true)
    case .uuid: AttributeTraits(.text(.uuid), written: .uuid)
    case .url: AttributeTraits(.text(.url), isString: true)
    case .json: AttributeTraits(.text(.json))
    case .data: AttributeTraits(.blob)
    }
  }
}

extension AttributeTraits {
  /// The declared type of a column, which determines the column's affinity.
  package var sqlType: String {
    switch storage {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .blob: "BLOB"
    }
  }

  /// The integers that are valid values; nil for types that are not integers.
  package var integerRange: ClosedRange<Int64>? {
    if case .integer(let range) = storage { range } else { nil }
  }

  /// Whether the values are true and false.
  package var isTruth: Bool { integerRange == 0...1 }

  /// How the numbers of the type are stored; `real` for types that are not numeric.
  var numberKind: NumberKind {
    switch storage {
    case .integer: .integer
    case .text(.decimal): .decimal
    case .real, .text, .blob: .real
    }
  }
}

extension AttributeType {
  /// The declared type of a column, which determines the column's affinity.
  package var sqlType: String { traits.sqlType }
  /// Whether values are integers.
  var isInteger: Bool { traits.integerRange != nil }
  /// Whether values are numbers that compare by value with each other.
  var isNumeric: Bool { traits.isNumeric }
  var numberKind: NumberKind { traits.numberKind }
  /// Whether values are compared with strings as strings.
  var isText: Bool { traits.isString }
  /// Whether values are stored as text, in any form.
  var isStoredAsText: Bool { if case .text = traits.storage { true } else { false } }
  /// The integers that the type can hold; nil for types that are not integers.
  var integerRange: ClosedRange<Int64>? { traits.integerRange }
}
