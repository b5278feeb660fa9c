// The tree that Foundation's #Predicate and the format language are converted to. The meaning of each
// node is documented here; PredicateCompiler converts the tree to SQL.

public import CipherSQLite
private import Foundation

/// A condition on objects of one entity, as a tree.
///
/// Logic is two-valued, as Foundation's: every condition is true or false, and `not` inverts it. `==`
/// finds nil equal to nil only; every ordering or string comparison with nil is false.
///
/// A tree that is deeper than ``PredicateError/maximumDepth``, 32, is rejected when it is used. Swift
/// destroys a tree by recursion, which an enum cannot prevent: a stack of 512 KiB is enough for two
/// thousand levels. Code that builds trees from untrusted input must limit the depth while it builds; the
/// depth of a format and of a `#Predicate` is limited already.
public indirect enum PredicateNode: Sendable, Hashable, Codable {
  /// Always true, or always false.
  case constant(Bool)
  /// True when all conditions are; true for none.
  case and([PredicateNode])
  /// True when any condition is; false for none.
  case or([PredicateNode])
  /// The opposite of a condition.
  case not(PredicateNode)
  /// Whether a Bool is true; an error for operands of other types.
  case truth(PredicateOperand)
  /// Whether a comparison of two operands is true.
  case comparison(PredicateOperand, ComparisonOperator, PredicateOperand, StringOptions)
  /// Whether the first operand is between the second and the third, or equal to one of them.
  case between(PredicateOperand, PredicateOperand, PredicateOperand)
  /// Whether an operand equals an element of a list.
  case isIn(PredicateOperand, [PredicateOperand], StringOptions)
  /// Whether a condition is true for any, all or no members of a to-many.
  ///
  /// In the condition, paths of the next depth begin at the member.
  case quantified(Quantifier, PropertyPath, PredicateNode)
}

/// An operator that compares two operands.
public enum ComparisonOperator: String, Sendable, Hashable, Codable, CaseIterable {
  /// Equal; nil equals nil only.
  case equal
  /// The opposite of ``equal``.
  case notEqual
  /// Less than.
  case less
  /// Less than or equal.
  case lessOrEqual
  /// Greater than.
  case greater
  /// Greater than or equal.
  case greaterOrEqual
  /// The left string contains the right one. Every string contains the empty string.
  case contains
  /// The left string begins with the right one.
  case beginsWith
  /// The left string ends with the right one.
  case endsWith
  /// The left string matches a pattern: `*` matches any run of characters, `?` any one code point, and a
  /// backslash makes the next character literal.
  case like
  /// The whole left string matches a regular expression: the right string, in the syntax of
  /// `NSRegularExpression`.
  ///
  /// A fetch whose match of one text takes longer than ``Store/Configuration/matchLimit`` throws
  /// ``StoreError/matchTooSlow(seconds:)``.
  case matches
}

/// The number of members for which a condition must be true.
public enum Quantifier: String, Sendable, Hashable, Codable, CaseIterable {
  /// At least one; false for no members.
  case any
  /// Every one; true for no members.
  case all
  /// None; true for no members.
  case none
}

/// A path of property names that begins at an object.
public struct PropertyPath: Sendable, Hashable, Codable {
  /// The object at which the path begins: 0 is the fetched object, 1 the member of the surrounding
  /// quantifier, and so on.
  public var depth: Int
  /// The property names; empty for the object itself, which is compared by its id.
  ///
  /// A name may also be an element of an ordered to-many, counted from 0, `chapters[0]` or
  /// `chapters[last]`, which is nil where there is none; and `(Employee)`, the object as one of a child
  /// entity, which is nil for an object of another entity.
  ///
  /// A path into a JSON attribute continues with the keys in the JSON and ends with the type of the part:
  /// `settings`, `theme`, `as string`. Without the type, it is that of the operand on the other side.
  public var names: [String]
  /// The position in the text, counted in Unicode scalars; not part of the meaning.
  var place: Int?

  /// Creates a path.
  /// - Parameters:
  ///   - depth: The object at which the path begins; see `depth`.
  ///   - names: The property names.
  public init(depth: Int = 0, _ names: [String]) {
    self.depth = depth
    self.names = names
  }

  init(depth: Int = 0, _ names: [String], place: Int?) {
    self.init(depth: depth, names)
    self.place = place
  }

