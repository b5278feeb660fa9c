// Aggregates of all objects of a fetch, and of groups of them.

internal import CipherSQLite

/// The aggregates of the objects that have the same key.
public struct FetchGroup<Key, each Value> {
  /// The value that the objects share: that of a property, or a tuple of several.
  public let key: Key
  /// The aggregates, in the order in which they were requested: one value, or a tuple of several.
  public let values: (repeat each Value)
}

extension FetchGroup: Sendable where Key: Sendable, repeat each Value: Sendable {}

extension Fetch {
  // MARK: Aggregates of all objects

  /// Returns the sum of an attribute; 0 if there are no values.
  ///
  /// A limited fetch adds the values of its objects. ``Aggregate/sum(_:)-(KeyPath<Object,Number>)``
  /// states what is exact.
  /// - Parameter path: The attribute.
  /// - Returns: The sum.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of `values(_:)`.
  public func sum<Number: SummableValue>(_ path: KeyPath<Object, Number>) throws -> Number.Sum {
    try single(.sum(path))
  }

  /// Returns the sum of an attribute that may be nil; 0 if there are no values.
  /// - Parameter path: The attribute.
  /// - Returns: The sum.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of `values(_:)`.
  public func sum<Number: SummableValue>(_ path: KeyPath<Object, Number?>) throws -> Number.Sum {
    try single(.sum(path))
  }

  /// Returns the average of an attribute; nil if there are no values.
  /// - Parameter path: The attribute.
  /// - Returns: The average.
  /// - Throws: The errors of `values(_:)`.
  public func average<Number: SummableValue>(_ path: KeyPath<Object, Number>) throws -> Number.Average? {
    try single(.average(path))
  }

  /// Returns the average of an attribute that may be nil; nil if there are no values.
  /// - Parameter path: The attribute.
  /// - Returns: The average.
  /// - Throws: The errors of `values(_:)`.
  public func average<Number: SummableValue>(_ path: KeyPath<Object, Number?>) throws -> Number.Average? {
    try single(.average(path))
  }

  /// Returns the least value of an attribute, in the order of `sorted(by:_:)`; nil if there are no
  /// values.
  /// - Parameter path: The attribute.
  /// - Returns: The value.
  /// - Throws: The errors of `values(_:)`.
  public func minimum<Value: AttributeValue & Comparable>(_ path: KeyPath<Object, Value>) throws -> Value? {
    try single(.minimum(path))
  }

  /// Returns the least value of an attribute that may be nil; nil if there are no values.
  /// - Parameter path: The attribute.
  /// - Returns: The value.
  /// - Throws: The errors of `values(_:)`.
  public func minimum<Value: AttributeValue & Comparable>(_ path: KeyPath<Object, Value?>) throws -> Value? {
    try single(.minimum(path))
  }

  /// Returns the greatest value of an attribute, in the order of `sorted(by:_:)`; nil if there are no
  /// values.
  /// - Parameter path: The attribute.
  /// - Returns: The value.
  /// - Throws: The errors of `values(_:)`.
  public func maximum<Value: AttributeValue & Comparable>(_ path: KeyPath<Object, Value>) throws -> Value? {
    try single(.maximum(path))
  }

  /// Returns the greatest value of an attribute that may be nil; nil if there are no values.
  /// - Parameter path: The attribute.
  /// - Returns: The value.
  /// - Throws: The errors of `values(_:)`.
  public func maximum<Value: AttributeValue & Comparable>(_ path: KeyPath<Object, Value?>) throws -> Value? {
    try single(.maximum(path))
  }

  /// Returns the number of different values of a property, without nil.
  /// - Parameter path: The attribute, or the id of a to-one's object.
  /// - Returns: The number.
  /// - Throws: The errors of `values(_:)`.
  public func countDistinct(_ path: PartialKeyPath<Object>) throws -> Int {
    try single(.countDistinct(path))
  }

