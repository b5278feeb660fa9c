// What may fill a placeholder of the format language.

internal import CipherSQLite

/// A value for a placeholder of a predicate format: any ``AttributeValue``, an ``ObjectID``, a
/// ``ManagedObject``, nil, or an array of them.
public struct PredicateArgument: Sendable {
  enum Content: Sendable {
    case value(PredicateValue)
    case list([PredicateValue])
    case text(String)
  }
  let content: Content

  /// The value of whatever a caller gave.
  /// - Throws: ``StoreError/predicate(_:)`` when it can be no argument.
  init(_ value: Any?, number: Int) throws {
    guard let value else {
      content = .value(.null)
      return
    }
    if let list = value as? [Any] {
      content = .list(try list.map { try Self.constant($0, number) })
    } else if let text = value as? String {
      content = .text(text)
    } else if let set = value as? Set<AnyHashable> {
      content = .list(try set.map { try Self.constant($0.base, number) })
    } else {
      content = .value(try Self.constant(value, number))
    }
  }

  /// Whether it is an object that has no row yet, or a list with such a one.
  static func isNew(_ argument: Any?) -> Bool {
    switch argument {
    case let object as ManagedObject: object.rowID < 0
    case let list as [Any]: list.contains(where: isNew)
    case let set as Set<AnyHashable>: set.contains { isNew($0.base) }
    default: false
    }
  }

  private static func constant(_ value: Any, _ number: Int) throws -> PredicateValue {
    if let value = value as? any AttributeValue {
      do { return try PredicateValue(value) } catch StoreError.predicate(let error) {
        throw StoreError.predicate(PredicateError("argument \(number): \(error.reason)"))
      }
    }
    if let object = value as? ManagedObject {
      guard let entity = object.entity else {
        throw StoreError.predicate(
          PredicateError("argument \(number) is an object of \(type(of: object)) that belongs to no store"))
      }
      var constant = PredicateValue.id(object.rowID, of: entity.name)
      constant.owner = entity
      return constant
    }
    if let id = value as? any ObjectIdentifying { return id.constant }
    throw StoreError.predicate(
      PredicateError("argument \(number) is a \(type(of: value)), which no attribute can hold"))
  }
}

/// An ``ObjectID`` of any entity.
protocol ObjectIdentifying { var constant: PredicateValue { get } }
extension ObjectID: ObjectIdentifying {
  var constant: PredicateValue {
    var constant = PredicateValue.id(rowID, of: String(describing: Object.self))
    constant.store = store
    return constant
  }
}
