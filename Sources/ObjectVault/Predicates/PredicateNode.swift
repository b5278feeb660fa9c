// The tree that both front doors lead to: Foundation's #Predicate and the format language.
// What a node means is said here; how it becomes SQL, in PredicateCompiler.

public import CipherSQLite
private import Foundation

/// A condition on objects of one entity, as a tree.
///
/// Logic is two-valued, as Foundation's: every condition is true or false, and `not` turns one into the
/// other. `==` finds nil equal to nil only; every ordering or string comparison with nil is false.
///
/// A tree that is deeper than ``PredicateError/maximumDepth``, 32, is refused when it is used. Swift itself lets go
/// of a tree by recursion, and an enum has no say in that: a stack of 512 KiB bears two thousand levels. Whoever
/// builds trees of what others send counts the levels while building; a format and a `#Predicate` are bounded.
public indirect enum PredicateNode: Sendable, Hashable, Codable {
  /// Always true, or always false.
  case constant(Bool)
  /// All of them; true for none.
  case and([PredicateNode])
  /// Any of them; false for none.
  case or([PredicateNode])
  /// The opposite.
  case not(PredicateNode)
  /// Whether a Bool is true; an error for operands of other types.
  case truth(PredicateOperand)
  /// Two operands compared.
  case comparison(PredicateOperand, ComparisonOperator, PredicateOperand, StringOptions)
  /// Whether an operand is from the second to the third, both included.
  case between(PredicateOperand, PredicateOperand, PredicateOperand)
  /// Whether an operand equals one of a list.
  case isIn(PredicateOperand, [PredicateOperand], StringOptions)
  /// Whether a condition holds for any, all or no members of a to-many. In the condition, paths of the next
  /// depth begin at the member.
  case quantified(Quantifier, PropertyPath, PredicateNode)
}

/// How two operands are compared.
public enum ComparisonOperator: String, Sendable, Hashable, Codable, CaseIterable {
  /// Equal; nil equals nil only.
  case equal
  /// The opposite of ``equal``.
  case notEqual
  /// Less.
  case less
  /// Less or equal.
  case lessOrEqual
  /// Greater.
  case greater
  /// Greater or equal.
  case greaterOrEqual
  /// The left string contains the right one. An empty right side is contained in every string.
  case contains
  /// The left string begins with the right one.
  case beginsWith
  /// The left string ends with the right one.
  case endsWith
  /// The left string matches a pattern: `*` any run, `?` one code point, a backslash makes the next
  /// character literal.
  case like
}

/// For how many members a condition has to hold.
public enum Quantifier: String, Sendable, Hashable, Codable, CaseIterable {
  /// At least one; false over none.
  case any
  /// Every one; true over none.
  case all
  /// Not one; true over none.
  case none
}

/// Property names from an object on.
public struct PropertyPath: Sendable, Hashable, Codable {
  /// Where it begins: 0 is the object that is fetched, 1 the member of the quantifier around it, and so on.
  public var depth: Int
  /// The names; empty for the object itself, which stands for its id.
  public var names: [String]
  /// Where it stands in the text, counted in Unicode scalars; no part of what it means.
  var place: Int?

  /// A path.
  public init(depth: Int = 0, _ names: [String]) {
    self.depth = depth
    self.names = names
  }

  init(depth: Int = 0, _ names: [String], place: Int?) {
    self.init(depth: depth, names)
    self.place = place
  }

  private enum CodingKeys: CodingKey { case depth, names }

  /// Whether both lead the same way.
  public static func == (left: PropertyPath, right: PropertyPath) -> Bool {
    left.depth == right.depth && left.names == right.names
  }

  /// By the depth and the names.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(depth)
    hasher.combine(names)
  }
}

/// One side of a comparison.
public indirect enum PredicateOperand: Sendable, Hashable, Codable {
  /// A constant.
  case value(PredicateValue)
  /// A constant that is given later, by ``PredicateNode/substituting(_:)``: `$name` in the format language. A fetch
  /// takes no tree in which one is left.
  case variable(String)
  /// What a path leads to; nil behind a nil to-one.
  case path(PropertyPath)
  /// How many members a to-many has; nil behind a nil to-one.
  case count(PropertyPath)
  /// A calculation on two operands; nil when one of them is.
  case arithmetic(PredicateOperand, ArithmeticOperator, PredicateOperand)
  /// A function of operands, as many as it takes; nil when one of them is.
  case call(PredicateFunction, [PredicateOperand])
  /// The first operand, or the second where the first is nil.
  case coalesce(PredicateOperand, PredicateOperand)
}

