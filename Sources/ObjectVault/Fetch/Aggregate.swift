// Aggregates of groups, and conditions on them.

internal import CipherSQLite
public import Foundation

/// The type of an attribute whose values can be added.
public protocol SummableValue: AttributeValue {
  /// The type of a sum: `Int` for integers of any size, `Double` for real numbers, `Decimal` for decimals.
  associatedtype Sum: AttributeValue & Comparable
  /// The type of an average: `Decimal` for decimals, `Double` for all others.
  associatedtype Average: AttributeValue & Comparable
}

extension SummableValue where Self: FixedWidthInteger {
  /// Sums of integers are `Int`.
  public typealias Sum = Int
  /// Averages of integers are `Double`.
  public typealias Average = Double
}

extension SummableValue where Self: BinaryFloatingPoint {
  /// Sums of real numbers are `Double`.
  public typealias Sum = Double
  /// Averages of real numbers are `Double`.
  public typealias Average = Double
}

extension Int: SummableValue {}
extension Int8: SummableValue {}
extension Int16: SummableValue {}
extension Int32: SummableValue {}
extension Int64: SummableValue {}
extension UInt8: SummableValue {}
extension UInt16: SummableValue {}
extension UInt32: SummableValue {}
extension Double: SummableValue {}
extension Float: SummableValue {}

extension Decimal: SummableValue {
  /// Sums of decimals are decimals.
  public typealias Sum = Decimal
  /// Averages of decimals are decimals, rounded to 38 digits.
  public typealias Average = Decimal
}

/// An aggregate of the objects of a group, such as their number or the sum of an attribute.
///
/// ```swift
/// let kinds = try context.fetch(Item.self)
///   .grouped(by: \.kind, .count, .sum(\.bytes), having: .count > 1)
/// ```
///
/// A key path may go through to-ones. nil is no value: it is not counted, not added, and neither a
/// minimum nor a maximum. `Value` is the type of the result.
///
/// Swift 6.3 does not infer the class of a key path with `?` here: write `.sum(\Item.owner?.age)`.
public struct Aggregate<Object: ManagedObject, Value> {
  /// The function and the property; an error for a key path that is not a property.
  let column: Result<AggregateColumn, StoreError>
  /// Returns the result from its stored form; nil if it is not a `Value`.
  let read: (SQLValue) -> Value?

  private init(
    _ function: AggregateColumn.Function, of names: Result<[String], StoreError>,
    read: @escaping (SQLValue) -> Value?
  ) {
    column = names.map { AggregateColumn(function: function, value: .property($0)) }
    self.read = read
  }

  fileprivate init(
    _ function: AggregateColumn.Function, _ path: PartialKeyPath<Object>, read: @escaping (SQLValue) -> Value?
  ) {
    self.init(function, of: Result { () throws(StoreError) in try path.valueNames }, read: read)
  }

  fileprivate init(
    _ function: AggregateColumn.Function, path: String, read: @escaping (SQLValue) -> Value?
  ) {
    self.init(function, of: .success(path.pathNames), read: read)
  }
}

extension Aggregate where Value == Int {
  /// The number of objects.
  public static var count: Aggregate {
    Aggregate(counting: AggregateColumn(function: .count, value: nil))
  }

  private init(counting column: AggregateColumn) {
    self.column = .success(column)
    read = { Int(stored: $0) }
  }

  /// The number of objects whose property is not nil.
  /// - Parameter path: The attribute, or the id of a to-one's object.
  public static func count(_ path: PartialKeyPath<Object>) -> Aggregate {
    Aggregate(.count, path) { Int(stored: $0) }
  }

  /// The number of different values of a property, without nil.
  /// - Parameter path: The attribute, or the id of a to-one's object.
  public static func countDistinct(_ path: PartialKeyPath<Object>) -> Aggregate {
    Aggregate(.countDistinct, path) { Int(stored: $0) }
  }

