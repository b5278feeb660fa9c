// Texts that stand for dates in the format language. The results of SQL and of the evaluation in memory
// are compared with Swift's own comparison of dates.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

final class Event: ManagedObject {
  @Attribute var number: Int
  @Attribute(.indexed) var at: Date
  @Attribute var end: Date?
}

@Suite struct DateTexts {
  /// Seconds since 1970. `midnight` is that of 2024-05-01, and the moments are around it and far from it.
  static let midnight = 1_714_521_600.0
  static let moments: [Double] = [
    midnight, midnight - 0.5, midnight + 0.25, midnight - 1, midnight + 1, midnight + 3600, midnight + 7200,
    midnight - 7200, midnight + 86_400, midnight - 86_400, 0, -1, -86_400, -62_135_596_800, 253_402_300_799,
  ]
  /// Each documented form, and the moment that it denotes.
  static let texts: [(text: String, seconds: Double)] = [
    ("2024-05-01", midnight), ("2024-05-01T00:00:00Z", midnight), ("2024-05-01T00:00Z", midnight),
    ("2024-05-01 01:00:00Z", midnight + 3600), ("2024-05-01T02:00:00+02:00", midnight),
    ("2024-04-30T22:00:00-02:00", midnight), ("2024-05-01T00:00:00.25Z", midnight + 0.25),
    ("2024-04-30T23:59:59.5Z", midnight - 0.5), ("2024-05-01T05:30+0530", midnight),
    ("2024-05-01T01:00+01", midnight), ("2024-05-02", midnight + 86_400), ("2024-02-29", 1_709_164_800),
    ("1970-01-01", 0), ("1969-12-31T23:59:59Z", -1), ("0001-01-01", -62_135_596_800),
    ("9999-12-31T23:59:59Z", 253_402_300_799), ("2000-02-29T12:00:00.125000000Z", 951_825_600.125),
  ]
  static let operators: [(word: String, holds: @Sendable (Date, Date) -> Bool)] = [
    ("==", { $0 == $1 }), ("!=", { $0 != $1 }), ("<", { $0 < $1 }), ("<=", { $0 <= $1 }),
    (">", { $0 > $1 }), (">=", { $0 >= $1 }),
  ]

  private static func filled() async throws -> TemporaryStore {
    let temporary = try await TemporaryStore(Schema { Entity(Event.self) })
    try await temporary.store.write { context in
      for (number, seconds) in moments.enumerated() {
        context.insert(Event.self) {
          $0.number = number
          $0.at = Date(timeIntervalSince1970: seconds)
          $0.end = number % 3 == 0 ? nil : Date(timeIntervalSince1970: seconds + 86_400)
        }
      }
    }
    return temporary
  }

  /// Compares the results of SQL, and the results for pending copies of the objects, with `holds`.
  private static func check(
    _ format: String, in store: Store, _ holds: (Event) -> Bool
  ) throws {
    try check(PredicateNode(format: format), in: store, holds)
  }

  private static func check(
    _ node: PredicateNode, in store: Store, _ holds: (Event) -> Bool
  ) throws {
    let context = store.makeContext()
    let all = try context.fetch(Event.self).sorted(by: \.number).all()
    let expected = all.filter(holds).map(\.number)
    #expect(try context.fetch(Event.self).where(node).all().map(\.number).sorted() == expected, "\(node)")
    let new = store.makeContext()
    for event in all {
      new.insert(Event.self) { ($0.number, $0.at, $0.end) = (event.number, event.at, event.end) }
    }
    let pending = try new.fetch(Event.self).where(node).all().filter(\.isInserted).map(\.number)
    #expect(pending.sorted() == expected, "pending: \(node)")
    new.rollback()
  }

  @Test func `each comparison accepts a date as text, on either side`() async throws {
    let temporary = try await Self.filled()
    for (text, seconds) in Self.texts {
      let date = Date(timeIntervalSince1970: seconds)
      for (word, holds) in Self.operators {
        try Self.check("at \(word) '\(text)'", in: temporary.store) { holds($0.at, date) }
      }
      try Self.check("'\(text)' < at", in: temporary.store) { date < $0.at }
      try Self.check("end > '\(text)'", in: temporary.store) { $0.end.map { $0 > date } ?? false }
      try Self.check("end != '\(text)'", in: temporary.store) { $0.end != date }
    }
  }

