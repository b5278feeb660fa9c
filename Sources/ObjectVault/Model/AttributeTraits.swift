// What there is to say of each type of attributes, in one line each. Everything else follows from it: no other file of the
// model, the mapping, predicates and migrations asks which type it is but for what that type alone does.

internal import CipherSQLite

/// How numbers are stored.
enum NumberKind { case integer, real, decimal }

/// What values of a type are, in a file and in comparisons.
package struct AttributeTraits: Sendable {
  /// In which class the engine stores a value, and which of that class are values.
  package enum Storage: Sendable, Equatable {
    /// Whole numbers of a range.
    case integer(ClosedRange<Int64>)
    /// Numbers, of single precision or of double.
    case real(isSingle: Bool)
    case text(TextForm)
    case blob
  }

  /// What a text has to look like to be a value.
  package enum TextForm: Sendable, Equatable { case any, decimal, uuid, url, json }

  /// In which form a text of a predicate names a value that is no string.
  package enum WrittenForm: Sendable, Equatable { case uuid, date }

  package let storage: Storage
  /// Whether values are numbers that compare by value with each other, and can be calculated with.
  package let isNumeric: Bool
  /// Whether strings are compared with values as with strings, in all comparisons of strings.
  package let isString: Bool
  /// The collation of columns, where it is not the engine's own.
  package let collation: String?
  /// How a text of a predicate names a value; nil where texts are strings, or stand for none.
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
  /// What values of the type are.
  package var traits: AttributeTraits {
    switch self {
    // A truth value is a number to calculations, as it is to the engine.
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
  /// The declared type of a column, from which the engine takes the column's affinity.
  package var sqlType: String {
    switch storage {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .blob: "BLOB"
    }
  }

  /// The whole numbers that are values; nil for other types.
  package var integerRange: ClosedRange<Int64>? {
    if case .integer(let range) = storage { range } else { nil }
  }

  /// Whether values are true and false.
  package var isTruth: Bool { integerRange == 0...1 }

  /// How values are stored, as far as they are numbers; of others that are stored as numbers, how those are.
  var numberKind: NumberKind {
    switch storage {
    case .integer: .integer
    case .text(.decimal): .decimal
    case .real, .text, .blob: .real
    }
  }
}

extension AttributeType {
  /// The column's declared type, with what follows from it.
  package var sqlType: String { traits.sqlType }
  /// Whether values are whole numbers.
  var isInteger: Bool { traits.integerRange != nil }
  /// Whether values are numbers that compare by value with each other.
  var isNumeric: Bool { traits.isNumeric }
  var numberKind: NumberKind { traits.numberKind }
  /// Whether values are text that a string may stand for.
  var isText: Bool { traits.isString }
  /// Whether values are stored as text, of whatever form.
  var isStoredAsText: Bool { if case .text = traits.storage { true } else { false } }
  /// The whole numbers that the type holds; nil for other types.
  var integerRange: ClosedRange<Int64>? { traits.integerRange }
}
