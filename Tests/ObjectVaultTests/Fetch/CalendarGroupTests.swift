// Groups by the days, weeks, months and years of a time zone.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Visit: ManagedObject {
  @Attribute var date: Date
  @Attribute var left: Date?
  @Attribute var pages: Int
}

@Suite struct CalendarGroups {
  private static let schema = Schema { Entity(Visit.self) }

  private static func date(_ text: String) throws -> Date {
    let zone = text.count > 19 ? "" : "Z"
    return try Date(text + zone, strategy: .iso8601)
  }

  private static func key(_ date: Date) -> String { date.formatted(.iso8601) }

  /// The beginning of the period in a zone, by its components and not by an interval.
  private static func start(of period: CalendarPeriod, _ date: Date, _ zone: TimeZone) -> Date? {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = zone
    let parts: Set<Calendar.Component> =
      switch period {
      case .day: [.year, .month, .day]
      case .week: [.yearForWeekOfYear, .weekOfYear]
      case .month: [.year, .month]
      case .year: [.year]
      }
    return calendar.date(from: calendar.dateComponents(parts, from: date))
  }

  @Test func `days begin at midnight of the time zone, also when the clock is changed`() async throws {
    let temporary = try await TemporaryStore(Self.schema)
    let context = temporary.store.makeContext()
    // In Berlin, the clock went forward on 31 March 2024 at 01:00 UTC.
    let texts = [
      "2024-03-30T22:59:59", "2024-03-30T23:00:00", "2024-03-31T21:59:59", "2024-03-31T22:00:00",
    ]
    for text in texts {
      let date = try Self.date(text)
      context.insert(Visit.self) { ($0.date, $0.pages) = (date, 1) }
    }
    let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
    for isSaved in [false, true] {
      if isSaved { try context.save() }
      let days = try context.fetch(Visit.self).grouped(byStartOf: .day, of: \.date, in: berlin, .count)
      #expect(
        days.map { "\(Self.key($0.key)) \($0.values)" } == [
          "2024-03-29T23:00:00Z 1", "2024-03-30T23:00:00Z 2", "2024-03-31T22:00:00Z 1",
        ])
      let utc = try context.fetch(Visit.self).grouped(byStartOf: .day, of: \.date, .count)
      #expect(
        utc.map { "\(Self.key($0.key)) \($0.values)" } == [
          "2024-03-30T00:00:00Z 2", "2024-03-31T00:00:00Z 2",
        ])
    }
  }

  @Test(arguments: CalendarPeriod.allCases)
  func `periods are those of the calendar, with saved, pending and missing dates`(_ period: CalendarPeriod)
    async throws
  {
    var random = SeededGenerator(seed: 4711)
    let temporary = try await TemporaryStore(Self.schema)
    let context = temporary.store.makeContext()
    var visits: [Visit] = []
    for number in 0..<300 {
      let date = Date(
        timeIntervalSinceReferenceDate: Double(Int.random(in: -3_000_000_000...3_000_000_000, using: &random))
      )
      let left = number % 5 == 0 ? nil : date
      visits.append(context.insert(Visit.self) { ($0.date, $0.left, $0.pages) = (date, left, number) })
      if number == 200 { try context.save() }
    }
    for name in ["GMT", "America/St_Johns", "Pacific/Apia", "Asia/Kathmandu"] {
      let zone = try #require(TimeZone(identifier: name))
      let expected = Dictionary(grouping: visits) { Self.start(of: period, $0.date, zone) }
      let found = try context.fetch(Visit.self)
        .grouped(byStartOf: period, of: \.date, in: zone, .count, .sum(\.pages))
      #expect(found.map(\.key) == expected.keys.compactMap(\.self).sorted(), "\(name)")
      for group in found {
        let members = try #require(expected[group.key])
        #expect(group.values.0 == members.count && group.values.1 == members.map(\.pages).reduce(0, +))
      }
      let some = try context.fetch(Visit.self).grouped(byStartOf: period, of: \.left, in: zone, .count)
      #expect(some.first?.key == nil && some.first?.values == 60)
    }
  }

  @Test func `a date that is too far away is an error, or has no period`() async throws {
    let temporary = try await TemporaryStore(Self.schema)
    let context = temporary.store.makeContext()
    for seconds in [3e11, .infinity] {
      let date = Date(timeIntervalSinceReferenceDate: seconds)
      context.insert(Visit.self) { ($0.date, $0.left, $0.pages) = (date, date, 1) }
    }
    for isSaved in [false, true] {
      if isSaved { try context.save() }
      #expect(throws: StoreError.self) {
        try context.fetch(Visit.self).grouped(byStartOf: .day, of: \.date, .count)
      }
      let groups = try context.fetch(Visit.self).grouped(byStartOf: .day, of: \.left, .count)
      #expect(groups.count == 1 && groups[0].key == nil && groups[0].values == 2)
    }
  }

  @Test func `the format language has the function, and says what it needs`() async throws {
    let temporary = try await TemporaryStore(Self.schema)
    let context = temporary.store.makeContext()
    for text in ["2024-05-01T10:00:00", "2024-05-31T23:30:00", "2024-06-01T00:00:00"] {
      let date = try Self.date(text)
      context.insert(Visit.self) { ($0.date, $0.pages) = (date, 1) }
    }
    try context.save()
    let may = try Self.date("2024-05-01T00:00:00")
    #expect(try context.fetch(Visit.self).where("startOf:in:(date, 'month') == %@", may).count() == 2)
    #expect(
      try context.fetch(Visit.self).where("startOf:in:(date, 'month Asia/Tokyo') == %@", may).count() == 0)
    for format in [
      "startOf:in:(date, 'fortnight') == %@", "startOf:in:(date, 'day Atlantis') == %@",
      "startOf:in:(pages, 'day') == %@",
    ] {
      let error = #expect(throws: StoreError.self) {
        try context.fetch(Visit.self).where(format, may).count()
      }
      #expect(
        "\(error.map { "\($0)" } ?? "")".contains(
          format.contains("pages") ? "is not a date" : "'month Europe/Berlin'"))
    }
  }
}