  /// The number of objects whose property, named by a text, is not nil.
  /// - Parameter path: The property, or a path through to-ones such as `user.name`.
  public static func count(path: String) -> Aggregate { Aggregate(.count, path: path) { Int(stored: $0) } }

  /// The number of different values of a property that is named by a text, without nil.
  /// - Parameter path: The property, or a path through to-ones such as `user.name`.
  public static func countDistinct(path: String) -> Aggregate {
    Aggregate(.countDistinct, path: path) { Int(stored: $0) }
  }
}

extension Aggregate {
  /// The sum of an attribute; 0 without values.
  ///
  /// Sums of integers and decimals are exact; a sum beyond 64 bits or 38 digits is
  /// ``StoreError/sumTooLarge(entity:property:)``. The last digits of a sum of real numbers depend on the
  /// order in which they are added.
  /// - Parameter path: The attribute.
  public static func sum<Number: SummableValue>(_ path: KeyPath<Object, Number>) -> Aggregate
  where Value == Number.Sum { Aggregate(.sum, path) { $0.isNull ? Value.placeholder : Value(stored: $0) } }

  /// The sum of an attribute that may be nil; 0 without values. See the other `sum`.
  /// - Parameter path: The attribute.
  public static func sum<Number: SummableValue>(_ path: KeyPath<Object, Number?>) -> Aggregate
  where Value == Number.Sum { Aggregate(.sum, path) { $0.isNull ? Value.placeholder : Value(stored: $0) } }

  /// The sum of an attribute that is named by a text; 0 without values.
  /// - Parameters:
  ///   - path: The attribute, or a path through to-ones such as `user.age`.
  ///   - type: The type of the attribute.
  public static func sum<Number: SummableValue>(path: String, as type: Number.Type) -> Aggregate
  where Value == Number.Sum {
    Aggregate(.sum, path: path) { $0.isNull ? Value.placeholder : Value(stored: $0) }
  }

  /// The average of an attribute; nil without values.
  /// - Parameter path: The attribute.
  public static func average<Number: SummableValue>(_ path: KeyPath<Object, Number>) -> Aggregate
  where Value == Number.Average? { Aggregate(.average, path) { Value(stored: $0) } }

  /// The average of an attribute that may be nil; nil without values.
  /// - Parameter path: The attribute.
  public static func average<Number: SummableValue>(_ path: KeyPath<Object, Number?>) -> Aggregate
  where Value == Number.Average? { Aggregate(.average, path) { Value(stored: $0) } }

  /// The average of an attribute that is named by a text; nil without values.
  /// - Parameters:
  ///   - path: The attribute, or a path through to-ones such as `user.age`.
  ///   - type: The type of the attribute.
  public static func average<Number: SummableValue>(path: String, as type: Number.Type) -> Aggregate
  where Value == Number.Average? { Aggregate(.average, path: path) { Value(stored: $0) } }

  /// The least value of an attribute, in the order of `sorted(by:_:)`; nil without values.
  /// - Parameter path: The attribute.
  public static func minimum<Property: AttributeValue & Comparable>(_ path: KeyPath<Object, Property>)
    -> Aggregate
  where Value == Property? { Aggregate(.minimum, path) { Value(stored: $0) } }

  /// The least value of an attribute that may be nil; nil without values.
  /// - Parameter path: The attribute.
  public static func minimum<Property: AttributeValue & Comparable>(_ path: KeyPath<Object, Property?>)
    -> Aggregate
  where Value == Property? { Aggregate(.minimum, path) { Value(stored: $0) } }

  /// The least value of an attribute that is named by a text; nil without values.
  /// - Parameters:
  ///   - path: The attribute, or a path through to-ones such as `user.age`.
  ///   - type: The type of the attribute.
  public static func minimum<Property: AttributeValue & Comparable>(path: String, as type: Property.Type)
    -> Aggregate
  where Value == Property? { Aggregate(.minimum, path: path) { Value(stored: $0) } }

