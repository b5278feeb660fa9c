// Lists of a program as constants. Where the type of a list determines the kind of its elements, one type
// check serves the whole list, which may have ten thousand elements.

/// An array or a set whose type determines the kind of its elements.
enum ConstantList {
  case attributes(any AttributeList)
  case objects(any ObjectList)

  /// Creates a list of constants; nil when the value is not a list, or its elements may have several
  /// types.
  init?(_ value: Any) {
    if let list = value as? any AttributeList {
      self = .attributes(list)
    } else if let list = value as? any ObjectList {
      self = .objects(list)
    } else {
      return nil
    }
  }

  /// Returns the elements as constants.
  /// - Throws: ``StoreError/predicate(_:)`` for a value without a stored form, and for an object of no
  ///   store.
  func constants() throws -> [PredicateValue] {
    switch self {
    case .attributes(let list): try list.attributeConstants()
    case .objects(let list): try list.objectConstants()
    }
  }

  /// Whether an element is an object without a row.
  var hasUnsaved: Bool {
    switch self {
    case .attributes: false
    case .objects(let list): list.hasUnsaved
    }
  }
}

/// A list of values that an attribute can have.
protocol AttributeList { func attributeConstants() throws -> [PredicateValue] }

extension AttributeList where Self: Collection, Element: AttributeValue {
  func attributeConstants() throws -> [PredicateValue] { try map { try PredicateValue($0) } }
}

extension Array: AttributeList where Element: AttributeValue {}
extension Set: AttributeList where Element: AttributeValue {}

/// A list of objects or of their ids.
protocol ObjectList {
  func objectConstants() throws -> [PredicateValue]
  var hasUnsaved: Bool { get }
}

extension ObjectList where Self: Collection, Element: PredicateObject {
  func objectConstants() throws -> [PredicateValue] { try Element.predicateValues(self) }
  var hasUnsaved: Bool { contains { $0.isNew } }
}

extension Array: ObjectList where Element: PredicateObject {}
extension Set: ObjectList where Element: PredicateObject {}