  /// Returns several aggregates of all objects, by one query.
  ///
  /// ```swift
  /// let (count, bytes, newest) = try context.fetch(Item.self)
  ///   .aggregates(.count, .sum(\.bytes), .maximum(\.created))
  /// ```
  /// - Parameter aggregate: The aggregates.
  /// - Returns: The values: one, or a tuple of several.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of `values(_:)`.
  public func aggregates<each Value>(
    _ aggregate: repeat Aggregate<Object, each Value>
  ) throws -> (repeat each Value) {
    var columns: [AggregateColumn] = []
    for aggregate in repeat each aggregate { columns.append(try aggregate.column.get()) }
    let rows = try rows(ColumnSelection(columns: columns.map { .aggregate($0) }))
    var reader = AggregateReader(rows.first ?? [], columns, entity: request.entityName)
    return (repeat try reader.next(each aggregate))
  }

  private func single<Value>(_ aggregate: Aggregate<Object, Value>) throws -> Value {
    try aggregates(aggregate)
  }

  // MARK: Groups

  /// Returns the number of objects for each value of a property.
  ///
  /// ```swift
  /// let kinds: [String: Int] = try context.fetch(Item.self)
  ///   .counts(by: \.kind)
  /// ```
  /// - Parameter path: The property.
  /// - Returns: The numbers by value. Values without objects are not included.
  /// - Throws: The errors of `values(_:)`.
  public func counts<Key: ColumnValue & Hashable>(by path: KeyPath<Object, Key>) throws -> [Key: Int] {
    let groups = try grouped(by: path, .count)
    return Dictionary(groups.map { ($0.key, $0.values) }, uniquingKeysWith: +)
  }

  /// Returns the number of objects for each object of a to-one, by its id.
  ///
  /// ```swift
  /// let counts = try context.fetch(Message.self).counts(by: \.conversation)
  /// let ofNone = counts[nil] ?? 0
  /// ```
  /// - Parameter path: The to-one.
  /// - Returns: The numbers by the id of the object; nil for the objects without one.
  /// - Throws: The errors of `values(_:)`.
  public func counts<Target: ManagedObject>(
    by path: KeyPath<Object, Target?>
  ) throws -> [ObjectID<Target>?: Int] {
    let groups = try grouped(by: path, .count)
    return Dictionary(groups.map { ($0.key, $0.values) }, uniquingKeysWith: +)
  }

  /// Returns aggregates of the objects that have the same object of a to-one.
  /// - Parameters:
  ///   - path: The to-one.
  ///   - aggregate: The aggregates.
  ///   - condition: The condition that a group must satisfy to be returned; nil for all groups.
  /// - Returns: The groups, whose keys are the ids of the objects; nil for the objects without one.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of `values(_:)`.
  public func grouped<Target: ManagedObject, each Value>(
    by path: KeyPath<Object, Target?>, _ aggregate: repeat Aggregate<Object, each Value>,
    having condition: GroupCondition<Object>? = nil
  ) throws -> [FetchGroup<ObjectID<Target>?, repeat each Value>] {
    let keys = ObjectID<Target>?.makeColumn(of: context.origin)
    return try groups(
      of: [.property(path.valueNames)], keys: [keys], repeat each aggregate, having: condition
    ) {
      index, _ in
      keys.values.all[index]
    }
  }

