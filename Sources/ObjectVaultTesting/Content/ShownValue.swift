// Describes the change of a value in one sentence that makes the difference visible, also in the middle of
// a long text, and between texts that look alike.

internal import CipherSQLite
internal import Foundation

/// A value before and after, for a message.
struct ValueChange: CustomStringConvertible {
  /// The largest numbers of characters and bytes that are shown of a value.
  private static let (longestText, longestData) = (40, 8)

  let former: SQLValue
  let now: SQLValue

  /// The change, such as `"Ada" is now nil`.
  var description: String {
    switch (former, now) {
    case (.text(let former), .text(let now)):
      Self.texts(Array(former.unicodeScalars), now: Array(now.unicodeScalars))
    case (.blob(let former), .blob(let now)): Self.datas(Array(former), now: Array(now))
    default: "\(Self.shown(former)) is now \(Self.shown(now))"
    }
  }

  private static func shown(_ value: SQLValue) -> String {
    switch value {
    case .null: "nil"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text): quoted(Array(text.unicodeScalars), from: 0)
    case .blob(let data): bytes(Array(data), from: 0)
    }
  }

  /// Returns the position from which a value is shown: 0 if the first difference, at `place`, is then in
  /// the first half of what is shown; otherwise a position shortly before the difference.
  private static func start(_ place: Int, showing shown: Int) -> Int {
    place < shown / 2 ? 0 : place - shown / 4
  }

  private static func place<Part: Equatable>(where former: [Part], differsFrom now: [Part]) -> Int {
    zip(former, now).prefix { $0 == $1 }.count
  }

  private static func texts(_ former: [Unicode.Scalar], now: [Unicode.Scalar]) -> String {
    let place = place(where: former, differsFrom: now)
    let start = start(place, showing: longestText)
    let (was, found) = (quoted(former, from: start), quoted(now, from: start))
    // Texts that are canonically equivalent look alike and are equal in Swift, so their code points are
    // shown.
    let signs =
      text(former) == text(now)
      ? " (\(codes(former, place)) is now \(codes(now, place)))" : ""
    return "\(was) is now \(found)\(from(start, place: place, part: "character"))\(signs)"
  }

  private static func datas(_ former: [UInt8], now: [UInt8]) -> String {
    let place = place(where: former, differsFrom: now)
    let start = start(place, showing: longestData)
    return
      "\(bytes(former, from: start)) is now \(bytes(now, from: start))\(from(start, place: place, part: "byte"))"
  }

  private static func from(_ start: Int, place: Int, part: String) -> String {
    start == 0 ? "" : ", from \(part) \(place + 1) on"
  }

  private static func quoted(_ text: [Unicode.Scalar], from start: Int) -> String {
    // Line ends and NUL are escaped as in Swift, because a message has one line for each finding.
    let literal = String(reflecting: self.text(text.dropFirst(start).prefix(longestText)))
    let isCut = text.count > start + longestText
    return "\(start > 0 ? "…" : "")\(literal)\(isCut ? "…" : "")"
  }

  private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }

  private static func codes(_ text: [Unicode.Scalar], _ place: Int) -> String {
    let shown = text.dropFirst(place).prefix(3)
    return shown.isEmpty
      ? "nothing" : shown.map { "U+\(String($0.value, radix: 16, uppercase: true))" }.joined(separator: " ")
  }

  private static func bytes(_ data: [UInt8], from start: Int) -> String {
    let part = data.dropFirst(start).prefix(longestData).map {
      ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true)
    }
    guard !part.isEmpty else { return counted(data.count, "byte") }
    let isCut = data.count > start + longestData
    return
      "\(counted(data.count, "byte")) (\(start > 0 ? "…" : "")\(part.joined(separator: " "))\(isCut ? "…" : ""))"
  }
}
