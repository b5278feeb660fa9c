// What a fetch selects instead of objects: values of properties, and aggregates of groups.

internal import CipherSQLite

/// The columns of a fetch for values, and the groups over which aggregates are computed.
struct ColumnSelection: Sendable, Hashable {
  var columns: [Column]
  /// The values that distinguish the groups; empty for one group of all rows.
  var grouping: [PredicateOperand] = []
  /// The condition that a group must satisfy.
  var having: GroupFilter?
  /// Whether equal rows are returned once.
  var isDistinct = false

  /// Whether the rows of the result are groups.
  var isGrouped: Bool { columns.contains { if case .aggregate = $0 { true } else { false } } }

  /// The aggregates that are selected or that the condition compares, each once.
  var aggregates: [AggregateColumn] {
    var found: [AggregateColumn] = []
    for column in columns {
      if case .aggregate(let aggregate) = column, !found.contains(aggregate) { found.append(aggregate) }
    }
    for aggregate in having?.aggregates ?? [] where !found.contains(aggregate) { found.append(aggregate) }
    return found
  }

  /// The values of one row from which the result can be computed: those of the columns; for groups, those
  /// of `grouping` and then one for each aggregate.
  var values: [PredicateOperand] {
    isGrouped ? grouping + aggregates.map { $0.value ?? .objectID } : columns.compactMap(\.value)
  }

  /// Returns whether no path ends at a relationship: the value of a to-one is the id of its object.
  func isByValue(of entity: EntityMapping) -> Bool {
    (grouping + columns.compactMap(\.value)).allSatisfy { !entity.endsAtRelationship($0) }
  }

  /// Returns the selection with the ids of to-ones instead of the to-ones.
  func byValue(of entity: EntityMapping) -> ColumnSelection {
    var copy = self
    copy.grouping = grouping.map(entity.byValue)
    copy.columns = columns.map { column in
      switch column {
      case .value(let value): .value(entity.byValue(value))
      case .aggregate(let aggregate):
        .aggregate(
          AggregateColumn(function: aggregate.function, value: aggregate.value.map(entity.byValue)))
      }
    }
    return copy
  }

  /// A column of the result.
  enum Column: Sendable, Hashable {
    case value(PredicateOperand)
    case aggregate(AggregateColumn)

    /// The value that is selected, or of which an aggregate is.
    var value: PredicateOperand? {
      switch self {
      case .value(let value): value
      case .aggregate(let aggregate): aggregate.value
      }
    }
  }
}

/// An aggregate function of a value of each row.
struct AggregateColumn: Sendable, Hashable {
  enum Function: Sendable, Hashable {
    /// `total` is the sum as a real number, which does not overflow; of decimals it is the sum.
    case count, countDistinct, sum, total, average, minimum, maximum
  }
  let function: Function
  /// The value; nil to count rows.
  let value: PredicateOperand?
  /// What errors call the value: the path of the property, if it is one.
  var property: String { value?.pathText ?? "id" }
}

/// A condition on aggregates, which a group must satisfy. Two-valued, as predicates are: a comparison
/// with nil is false, except that nil equals nil.
indirect enum GroupFilter: Sendable, Hashable {
  /// Whether a comparison of an aggregate with a constant is true. The type is that of the aggregate's
  /// values.
  case comparison(AggregateColumn, ComparisonOperator, AttributeType, SQLValue)
  case and(GroupFilter, GroupFilter)
  case or(GroupFilter, GroupFilter)
  case not(GroupFilter)

  /// The aggregates that the condition compares.
  var aggregates: [AggregateColumn] {
    switch self {
    case .comparison(let aggregate, _, _, _): [aggregate]
    case .and(let left, let right), .or(let left, let right): left.aggregates + right.aggregates
    case .not(let inner): inner.aggregates
    }
  }

  /// Returns whether the condition is true of a group.
  /// - Parameter value: Returns an aggregate of the group.
  func holds(_ value: (AggregateColumn) -> SQLValue) -> Bool {
    switch self {
    case .comparison(let aggregate, let comparison, let type, let constant):
      let found = value(aggregate)
      // The sum of no values is 0, as in the result.
      return comparison.entry.meaning.holds(
        for: aggregate.function == .sum && found.isNull ? .integer(0) : found, and: constant,
        order: PredicatePreparation.order(type, and: nil))
    case .and(let left, let right): return left.holds(value) && right.holds(value)
    case .or(let left, let right): return left.holds(value) || right.holds(value)
    case .not(let inner): return !inner.holds(value)
    }
  }
}

extension EntityMapping {
  /// Returns whether a value is an object: the end of a path whose last name is a to-one.
  func endsAtRelationship(_ value: PredicateOperand) -> Bool {
    guard let names = value.names else { return false }
    var entity = self
    for (index, name) in names.enumerated() {
      guard let slot = entity.slot(named: name), let relationship = entity.slots[slot].relationship else {
        return false
      }
      if index == names.count - 1 { return !relationship.isToMany }
      entity = relationship.destination
    }
    return false
  }

  /// Returns the attribute at the end of a path of to-ones; nil if the path does not end at one.
  func attribute(at names: [String]) -> AttributeDescription? {
    var entity = self
    for name in names.dropLast() {
      guard let slot = entity.slot(named: name), let relationship = entity.slots[slot].relationship else {
        return nil
      }
      entity = relationship.destination
    }
    return names.last.flatMap { entity.slot(named: $0) }.flatMap { entity.slots[$0].attribute }
  }

  /// Returns whether an index contains all of the values, so that they can be read without the rows.
  func isCovered(_ values: [PredicateOperand]) -> Bool {
    var slots: [Int] = []
    for value in values where value != .objectID {
      guard let names = value.names, let slot = names.first.flatMap({ slot(named: $0) }),
        names.count == 1 || self.slots[slot].relationship != nil && names.dropFirst() == ["id"]
      else { return false }
      slots.append(slot)
    }
    return isCovered(slots)
  }

  /// Returns a value as it is selected: for a to-one, the id of its object.
  func byValue(_ value: PredicateOperand) -> PredicateOperand {
    guard endsAtRelationship(value), let names = value.names else { return value }
    return .property(names + ["id"])
  }
}