  /// Returns aggregates of the objects that have the same value of a property.
  ///
  /// ```swift
  /// let groups = try context.fetch(Item.self)
  ///   .grouped(by: \.kind, .count, .sum(\.bytes))
  /// let bytes = groups.map { "\($0.key): \($0.values.0), \($0.values.1) bytes" }
  /// ```
  ///
  /// nil is a value: objects without one are a group. The groups are in ascending order of their keys, or
  /// in that of the fetch's sort, which may only name keys. A limit and an offset count groups.
  /// - Parameters:
  ///   - path: The property.
  ///   - aggregate: The aggregates.
  ///   - condition: The condition that a group must satisfy to be returned; nil for all groups.
  /// - Returns: The groups.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of `values(_:)`.
  public func grouped<Key: ColumnValue, each Value>(
    by path: KeyPath<Object, Key>, _ aggregate: repeat Aggregate<Object, each Value>,
    having condition: GroupCondition<Object>? = nil
  ) throws -> [FetchGroup<Key, repeat each Value>] {
    let keys = Key.makeColumn(of: context.origin)
    return try groups(
      of: [.property(path.valueNames)], keys: [keys], repeat each aggregate, having: condition
    ) {
      index, _ in
      keys.values.all[index]
    }
  }

  /// Returns aggregates of the objects that have the same values of two properties.
  /// - Parameters:
  ///   - first: The first property.
  ///   - second: The second property.
  ///   - aggregate: The aggregates.
  ///   - condition: The condition that a group must satisfy to be returned; nil for all groups.
  /// - Returns: The groups, whose keys are pairs of values.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of `values(_:)`.
  public func grouped<First: ColumnValue, Second: ColumnValue, each Value>(
    by first: KeyPath<Object, First>, _ second: KeyPath<Object, Second>,
    _ aggregate: repeat Aggregate<Object, each Value>, having condition: GroupCondition<Object>? = nil
  ) throws -> [FetchGroup<(First, Second), repeat each Value>] {
    let origin = context.origin
    let (one, two) = (First.makeColumn(of: origin), Second.makeColumn(of: origin))
    return try groups(
      of: [.property(first.valueNames), .property(second.valueNames)], keys: [one, two],
      repeat each aggregate,
      having: condition
    ) { index, _ in (one.values.all[index], two.values.all[index]) }
  }

  /// Returns aggregates of the objects that have the same values of three properties.
  /// - Parameters:
  ///   - first: The first property.
  ///   - second: The second property.
  ///   - third: The third property.
  ///   - aggregate: The aggregates.
  ///   - condition: The condition that a group must satisfy to be returned; nil for all groups.
  /// - Returns: The groups, whose keys are tuples of three values.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of `values(_:)`.
  public func grouped<First: ColumnValue, Second: ColumnValue, Third: ColumnValue, each Value>(
    by first: KeyPath<Object, First>, _ second: KeyPath<Object, Second>, _ third: KeyPath<Object, Third>,
    _ aggregate: repeat Aggregate<Object, each Value>, having condition: GroupCondition<Object>? = nil
  ) throws -> [FetchGroup<(First, Second, Third), repeat each Value>] {
    let origin = context.origin
    let (one, two) = (First.makeColumn(of: origin), Second.makeColumn(of: origin))
    let three = Third.makeColumn(of: origin)
    return try groups(
      of: [
        .property(first.valueNames), .property(second.valueNames), .property(third.valueNames),
      ], keys: [one, two, three],
      repeat each aggregate, having: condition
    ) { index, _ in (one.values.all[index], two.values.all[index], three.values.all[index]) }
  }

  /// Returns aggregates of the objects that have the same value of a property that is named by a text.
  ///
  /// ```swift
  /// let groups = try context.fetch(entity: "Item")
  ///   .grouped(
  ///     byPath: "kind", as: String.self,
  ///     .count, .sum(path: "bytes", as: Int.self))
  /// ```
  /// - Parameters:
  ///   - path: The property, or a path through to-ones.
  ///   - type: The type of the keys.
  ///   - aggregate: The aggregates.
  ///   - condition: The condition that a group must satisfy to be returned; nil for all groups.
  /// - Returns: The groups.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of `values(_:)`.
  public func grouped<Key: ColumnValue, each Value>(
    byPath path: String, as type: Key.Type, _ aggregate: repeat Aggregate<Object, each Value>,
    having condition: GroupCondition<Object>? = nil
  ) throws -> [FetchGroup<Key, repeat each Value>] {
    try check(path.pathNames, isReadAs: type)
    let keys = Key.makeColumn(of: context.origin)
    return try groups(of: [.property(path.pathNames)], keys: [keys], repeat each aggregate, having: condition)
    { index, _ in
      keys.values.all[index]
    }
  }