  private enum CodingKeys: CodingKey { case depth, names }

  /// Returns whether both paths have the same depth and names.
  public static func == (left: PropertyPath, right: PropertyPath) -> Bool {
    left.depth == right.depth && left.names == right.names
  }

  /// Hashes the depth and the names.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(depth)
    hasher.combine(names)
  }
}

/// An operand of a comparison, a calculation or a function.
public indirect enum PredicateOperand: Sendable, Hashable, Codable {
  /// A constant.
  case value(PredicateValue)
  /// A constant that ``PredicateNode/substituting(_:)`` sets later: `$name` in the format language.
  ///
  /// A fetch rejects a tree that still has a variable.
  case variable(String)
  /// The value at the end of a path; nil after a nil to-one.
  case path(PropertyPath)
  /// The number of members of a to-many; nil after a nil to-one. The members of several to-manys are
  /// counted together.
  case count(PropertyPath)
  /// A calculation with two operands; nil when an operand is nil.
  case arithmetic(PredicateOperand, ArithmeticOperator, PredicateOperand)
  /// A function call with as many operands as the function takes; nil when an operand is nil.
  case call(PredicateFunction, [PredicateOperand])
  /// The first operand, or the second when the first is nil.
  case coalesce(PredicateOperand, PredicateOperand)
  /// A function of the members of a to-many.
  case aggregate(MemberAggregate)
  /// A function of a list of numbers or dates.
  case list(CollectionFunction, [PredicateOperand])
  /// The first operand where the condition is true, otherwise the second.
  case conditional(PredicateNode, PredicateOperand, PredicateOperand)
  /// A value converted to another type: string, int, double, decimal or date; nil where that is not
  /// possible.
  case cast(PredicateOperand, AttributeType)
  /// The position of an id in a list of ids, counted from 0; nil for an id that is not in the list.
  case position(PredicateOperand, [Int64])
}

/// A function of the members of a to-many: `books.@sum.year`, and
/// `SUBQUERY(books, $b, $b.year > 1999).@count`.
public struct MemberAggregate: Sendable, Hashable, Codable {
  /// The function.
  public var function: CollectionFunction
  /// The path to the members. Several to-manys are flattened. After a nil to-one before the first to-many,
  /// the result is nil. What follows the last to-many, a to-one or an attribute, leads on to one object or
  /// value for each member.
  public var path: PropertyPath
  /// The names from the end of the path to the value; empty for a function of what is at the end.
  public var value: [String]
  /// Whether equal values count once.
  public var isDistinct: Bool
  /// The condition that must be true for a member to be counted. In it, paths of the next depth begin at
  /// the end of the path.
  public var condition: PredicateNode
  /// The order whose first member's value is the result, instead of a function of all values; nil for the
  /// function. Its path begins at the member.
  var order: SortKey?
  /// The number of members, in the order, whose values are listed as the result: a text with commas; nil for
  /// the value of the first member alone.
  var listed: Int?

  /// Creates a function of members.
  /// - Parameters:
  ///   - function: The function.
  ///   - path: The path to the members; see `path`.
  ///   - value: The names from the end of the path to the value.
  ///   - isDistinct: Whether equal values count once.
  ///   - condition: The condition for members; by default all members are counted.
  public init(
    _ function: CollectionFunction, of path: PropertyPath, value: [String] = [], isDistinct: Bool = false,
    where condition: PredicateNode = .constant(true)
  ) {
    (self.function, self.path, self.value) = (function, path, value)
    (self.isDistinct, self.condition) = (isDistinct, condition)
  }
}

/// A constant of a predicate.
public struct PredicateValue: Sendable, Hashable, Codable {
  /// The attribute type of the constant; nil for nil.
  public var type: AttributeType?
  /// The value in stored form.
  public var stored: SQLValue
  /// The details that few constants have, in a separate object: constants are copied often and should be
  /// small.
  private var origin: Origin?

  /// Creates a constant from its stored form.
  /// - Parameters:
  ///   - type: The attribute type; nil for nil.
  ///   - stored: The value in stored form.
  public init(type: AttributeType?, stored: SQLValue) {
    self.type = type
    self.stored = stored
  }

  /// The constant nil.
  public static let null = PredicateValue(type: nil, stored: .null)

