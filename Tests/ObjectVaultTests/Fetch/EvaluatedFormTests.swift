// Each form of predicate on each type. SQL and the evaluation in memory must find the same objects.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct EvaluatedForms {
  static let uuid = UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8") ?? UUID()

  static let forms: [(format: String, arguments: [any Sendable])] = [
    ("flag", []), ("NOT flag", []), ("flag == 0.5", []), ("flag < 1", []), ("int8 == 3", []),
    ("int8 >= 2.5 AND uint32 <= 4.5", []), ("int IN %@", [Array(0..<200)]), ("NOT int IN {1, 3.0, 4.5}", []),
    ("maybeInt IN {1, nil}", []), ("maybeInt == nil OR maybeInt > int8", []), ("maybeInt + 1 > int", []),
    ("int / 2 == 1", []), ("double / 2 == 1", []), ("float == 0.5", []), ("float < double", []),
    ("decimal < 0.3", []), ("decimal IN {0.1, 2}", []), ("decimal == double", []), ("decimal * 3 >= 0.3", []),
    ("maybeDecimal != 0.1", []), ("maybeDecimal BETWEEN {0, 1}", []), ("decimal > int", []),
    ("string == 'Straße'", []), ("string ==[c] 'STRASSE'", []), ("string BEGINSWITH[cd] 'str'", []),
    ("string ENDSWITH 'e'", []), ("string CONTAINS[c] 'SS'", []), ("string LIKE[c] '*ra??e'", []),
    ("string < 'b'", []), ("string IN %@", [(0..<200).map { "s\($0)" }]),
    ("string IN[c] {'STRASSE', 'é'}", []),
    ("maybeString == nil", []), ("maybeString != 'x'", []), ("maybeString CONTAINS 'x'", []),
    ("NOT maybeString CONTAINS 'x'", []), ("maybeString IN[c] {'X', nil}", []), ("string == maybeString", []),
    ("string CONTAINS maybeString", []), ("data == %@", [Data([1, 2])]), ("data != %@", [Data([1, 2])]),
    ("date < %@", [Date(timeIntervalSinceReferenceDate: 2)]), ("maybeDate >= date", []),
    ("maybeDate == nil", []),
    ("uuid == %@", [uuid]), ("string == %@", [uuid]), ("%@ == string", [uuid]),
    ("string != %@", [uuid]), ("uuid == '6ba7b810-9dad-11d1-80b4-00c04fd430c8'", []),
    ("uuid IN {'6ba7b810-9dad-11d1-80b4-00c04fd430c8'}", []),
    ("'6ba7b810-9dad-11d1-80b4-00c04fd430c8' IN {uuid, 'x'}", []),
    ("'6ba7b810-9dad-11d1-80b4-00c04fd430c8' == uuid", []), ("url == 'https://a.test/1'", []),
    ("url CONTAINS 'test/2'", []), ("mood == 'calm'", []), ("shelf >= 2", []), ("maybeMood == nil", []),
    ("SELF == %@", [ObjectID<Sample>(rowID: 2)]), ("id > 2", []), ("id IN {1, 3}", []), ("TRUEPREDICATE", []),
    ("FALSEPREDICATE OR int > 1", []),
    ("lowercase(string) == 'straße'", []), ("uppercase(maybeString) IN {'X', 'B'}", []),
    ("length(string) >= 2", []), ("abs(maybeInt - 4) <= 1", []), ("abs(decimal) == 3", []),
    ("abs(maybeDecimal) + length(url) > 20", []), ("length(lowercase(string)) == length(string)", []),
    ("int %% 2 == 1", []), ("int ** 2 == 16.0", []), ("0x5 == int", []), ("sqrt(int) > 1.5", []),
    ("ceiling(decimal) == 2 OR floor(double) == 0", []), ("trunc(decimal) == 0", []),
    ("max(int, maybeInt, double) > 4", []),
    ("min({decimal, maybeDecimal}) < 1", []), ("sum(int, decimal) == 3", []),
    ("count({maybeInt, maybeDecimal}) == 1", []),
    ("average(int, double) == 1.1", []), ("median({int, 2, 3}) == 3", []),
    ("mode(int, maybeInt, 9) == 9", []),
    ("stddev(int, 1) == 1", []), ("max(date, maybeDate) == maybeDate", []), ("sum({}) == 0", []),
    ("max({}) == nil", []),
    ("TERNARY(flag, int, double) > 1", []), ("TERNARY(flag, flag, maybeInt == 9) OR int == 1", []),
    ("TERNARY(int > 2, decimal, int) == 1", []), ("TERNARY(flag, date, '2001-01-01') == '2001-01-01'", []),
    ("TERNARY(flag, nil, string) == 'strasse'", []),
    ("TERNARY(int > 3, maybeString, string) CONTAINS[c] 'S'", []),
    ("CAST(int, 'String') == '3'", []), ("CAST(double, 'String') == '0.3'", []),
    ("CAST(decimal, 'NSNumber') == 0.25", []),
    ("CAST(date, 'NSNumber') > 1", []), ("CAST(int, 'Date') < date", []),
    ("CAST(date, 'String') BEGINSWITH '2001-01-01T00:00:02'", []),
    ("CAST(maybeString, 'Int') == nil", []), ("CAST('12.7', 'Int') == 12 AND int == 1", []),
    ("CAST(string, 'Decimal') == nil", []),
    ("CAST(double * 10, 'Int') == int", []), ("CAST(uuid, 'String') CONTAINS '-'", []),
    ("CAST(flag, 'String') == '1'", []),
    ("CAST('2001-01-02', 'Date') > date", []), ("canonical(string) == 'strasse'", []), ("now() > date", []),
    ("string MATCHES 'str.*'", []), ("string MATCHES[c] 'STR.*'", []), ("string MATCHES[cd] 'É'", []),
    ("maybeString MATCHES '.?'", []),
    ("string MATCHES maybeString", []), ("NOT url MATCHES '.*[12]'", []),
    ("string MATCHES 's|st|strasse'", []),
    ("add:to:(int, 1) == 3", []), ("from:subtract:(int, 1) == 2", []), ("multiply:by:(int, 2) == 4", []),
    ("divide:by:(int, 2) == 1", []), ("modulus:by:(int, 2) == 1", []), ("raise:toPower:(int, 3) == 8", []),
    ("ln(exp(int)) == 2", []),
    ("log(int) == nil", []), ("abs:(maybeInt - 4) <= 1", []), ("string LIKE[n] 's*'", []),
    ("0b11 == int OR 0o2 == int", []),
    ("2 ** 3 ** 2 == 512 AND int == 1", []), ("-2 ** 2 == -4 AND int == 1", []), ("int / 0 == nil", []),
    ("sqrt(0 - int) == nil", []),
    ("int > %@", [Double.infinity]), ("decimal < %@", [Double.infinity]),
    ("double != %@", [Double.nan]), ("int IN {}", []),
  ]

  @Test func `each form of predicate finds the same objects in memory as in SQL`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    for number in 0..<6 { Self.fill(context.insert(Sample.self), number) }
    try context.save()
    let all = try context.fetch(Sample.self).all()
    // Changed and changed back: the objects are pending, and equal their rows.
    for sample in all {
      let int = sample.int
      sample.int = int + 1
      sample.int = int
    }
    #expect(!all.contains { !$0.hasChanges })
    let reader = temporary.store.makeContext()
    for form in Self.forms {
      let node = try PredicateNode(format: form.format, arguments: form.arguments)
      let expected = try reader.fetch(Sample.self).where(node).ids().map(\.rowID).sorted()
      let found = try context.fetch(Sample.self).where(node).all().map(\.id.rowID).sorted()
      #expect(found == expected, "\(form.format)")
    }
    func compare<Value>(_ path: KeyPath<Sample, Value>) throws {
      for order in [SortOrder.forward, .reverse] {
        let expected = try reader.fetch(Sample.self).sorted(by: path, order).ids().map(\.rowID)
        #expect(
          try context.fetch(Sample.self).sorted(by: path, order).ids().map(\.rowID) == expected, "\(path)")
      }
    }
    try compare(\.flag)
    try compare(\.int8)
    try compare(\.double)
    try compare(\.decimal)
    try compare(\.string)
    try compare(\.data)
    try compare(\.date)
    try compare(\.uuid)
    try compare(\.url)
    try compare(\.mood)
    try compare(\.maybeInt)
    try compare(\.maybeString)
    try compare(\.maybeDate)
    try compare(\.maybeDecimal)
  }

  static func fill(_ sample: Sample, _ number: Int) {
    sample.flag = number % 2 == 0
    sample.int = number
    (sample.int8, sample.uint32) = (Int8(number), UInt32(number))
    (sample.int16, sample.int32, sample.int64) = (1, 2, 3)
    (sample.uint8, sample.uint16) = (1, 2)
    sample.float = Float(number) / 2
    sample.double = Double(number) / 10
    sample.decimal = [0.1, 2, -3, 100, 0.25, 1][number]
    sample.string = ["Straße", "strasse", "é", "e\u{301}", "b", "s7"][number]
    sample.data = [Data(), Data([1]), Data([1, 2]), Data([1, 2, 3]), Data([2]), Data([255])][number]
    sample.date = Date(timeIntervalSinceReferenceDate: Double(number) * 0.7)
    sample.uuid = number == 3 ? uuid : UUID()
    sample.url = URL(string: "https://a.test/\(number % 3)") ?? sample.url
    sample.mood = Mood.allCases[number % 3]
    sample.shelf = number > 2 ? .low : .high
    sample.maybeInt = [nil, 1, 5, nil, 2, 9][number]
    sample.maybeString = [nil, "x", "", "X", "b", nil][number]
    sample.maybeDate = number % 2 == 0 ? nil : Date(timeIntervalSinceReferenceDate: 2)
    sample.maybeMood = number % 2 == 0 ? .cross : nil
    sample.maybeDecimal = [nil, 0.1, 10, 9, nil, -1][number]
  }
}