  // MARK: Implementation

  /// Checks that the values of a named attribute can be read as a type.
  private func check(_ names: [String], isReadAs type: (some ColumnValue).Type) throws {
    guard let type = type as? any AttributeValue.Type, let attribute = try known().attribute(at: names) else {
      return
    }
    guard attribute.type.reads(as: type.attributeType), !attribute.isOptional || type.isOptionalAttribute
    else {
      throw StoreError.propertyMisused(
        entity: request.entityName, property: names.shownPath,
        reason:
          "has the type \(attribute.type.rawValue)\(attribute.isOptional ? " and may be nil" : ""), but was "
          + "read as \(type)")
    }
  }

  func groups<Key, each Value>(
    of keyValues: [PredicateOperand], keys: [any CollectedColumn],
    _ aggregate: repeat Aggregate<Object, each Value>,
    having condition: GroupCondition<Object>?, key: (_ index: Int, _ stored: [SQLValue]) throws -> Key
  ) throws -> [FetchGroup<Key, repeat each Value>] {
    var aggregates: [AggregateColumn] = []
    for aggregate in repeat each aggregate { aggregates.append(try aggregate.column.get()) }
    // A selection without aggregates would not be one of groups.
    let columns = aggregates.isEmpty ? [AggregateColumn(function: .count, value: nil)] : aggregates
    let rows = try rows(
      ColumnSelection(
        columns: keyValues.map { .value($0) } + columns.map { .aggregate($0) }, grouping: keyValues,
        having: try condition?.filter.get()))
    var groups: [FetchGroup<Key, repeat each Value>] = []
    for (index, row) in rows.enumerated() {
      for (column, value) in zip(keys, row) { column.takeValue(value) }
      var reader = AggregateReader(row.dropFirst(keyValues.count), aggregates, entity: request.entityName)
      // Not by a local tuple of values, on which the compiler of Swift 6.3 crashes.
      groups.append(FetchGroup(key: try key(index, row), values: (repeat try reader.next(each aggregate))))
    }
    for (value, column) in zip(keyValues, keys) { if let path = value.names { note(path, column) } }
    return groups
  }

  /// Returns the rows of a selection of aggregates.
  func rows(_ selection: ColumnSelection) throws -> [[SQLValue]] {
    var rows = RowList(selection.columns.count)
    do { try run(selection, into: rows.collector) } catch SQLError.engine(_, _, "integer overflow", _) {
      // The engine fails as soon as a part of the values is beyond 64 bits, though the sum of all may not
      // be.
      rows = RowList(selection.columns.count)
      try run(selection, readsRows: true, into: rows.collector)
    }
    return rows.rows
  }
}

/// Reads the aggregates of one row, one after another.
private struct AggregateReader {
  private var values: ArraySlice<SQLValue>
  private var columns: ArraySlice<AggregateColumn>
  private let entity: String

  init(_ values: some Collection<SQLValue>, _ columns: [AggregateColumn], entity: String) {
    (self.values, self.columns, self.entity) = (Array(values)[...], columns[...], entity)
  }

  mutating func next<Object, Value>(_ aggregate: Aggregate<Object, Value>) throws -> Value {
    let (stored, column) = (values.popFirst() ?? .null, columns.popFirst())
    if let column, column.isTooLarge(stored) { throw column.tooLarge(entity) }
    if let value = aggregate.read(stored) { return value }
    throw StoreError.propertyMisused(
      entity: entity, property: column?.property ?? "id",
      reason: "has values that cannot be read as \(Value.self)")
  }
}