  static func boolean(_ value: Bool) -> PredicateValue {
    PredicateValue(type: .bool, stored: .integer(value ? 1 : 0))
  }

  /// Returns the constant of an object's id.
  /// - Parameters:
  ///   - rowID: The id's number.
  ///   - entity: The object's entity. A comparison with objects of another entity is then an error; without
  ///     an entity the number may be compared with any id or number.
  /// - Returns: The constant.
  public static func id(_ rowID: Int64, of entity: String? = nil) -> PredicateValue {
    var value = PredicateValue(type: .int, stored: .integer(rowID))
    if entity != nil { value.origin = Origin(details: Details(entity: entity)) }
    return value
  }

  /// Returns the constant of an object's id, with the details that are known.
  static func id(
    _ rowID: Int64, of entity: String, owner: (any AnyObject & Sendable)? = nil, map: ObjectIdentifier? = nil,
    store: StoreFingerprint = .unknown
  ) -> PredicateValue {
    var value = PredicateValue(type: .int, stored: .integer(rowID))
    // A temporary id belongs to a context and not to a store. It is rejected as the id of a new object.
    value.origin = Origin(
      details: Details(entity: entity, owner: owner, map: map, store: rowID < 0 ? .unknown : store))
    return value
  }

  /// Creates a constant from a Swift value.
  ///
  /// NaN, which no attribute can have, equals nothing and is neither less nor greater.
  /// - Parameter value: The value.
  /// - Throws: ``StoreError/predicate(_:)`` when the value has no stored form.
  public init<Value: AttributeValue>(_ value: Value) throws {
    do {
      let stored = try value.stored()
      self.init(type: stored.isNull ? nil : Value.attributeType, stored: stored)
    } catch UnstorableValue.notANumber where Value.attributeType.isNumeric {
      self.init(type: Value.attributeType, stored: .real(.nan))
    } catch {
      throw StoreError.predicate(
        PredicateError("a value of \(Value.self) cannot be compared: \(error)"))
    }
  }

  /// Returns whether both constants have the same type, stored form and entity; and for objects, whether
  /// they belong to the same store.
  public static func == (left: PredicateValue, right: PredicateValue) -> Bool {
    // Texts by their bytes, as SQL compares them: Swift takes different spellings of a character as equal.
    if case .text(let a) = left.stored, case .text(let b) = right.stored, !a.utf8.elementsEqual(b.utf8) {
      return false
    }
    return left.type == right.type && left.stored == right.stored && left.entity == right.entity
      && left.owner === right.owner
  }

  /// Hashes the type and the stored form.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(type)
    hasher.combine(stored)
  }
}

extension PredicateValue {
  /// The details of a constant that is an object or an id, or is written in a format.
  private struct Details: Sendable {
    var entity: String?
    var owner: (any AnyObject & Sendable)?
    var map: ObjectIdentifier?
    var store = StoreFingerprint.unknown
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

  /// The entity of an object's id; nil for other constants.
  public var entity: String? {
    get { origin?.details.entity }
    set { details.entity = newValue }
  }

  /// The mapping of an object's entity in the object's store. Another store has another mapping for the
  /// entity of the same name.
  var owner: (any AnyObject & Sendable)? { origin?.details.owner }

  /// The identity map of the context that assigned the id of an object without a row; not part of the
  /// meaning.
  var map: ObjectIdentifier? { origin?.details.map }

  /// The store of an id; not compared by `==`.
  var store: StoreFingerprint { origin?.details.store ?? .unknown }

  /// The position in the text, counted in Unicode scalars; not part of the meaning.
  var place: Int? {
    get { origin?.details.place }
    set { if newValue != nil || origin != nil { details.place = newValue } }
  }
}

extension PredicateValue {
  private enum CodingKeys: CodingKey { case type, stored, entity }

  /// Decodes what `encode(to:)` writes.
  /// - Throws: `DecodingError` for another form.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      type: try container.decodeIfPresent(AttributeType.self, forKey: .type),
      stored: try container.decode(SQLValue.self, forKey: .stored))
    if let entity = try container.decodeIfPresent(String.self, forKey: .entity) { self.entity = entity }
  }

  /// Encodes the type, the stored form, and the entity of an id.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(type, forKey: .type)
    try container.encode(stored, forKey: .stored)
    try container.encodeIfPresent(entity, forKey: .entity)
  }
}
