// The types of the results of calculations and functions, for SQL and for evaluation in memory.

internal import CipherSQLite

extension AttributeType {
  /// Creates the result type of a function; nil when the function has the type of its operand.
  init?(_ kind: PredicateFunction.Kind?) {
    switch kind {
    case .text: self = .string
    case .integer: self = .int
    case .number: self = .double
    case .date: self = .date
    case nil: return nil
    }
  }

  /// Returns the type of a calculation with numbers of two types. A type is nil for the operand nil; the
  /// result then has the type of the other operand.
  static func common(_ a: AttributeType?, and b: AttributeType?) -> AttributeType? {
    guard let a, let b else { return a ?? b }
    if a.numberKind == .decimal || b.numberKind == .decimal { return .decimal }
    return a.isInteger && b.isInteger ? .int : .double
  }

  /// Returns the type of a function of values of a type. The type is nil for values that are all nil.
  static func result(of function: CollectionFunction, _ type: AttributeType?) -> AttributeType? {
    switch function {
    case .count: .int
    case .deviation: .double
    case .minimum, .maximum, .mode: type
    case .average, .median: type?.numberKind == .decimal ? .decimal : .double
    case .sum: common(type, and: type)
    }
  }

  /// Returns the conversions that make a value of a type one of another type, in order; nil where there
  /// are none.
  /// - Parameter source: The type of the value; nil for nil.
  func casts(from source: AttributeType?) -> [ValueCast]? {
    guard let source, source != self else { return [] }
    switch (source.traits.storage, source.traits.written, self) {
    case (.blob, _, _), (.text(.json), _, _): return nil
    case (_, .date?, .string): return [.dateText]
    case (_, _, .string): return [.text]
    case (.text(.uuid), _, _), (.text(.url), _, _): return nil
    case (_, _, .int): return [.integer]
    case (_, _, .double): return [.real]
    case (_, _, .decimal): return [.decimal]
    case (.text(.any), _, .date): return [.date]
    case (_, _, .date): return [.real]
    default: return nil
    }
  }

  /// The types that CAST converts to.
  static let castTypes: [AttributeType] = [.string, .int, .double, .decimal, .date]
}

extension CollectionFunction {
  /// Returns the result for no values of a type, in stored form.
  func overNothing(_ type: AttributeType?) -> SQLValue {
    guard isZeroOverNothing else { return .null }
    guard self == .sum else { return .integer(0) }
    return switch type?.numberKind {
    case .decimal: .text("0")
    case .real: .real(0)
    case .integer, nil: .integer(0)
    }
  }
}