  @Test func `lists, ranges, replacements of nil and variables accept dates as text`() async throws {
    let temporary = try await Self.filled()
    let (first, second) = (
      Date(timeIntervalSince1970: Self.midnight), Date(timeIntervalSince1970: Self.midnight + 86_400)
    )
    try Self.check("at IN {'2024-05-01', '2024-05-02T00:00:00Z', nil}", in: temporary.store) {
      $0.at == first || $0.at == second
    }
    try Self.check("end IN {'2024-05-01', nil}", in: temporary.store) { $0.end == first || $0.end == nil }
    try Self.check("'2024-05-01' IN {at, end}", in: temporary.store) { $0.at == first || $0.end == first }
    try Self.check("at BETWEEN {'2024-05-01', '2024-05-02'}", in: temporary.store) {
      (first...second).contains($0.at)
    }
    let text = { PredicateOperand.value(PredicateValue(type: .string, stored: .text($0))) }
    let (at, end) = (
      PredicateOperand.path(PropertyPath(["at"])), PredicateOperand.path(PropertyPath(["end"]))
    )
    try Self.check(
      .comparison(.coalesce(end, text("2024-05-01")), .greaterOrEqual, text("2024-05-02"), []),
      in: temporary.store
    ) { ($0.end ?? first) >= second }
    try Self.check(.comparison(text("2024-05-01"), .equal, .coalesce(end, at), []), in: temporary.store) {
      ($0.end ?? $0.at) == first
    }
    let context = temporary.store.makeContext()
    let node = try PredicateNode(format: "at >= $from AND at IN $days").substituting([
      "from": "2024-05-01", "days": ["2024-05-01", "2024-05-02"],
    ])
    #expect(try context.fetch(Event.self).where(node).count() == 2)
    #expect(try context.fetch(Event.self).where("at > %@", "2024-05-01T01:00Z").count() == 3)
    // The index of the column is used.
    #expect(try context.fetch(Event.self).where("at > '2024-05-01'").sql.text.contains("\"at\" > ?"))
  }

  @Test func `a date that is cast to a text is Foundation's text, and that text is the date again`()
    async throws
  {
    let temporary = try await TemporaryStore(Schema { Entity(Event.self) })
    var random = SeededGenerator(seed: 11)
    let range = -62_135_596_800 * 8...253_402_300_799 * 8
    // Days around the ends of years and of February, and any moments, in eighths of a second: doubles have
    // these exactly.
    let days = [1, 1899, 1900, 1999, 2000, 2003, 2023, 2096].flatMap { year in
      [58, 59, 60, 364, 365].map { ((year - 1970) * 31_556_952 + $0 * 86_400) * 8 }
    }
    let moments = (days + (0..<150).map { _ in Int.random(in: range, using: &random) }).filter(range.contains)
    try await temporary.store.write { context in
      for (number, moment) in moments.enumerated() {
        context.insert(Event.self) {
          ($0.number, $0.at) = (number, Date(timeIntervalSince1970: Double(moment) / 8))
        }
      }
    }
    let context = temporary.store.makeContext()
    let events = context.fetch(Event.self)
    #expect(try events.where("CAST(CAST(at, 'String'), 'Date') == at").count() == moments.count)
    // Before 1582-10-15 Foundation's text is in the Julian calendar.
    for (number, moment) in moments.enumerated() where moment >= -12_219_292_800 * 8 {
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: moment % 8 != 0)
      let text = style.format(Date(timeIntervalSince1970: Double(moment) / 8))
      #expect(
        try events.where("number == %d AND CAST(at, 'String') == %@", number, text).count() == 1, "\(text)")
    }
  }

  @Test(arguments: [
    "", "yesterday", "2024", "2024-05", "2024-5-1", "2024-13-01", "2024-02-30", "2023-02-29", "2024-00-10",
    "2024-05-01T", "2024-05-01T12:00:00", "2024-05-01T24:00:00Z", "2024-05-01T12:60Z", "2024-05-01T12:00:60Z",
    "2024-05-01T12Z", "2024-05-01T12:00:00.Z", "2024-05-01T12:00Z ", " 2024-05-01", "2024-05-01T12:00+24:00",
    "2024-05-01T12:00+01:60", "2024-05-01Z", "01.05.2024", "２０２４-05-01", "20240501", "0000-01-01",
    "-2024-05-01",
  ])
  func `a text that is no date is an error that shows a valid date`(_ text: String) async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    for format in [
      "at > '\(text)'", "at IN {'2024-05-01', '\(text)'}", "at BETWEEN {'2024-05-01', '\(text)'}",
    ] {
      #expect("\(format)") {
        _ = try context.fetch(Event.self).where(format).count()
      } throws: { error in
        guard case StoreError.predicate(let error) = error else { return false }
        return error.reason.contains("is not a date, but Event.at is one")
          && error.reason.contains("2024-05-01T18:30:00Z")
          && error.position
            == format.distance(
              from: format.startIndex, to: format.range(of: "'\(text)'")?.lowerBound ?? format.startIndex)
      }
    }
    #expect(throws: StoreError.self) { try context.fetch(Event.self).where("at CONTAINS '2024'").count() }
    #expect(throws: StoreError.self) { try context.fetch(Event.self).where("number > '2024-05-01'").count() }
  }
}
