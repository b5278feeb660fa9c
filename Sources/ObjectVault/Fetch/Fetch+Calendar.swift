// Groups of objects by the days, weeks, months and years of their dates.

internal import CipherSQLite
public import Foundation

extension Fetch {
  /// Returns aggregates of the objects whose dates are in the same day, week, month or year.
  ///
  /// ```swift
  /// let months = try context.fetch(Message.self)
  ///   .grouped(byStartOf: .month, of: \.sentAt, in: .current, .count)
  /// let counts = months.map { ($0.key, $0.values) }
  /// ```
  ///
  /// The groups are in ascending order. Periods without objects are not included. All rows are read: an
  /// index of the date does not serve.
  /// - Parameters:
  ///   - period: The kind of the period.
  ///   - path: The date.
  ///   - zone: The time zone in which the period begins.
  ///   - aggregate: The aggregates.
  ///   - condition: The condition that a group must satisfy to be returned; nil for all groups.
  /// - Returns: The groups, whose keys are the beginnings of the periods.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of `values(_:)`.
  public func grouped<each Value>(
    byStartOf period: CalendarPeriod, of path: KeyPath<Object, Date>, in zone: TimeZone = .gmt,
    _ aggregate: repeat Aggregate<Object, each Value>, having condition: GroupCondition<Object>? = nil
  ) throws -> [FetchGroup<Date, repeat each Value>] {
    let keys = Date.makeColumn(of: context.origin)
    let start = try PredicateOperand.start(of: period, with: path.valueNames, in: zone)
    return try groups(of: [start], keys: [keys], repeat each aggregate, having: condition) { index, stored in
      guard stored[0].isNull else { return keys.values.all[index] }
      throw StoreError.propertyMisused(
        entity: request.entityName, property: try path.valueNames.shownPath,
        reason: "has a date that is thousands of years away, which has no \(period.rawValue)")
    }
  }

  /// Returns aggregates of the objects whose dates are in the same day, week, month or year. Objects
  /// without a date are a group, whose key is nil, with those whose date is thousands of years away.
  /// - Parameters:
  ///   - period: The kind of the period.
  ///   - path: The date, which may be nil.
  ///   - zone: The time zone in which the period begins.
  ///   - aggregate: The aggregates.
  ///   - condition: The condition that a group must satisfy to be returned; nil for all groups.
  /// - Returns: The groups, whose keys are the beginnings of the periods.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of `values(_:)`.
  public func grouped<each Value>(
    byStartOf period: CalendarPeriod, of path: KeyPath<Object, Date?>, in zone: TimeZone = .gmt,
    _ aggregate: repeat Aggregate<Object, each Value>, having condition: GroupCondition<Object>? = nil
  ) throws -> [FetchGroup<Date?, repeat each Value>] {
    let keys = Date?.makeColumn(of: context.origin)
    let start = try PredicateOperand.start(of: period, with: path.valueNames, in: zone)
    return try groups(of: [start], keys: [keys], repeat each aggregate, having: condition) { index, _ in
      keys.values.all[index]
    }
  }
}

extension PredicateOperand {
  /// The beginning of the period with the date at the end of a path.
  fileprivate static func start(
    of period: CalendarPeriod, with names: [String], in zone: TimeZone
  ) -> PredicateOperand {
    let name = "\(period.rawValue) \(zone.identifier)"
    return .call(
      .periodStart,
      [.property(names), .value(PredicateValue(type: .string, stored: .text(name)))])
  }
}
