// Lists of a program as constants. Where the type of a list says what its elements are, that is asked once, and not of each of
// ten thousand elements.

/// An array or a set whose type says what its elements are.
enum ConstantList {
  case attributes(any AttributeList)
  case objects(any ObjectList)

  /// nil for what is no list, and for a list of elements of several types.
  init?(_ value: Any) {
    if let list = value as? any AttributeList {
      self = .attributes(list)
    } else if let list = value as? any ObjectList {
      self = .objects(list)
    } else {
      return nil
    }
  }

  /// - Throws: ``StoreError/predicate(_:)`` for a value that has no stored form, and for an object of no store.
  func constants() throws -> [PredicateValue] {
    switch self {
    case .attributes(let list): try list.attributeConstants()
    case .objects(let list): try list.objectConstants()
    }
  }

  /// Whether one of them is an object that has no row yet.
  var hasNew: Bool {
    switch self {
    case .attributes: false
    case .objects(let list): list.hasNew
    }
  }
}

/// A list of values that an attribute can hold.
protocol AttributeList { func attributeConstants() throws -> [PredicateValue] }

extension AttributeList where Self: Collection, Element: AttributeValue {
  func attributeConstants() throws -> [PredicateValue] { try map { try PredicateValue($0) } }
}

extension Array: AttributeList where Element: AttributeValue {}
extension Set: AttributeList where Element: AttributeValue {}

/// A list of objects, or of their ids.
protocol ObjectList {
  func objectConstants() throws -> [PredicateValue]
  var hasNew: Bool { get }
}

extension ObjectList where Self: Collection, Element: PredicateObject {
  func objectConstants() throws -> [PredicateValue] { try Element.predicateValues(self) }
  var hasNew: Bool { contains { $0.isNew } }
}

extension Array: ObjectList where Element: PredicateObject {}
extension Set: ObjectList where Element: PredicateObject {}