  /// The greatest value of an attribute, in the order of `sorted(by:_:)`; nil without values.
  /// - Parameter path: The attribute.
  public static func maximum<Property: AttributeValue & Comparable>(_ path: KeyPath<Object, Property>)
    -> Aggregate
  where Value == Property? { Aggregate(.maximum, path) { Value(stored: $0) } }

  /// The greatest value of an attribute that may be nil; nil without values.
  /// - Parameter path: The attribute.
  public static func maximum<Property: AttributeValue & Comparable>(_ path: KeyPath<Object, Property?>)
    -> Aggregate
  where Value == Property? { Aggregate(.maximum, path) { Value(stored: $0) } }

  /// The greatest value of an attribute that is named by a text; nil without values.
  /// - Parameters:
  ///   - path: The attribute, or a path through to-ones such as `user.age`.
  ///   - type: The type of the attribute.
  public static func maximum<Property: AttributeValue & Comparable>(path: String, as type: Property.Type)
    -> Aggregate
  where Value == Property? { Aggregate(.maximum, path: path) { Value(stored: $0) } }
}

// MARK: Conditions

/// A condition on the aggregates of a group: comparisons of an ``Aggregate`` with a value, combined by
/// `&&`, `||` and `!`.
///
/// ```swift
/// let large = try context.fetch(Item.self)
///   .grouped(by: \.kind, .count, having: .count > 10 && .sum(\.bytes) > 1000)
/// ```
///
/// A comparison of an aggregate that is nil is false, except that nil equals nil and differs from all
/// values.
public struct GroupCondition<Object: ManagedObject> {
  let filter: Result<GroupFilter, StoreError>

  /// Both conditions.
  public static func && (left: GroupCondition, right: GroupCondition) -> GroupCondition {
    GroupCondition(filter: left.filter.flatMap { left in right.filter.map { .and(left, $0) } })
  }

  /// One of the conditions, or both.
  public static func || (left: GroupCondition, right: GroupCondition) -> GroupCondition {
    GroupCondition(filter: left.filter.flatMap { left in right.filter.map { .or(left, $0) } })
  }

  /// The opposite of a condition.
  public static prefix func ! (condition: GroupCondition) -> GroupCondition {
    GroupCondition(filter: condition.filter.map { .not($0) })
  }
}

extension Aggregate where Value: AttributeValue {
  private func compared(_ comparison: ComparisonOperator, with value: Value) -> GroupCondition<Object> {
    GroupCondition(
      filter: column.flatMap { column in
        Result { () throws(StoreError) in
          do {
            return .comparison(column, comparison, Value.attributeType, try PredicateValue(value).stored)
          } catch let error as StoreError {
            throw error
          } catch {
            throw StoreError.predicate(PredicateError("\(error)"))
          }
        }
      })
  }

  /// Whether the aggregate equals a value.
  public static func == (aggregate: Aggregate, value: Value) -> GroupCondition<Object> {
    aggregate.compared(.equal, with: value)
  }
  /// Whether the aggregate differs from a value.
  public static func != (aggregate: Aggregate, value: Value) -> GroupCondition<Object> {
    aggregate.compared(.notEqual, with: value)
  }
  /// Whether the aggregate is less than a value.
  public static func < (aggregate: Aggregate, value: Value) -> GroupCondition<Object> {
    aggregate.compared(.less, with: value)
  }
  /// Whether the aggregate is at most a value.
  public static func <= (aggregate: Aggregate, value: Value) -> GroupCondition<Object> {
    aggregate.compared(.lessOrEqual, with: value)
  }
  /// Whether the aggregate is greater than a value.
  public static func > (aggregate: Aggregate, value: Value) -> GroupCondition<Object> {
    aggregate.compared(.greater, with: value)
  }
  /// Whether the aggregate is at least a value.
  public static func >= (aggregate: Aggregate, value: Value) -> GroupCondition<Object> {
    aggregate.compared(.greaterOrEqual, with: value)
  }
}