/// A constant of a predicate.
public struct PredicateValue: Sendable, Hashable, Codable {
  /// The attribute type that the constant was made of; nil for nil.
  public var type: AttributeType?
  /// The stored form.
  public var stored: SQLValue
  /// nil for most: a constant is copied many times, and small without it.
  private var origin: Origin?

  /// A constant in stored form.
  public init(type: AttributeType?, stored: SQLValue) {
    self.type = type
    self.stored = stored
  }

  /// nil.
  public static let null = PredicateValue(type: nil, stored: .null)

  static func boolean(_ value: Bool) -> PredicateValue {
    PredicateValue(type: .bool, stored: .integer(value ? 1 : 0))
  }

  /// An object's id.
  /// - Parameters:
  ///   - rowID: The number.
  ///   - entity: The object's entity. Compared with objects of another one it is an error; without it, the
  ///     number is taken for whatever it is compared with.
  public static func id(_ rowID: Int64, of entity: String? = nil) -> PredicateValue {
    var value = PredicateValue(type: .int, stored: .integer(rowID))
    if entity != nil { value.origin = Origin(details: Details(entity: entity)) }
    return value
  }

  /// The id of an object, or of one that was an object, with what is known of it.
  static func id(
    _ rowID: Int64, of entity: String, owner: (any AnyObject & Sendable)? = nil, map: ObjectIdentifier? = nil,
    store: StoreMark = .unknown
  ) -> PredicateValue {
    var value = PredicateValue(type: .int, stored: .integer(rowID))
    // A temporary id is of a context, and refused as that of a new object.
    value.origin = Origin(
      details: Details(entity: entity, owner: owner, map: map, store: rowID < 0 ? .unknown : store))
    return value
  }

  /// A Swift value. A number that is NaN, which no attribute can hold, equals nothing and is neither less nor
  /// greater.
  /// - Throws: ``StoreError/predicate(_:)`` when it has no stored form.
  public init<Value: AttributeValue>(_ value: Value) throws {
    do {
      let stored = try value.stored()
      self.init(type: stored.isNull ? nil : Value.attributeType, stored: stored)
    } catch UnstorableValue.notANumber where Value.attributeType.isNumeric {
      self.init(type: Value.attributeType, stored: .real(.nan))
    } catch {
      throw StoreError.predicate(
        PredicateError("a value of \(Value.self) cannot be compared with anything: \(error)"))
    }
  }

  /// Whether both stand for the same.
  public static func == (left: PredicateValue, right: PredicateValue) -> Bool {
    left.type == right.type && left.stored == right.stored && left.entity == right.entity
      && left.owner === right.owner
  }

  /// By the type and the stored form.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(type)
    hasher.combine(stored)
  }
}

extension PredicateValue {
  /// What an object, an id, and a constant of a text have besides.
  private struct Details: Sendable {
    var entity: String?
    var owner: (any AnyObject & Sendable)?
    var map: ObjectIdentifier?
    var store = StoreMark.unknown
    var place: Int?
  }

  private final class Origin: Sendable {
    let details: Details

    init(details: Details) { self.details = details }
  }

  private var details: Details {
    get { origin?.details ?? Details() }
    set { origin = Origin(details: newValue) }
  }

  /// For an object's id: the entity it is of.
  public var entity: String? {
    get { origin?.details.entity }
    set { details.entity = newValue }
  }

  /// For an object: the entity of its store. The same entity of another store is another one.
  var owner: (any AnyObject & Sendable)? { origin?.details.owner }

  /// For an object that has no row yet: the map of its context, which gave it its id; no part of what it means.
  var map: ObjectIdentifier? { origin?.details.map }

  /// For an id: its store; no part of what it means there.
  var store: StoreMark { origin?.details.store ?? .unknown }

  /// Where it stands in the text, counted in Unicode scalars; no part of what it means.
  var place: Int? {
    get { origin?.details.place }
    set { if newValue != nil || origin != nil { details.place = newValue } }
  }
}

extension PredicateValue {
  private enum CodingKeys: CodingKey { case type, stored, entity }

  /// From what encoding gives.
  /// - Throws: `DecodingError` for another form.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      type: try container.decodeIfPresent(AttributeType.self, forKey: .type),
      stored: try container.decode(SQLValue.self, forKey: .stored))
    if let entity = try container.decodeIfPresent(String.self, forKey: .entity) { self.entity = entity }
  }

  /// The type, the stored form, and the entity of an id.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(type, forKey: .type)
    try container.encode(stored, forKey: .stored)
    try container.encodeIfPresent(entity, forKey: .entity)
  }
}
