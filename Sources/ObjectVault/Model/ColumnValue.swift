// Values of columns, which a fetch returns instead of objects. Each column collects its values in an
// array of their own type, so that the code that runs for each row is specialized for the common types.

internal import CipherSQLite
internal import Foundation

/// A value that a fetch returns without making an object: the value of an attribute, or the id of an
/// object.
///
/// Every ``AttributeValue`` and every ``ObjectID`` is a column value, and so is an optional of either.
/// Your own types conform by ``AttributeValue``.
public protocol ColumnValue {
  /// Creates the column that collects values of the type.
  /// - Parameter origin: The fetch that the values come from.
  /// - Returns: The empty column.
  static func makeColumn(of origin: ColumnOrigin) -> ResultColumn<Self>
}

/// Where the values of a column come from.
public struct ColumnOrigin {
  /// The store, which the ids of objects belong to.
  let store: StoreFingerprint
  /// The fingerprint that temporary ids have instead of the store's.
  let temporary: StoreFingerprint
}

/// The values of one column of a result, while a fetch collects them.
public struct ResultColumn<Value> {
  /// The values, in the order in which the rows were read.
  final class Values {
    // Safe: no other code runs while a value is appended, so that accesses cannot overlap.
    @safe @exclusivity(unchecked) var all: [Value] = []
    /// The number of values that could not be read.
    @safe @exclusivity(unchecked) var unreadableCount = 0
  }
  let values: Values
  /// Adds the value of a row that the engine passes.
  let takeRow: (_ row: borrowing TakenRow, _ index: Int) throws -> Void
  /// Adds a value.
  let takeValue: (SQLValue) -> Void
  /// Returns the value that a stored value represents; nil if it is not a `Value`.
  let convert: (SQLValue) -> Value?
  /// Creates an empty column whose values may be read on any thread; nil if code of the app reads them.
  private(set) var makeSendable: (() -> ResultColumn)?

  /// Creates a column.
  ///
  /// Inlined, so that the closures are specialized where the type is known.
  /// - Parameters:
  ///   - placeholder: Returns the value in place of one that cannot be read.
  ///   - row: Reads the value of a row; nil if it is not a `Value`.
  ///   - value: Converts a stored value; nil if it is not a `Value`.
  @inline(__always) init(
    placeholder: @escaping () -> Value,
    row: @escaping (_ row: borrowing TakenRow, _ index: Int) throws -> Value?,
    value: @escaping (SQLValue) -> Value?
  ) {
    let values = Values()
    self.values = values
    takeRow = { taken, index in
      if let found = try row(taken, index) { return values.all.append(found) }
      // NULL does not count as unreadable: a new object may still lack a required value.
      if !taken.isNull(index) { values.unreadableCount += 1 }
      values.all.append(placeholder())
    }
    takeValue = { stored in
      if let found = value(stored) { return values.all.append(found) }
      if !stored.isNull { values.unreadableCount += 1 }
      values.all.append(placeholder())
    }
    convert = value
  }

  /// Returns the column, marked as one whose values may be read on any thread.
  /// - Parameter make: Creates an empty column of the same values.
  func sendable(_ make: @escaping () -> ResultColumn) -> ResultColumn where Value: Sendable {
    var copy = self
    copy.makeSendable = make
    return copy
  }
}

// MARK: Attributes

extension AttributeValue {
  /// Creates a column of attribute values. A value that cannot be read becomes the ``placeholder``, as in
  /// an object.
  public static func makeColumn(of origin: ColumnOrigin) -> ResultColumn<Self> {
    if let column = ResultColumn<Self>.common { return column }
    return ResultColumn(
      placeholder: { placeholder }, row: { Self(stored: try $0.value($1)) }, value: { Self(stored: $0) })
  }
}

extension ResultColumn {
  /// The specialized column; nil for a type that is none of the common ones.
  fileprivate static var common: ResultColumn? {
    let column: Any? =
      switch Value.self {
      case is Int.Type: ResultColumn<Int>.integers
      case is Int?.Type: ResultColumn<Int?>.optional { $0.integer($1).map { Int($0) } }
      case is String.Type: ResultColumn<String>.strings
      case is String?.Type: ResultColumn<String?>.optional { try $0.text($1) }
      case is Double.Type: ResultColumn<Double>.doubles
      case is Double?.Type: ResultColumn<Double?>.optional { $0.number($1) }
      case is Date.Type: ResultColumn<Date>.dates
      case is Date?.Type:
        ResultColumn<Date?>.optional { $0.number($1).map { Date(timeIntervalSinceReferenceDate: $0) } }
      default: nil
      }
    return column as? ResultColumn
  }
}

extension ResultColumn where Value: AttributeValue {
  /// Creates a column of optionals. `row` reads the values other than nil.
  @inline(__always) fileprivate static func optional<Wrapped: AttributeValue & Sendable>(
    _ row: @escaping (_ row: borrowing TakenRow, _ index: Int) throws -> Wrapped?
  ) -> ResultColumn where Value == Wrapped? {
    let make = {
      ResultColumn(
        placeholder: { nil },
        row: { taken, index in
          if let value = try row(taken, index) { return .some(.some(value)) }
          return taken.isNull(index) ? .some(.none) : .none
        }, value: { Value(stored: $0) })
    }
    return make().sendable(make)
  }
}

extension ResultColumn<Int> {
  fileprivate static var integers: ResultColumn {
    ResultColumn(placeholder: { 0 }, row: { $0.integer($1).map { Int($0) } }, value: { Int(stored: $0) })
      .sendable { ResultColumn.integers }
  }
}

extension ResultColumn<String> {
  fileprivate static var strings: ResultColumn {
    ResultColumn(placeholder: { "" }, row: { try $0.text($1) }, value: { String(stored: $0) })
      .sendable { ResultColumn.strings }
  }
}

extension ResultColumn<Double> {
  fileprivate static var doubles: ResultColumn {
    ResultColumn(placeholder: { 0 }, row: { $0.number($1) }, value: { Double(stored: $0) })
      .sendable { ResultColumn.doubles }
  }
}

extension ResultColumn<Date> {
  fileprivate static var dates: ResultColumn {
    ResultColumn(
      placeholder: { .placeholder }, row: { $0.number($1).map { Date(timeIntervalSinceReferenceDate: $0) } },
      value: { Date(stored: $0) }
    ).sendable { ResultColumn.dates }
  }
}

// MARK: Optionals

extension Optional: ColumnValue where Wrapped: ColumnValue {
  /// Creates a column of optional values.
  public static func makeColumn(of origin: ColumnOrigin) -> ResultColumn<Wrapped?> {
    if let column = ResultColumn<Wrapped?>.common { return column }
    let inner = Wrapped.makeColumn(of: origin)
    return ResultColumn(
      placeholder: { nil },
      row: { row, index in
        if row.isNull(index) { return .some(.none) }
        return inner.convert(try row.value(index)).map { .some($0) }
      },
      value: { value in value.isNull ? .some(.none) : inner.convert(value).map { .some($0) } })
  }
}
