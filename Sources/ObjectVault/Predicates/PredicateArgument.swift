// The values of placeholders, variables and now() in the format language.

internal import CipherSQLite
private import Foundation

extension PredicateValue {
  /// The moment of the call, as a date.
  static var now: PredicateValue {
    PredicateValue(type: .date, stored: .real(Date().timeIntervalSinceReferenceDate))
  }
}

/// A value that predicates compare as an object of a store.
protocol PredicateObject {
  /// Returns the constant of the object's id.
  /// - Throws: ``StoreError/predicate(_:)`` when the object belongs to no store.
  func predicateValue() throws -> PredicateValue
  /// Whether the object has no row yet.
  var isNew: Bool { get }
  /// Returns the constants of many objects.
  static func predicateValues(_ objects: some Collection<Self>) throws -> [PredicateValue]
}

extension PredicateObject {
  static func predicateValues(_ objects: some Collection<Self>) throws -> [PredicateValue] {
    try objects.map { try $0.predicateValue() }
  }
}

/// An element of a list that may be nil.
private protocol OptionalArgument { var isNil: Bool { get } }
extension Optional: OptionalArgument { fileprivate var isNil: Bool { self == nil } }

/// A value for a placeholder or a variable of a predicate format: any ``AttributeValue``, an object or
/// its id, nil, or an array or a set of them.
struct PredicateArgument {
  enum Content {
    case value(PredicateValue)
    case list([PredicateValue])
    case text(String)
  }
  let content: Content

  /// Creates the argument of a constant.
  init(_ value: PredicateValue) { content = .value(value) }

  /// Creates an argument from a value of any type.
  /// - Parameter name: The name of the argument in errors, such as `argument 2` and `$limit`.
  /// - Throws: ``StoreError/predicate(_:)`` when the value cannot be an argument.
  init(_ value: Any?, named name: String) throws {
    guard let value else {
      content = .value(.null)
      return
    }
    if let list = ConstantList(value) {
      content = .list(try Self.naming(name) { try list.constants() })
    } else if let list = value as? [Any] {
      content = .list(try list.map { try Self.constant($0, name) })
    } else if let text = value as? String {
      content = .text(text)
    } else if let set = value as? Set<AnyHashable> {
      content = .list(try set.map { try Self.constant($0.base, name) })
    } else {
      content = .value(try Self.constant(value, name))
    }
  }

  /// Returns whether the argument is an object without a row, or a list with such an object.
  static func isNew(_ argument: Any?) -> Bool {
    if let list = argument.flatMap({ ConstantList($0) }) { return list.hasUnsaved }
    return switch argument {
    case let object as any PredicateObject: object.isNew
    case let list as [Any]: list.contains(where: isNew)
    case let set as Set<AnyHashable>: set.contains { isNew($0.base) }
    default: false
    }
  }

  private static func constant(_ value: Any, _ name: String) throws -> PredicateValue {
    let constant = try naming(name) { () -> PredicateValue? in
      if let value = value as? any AttributeValue { return try PredicateValue(value) }
      if let object = value as? any PredicateObject { return try object.predicateValue() }
      return (value as? any OptionalArgument)?.isNil == true ? .null : nil
    }
    if let constant { return constant }
    throw StoreError.predicate(
      PredicateError("\(name) is a \(type(of: value)), which is not an attribute type"))
  }

  /// Adds the name of the argument to errors.
  private static func naming<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch StoreError.predicate(let error) {
      throw StoreError.predicate(PredicateError("\(name): \(error.reason)"))
    }
  }
}
