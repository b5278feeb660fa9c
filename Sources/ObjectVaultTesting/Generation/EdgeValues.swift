// Edge cases of each attribute type: limits, empty values, characters that have a meaning in SQL and
// shells.

public import CipherSQLite
internal import Foundation
public import ObjectVault

extension GeneratedObjects {
  /// Returns values of a type that are likely to reveal faults, in their stored form: limits, empty
  /// values, quotes, line ends, NUL, other scripts. The first one is a plain value.
  /// - Parameter type: The type of the attribute.
  public static func edgeValues(of type: AttributeType) -> [SQLValue] { type.edgeValues }
}

extension AttributeType {
  var edgeValues: [SQLValue] {
    switch self {
    case .bool: [.integer(1), .integer(0)]
    case .int, .int8, .int16, .int32, .uint8, .uint16, .uint32: integerEdges
    case .float:
      [
        .real(1.5), .real(0), .real(-1.5), .real(0.125), .real(Double(Float.greatestFiniteMagnitude)),
        .real(Double(Float.leastNonzeroMagnitude)),
      ]
    case .double:
      [
        .real(1.5), .real(0), .real(-1.5), .real(0.1), .real(.greatestFiniteMagnitude),
        .real(.leastNonzeroMagnitude), .real(0x1p53 + 2), .real(-.greatestFiniteMagnitude),
      ]
    case .date:
      [
        .real(700_000_000.25), .real(0), .real(-1.5), .real(Date.distantPast.timeIntervalSinceReferenceDate),
        .real(Date.distantFuture.timeIntervalSinceReferenceDate),
      ]
    case .decimal:
      [
        .text("12.5"), .text("0"), .text("-0.01"), .text("0.1"),
        .text("99999999999999999999999999999999999999"), .text("0.0000000000000000000000000000001"),
      ]
    case .string: Self.texts.map(SQLValue.text)
    case .data:
      [
        .blob(Data([1, 2, 3])), .blob(Data()), .blob(Data([0])), .blob(Data(0...255)),
        .blob(Data(repeating: 0xA5, count: 9_000)),
      ]
    case .uuid:
      [
        .text("5A3C8E0E-0000-4000-8000-1234567890AB"), .text("00000000-0000-0000-0000-000000000000"),
        .text("FFFFFFFF-FFFF-4FFF-8FFF-FFFFFFFFFFFF"),
      ]
    case .url:
      [
        .text("https://example.com/a"), .text("https://user@example.com:8080/a/b%20c?d=e&f=%27#g"),
        .text("file:///tmp/it's"), .text("mailto:ada@example.com"),
      ]
    case .json:
      [.text("{\"a\":1}"), .text("{}"), .text("[]"), .text("[1,\"zwei\",{\"drei\":[]}]"), .text("\"it's\"")]
    }
  }

  private var integerEdges: [SQLValue] {
    guard let range = traits.integerRange else { return [] }
    let all = [1, 0, -1, range.upperBound, range.lowerBound, 42, range.upperBound - 1]
    return all.filter(range.contains).map(SQLValue.integer)
  }

  private static let texts = [
    "Ada Lovelace", "", " ", "O'Brien \"x\" `y` [z]", "two\nlines\r\n\tand a tab", "nul\u{0}inside",
    "Grüße, 北京, עברית", "🏳️‍🌈 e\u{301}\u{e9}", "100% of_it; DROP TABLE x --", "NULL", "0012.50", "a",
    String(repeating: "long text, ", count: 800),
  ]

  /// Returns values of the type for a number, which differ from the values for every other number; empty
  /// when the type has no more values.
  func distinctValues(_ number: Int) -> [SQLValue] {
    guard self == .string else { return distinctValue(number).map { [$0] } ?? [] }
    // A rule may accept one of these and reject the others.
    return ["text \(number)", "\(number)", "t\(number)", "t\(number)@example.com"].map(SQLValue.text)
  }

  private func distinctValue(_ number: Int) -> SQLValue? {
    if let range = traits.integerRange {
      // From 100 up to the upper bound, and then from 99 down: the small numbers and the limits are edge
      // cases already.
      let (whole, overflow) = Int64(number).addingReportingOverflow(min(100, range.upperBound))
      if !overflow, range.contains(whole) { return .integer(whole) }
      let back = Int64(number) &- (range.upperBound &- min(100, range.upperBound)) &- 1
      let low = min(100, range.upperBound) &- 1 &- back
      return back >= 0 && range.contains(low) ? .integer(low) : nil
    }
    switch self {
    case .float, .double: return .real(Double(number) + 1_000.5)
    case .date: return .real(600_000_000 + Double(number) * 86_400)
    case .decimal: return .text("\(number + 1_000).25")
    case .data: return .blob(Data("data \(number)".utf8))
    case .uuid:
      let digits = String(number, radix: 16, uppercase: true)
      let end = String(repeating: "0", count: max(0, 12 - digits.count)) + digits
      return .text("11111111-2222-4333-8444-\(end.suffix(12))")
    case .url: return .text("https://example.com/\(number)")
    case .json: return .text("{\"number\":\(number)}")
    case .bool, .int, .int8, .int16, .int32, .uint8, .uint16, .uint32, .string: return nil
    }
  }
}
