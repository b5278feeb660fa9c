// What can be wrong with a predicate, found before any SQL runs.

/// A predicate that cannot be understood or run.
public struct PredicateError: Error, Sendable, Hashable {
  /// What is wrong and what to write instead.
  public let reason: String
  /// The text of the format, where there is one.
  public let format: String?
  /// Where in the text, counted in characters from 0.
  public let position: Int?
  /// The entity it was to be run on, where that is known.
  public let entity: String?

  init(_ reason: String, format: String? = nil, position: Int? = nil, entity: String? = nil) {
    self.reason = reason
    self.format = format
    self.position = position
    self.entity = entity
  }

  /// The longest format, in UTF-8 bytes.
  public static let maximumFormatBytes = 65_536
  /// How deep brackets, negations and quantifiers may be nested.
  public static let maximumDepth = 200
  /// How many placeholders a format may have.
  public static let maximumArguments = 1_000
}

extension PredicateError: CustomStringConvertible {
  /// The reason; below it the text with a caret under the place.
  public var description: String {
    let head = "Predicate\(entity.map { " on \($0)" } ?? ""): \(reason)\(reason.hasSuffix("?") ? "" : ".")"
    guard let format, let position else { return head }
    return "\(head)\n  \(format)\n  \(String(repeating: " ", count: position))^"
  }
}

/// The names nearest to a mistyped one, for "did you mean".
func nearest(_ name: String, among names: some Sequence<String>) -> [String] {
  let limit = max(2, name.count / 3)
  return names.map { ($0, editDistance($0.lowercased(), name.lowercased())) }
    .filter { $0.1 <= limit || $0.0.lowercased().hasPrefix(name.lowercased()) }
    .sorted { $0.1 < $1.1 }.prefix(3).map(\.0)
}

/// Levenshtein's distance: how many characters have to be put in, taken out or replaced.
package func editDistance(_ left: String, _ right: String) -> Int {
  let (a, b) = (Array(left), Array(right))
  var row = Array(0...b.count)
  for (i, character) in a.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, other) in b.enumerated() {
      let cost = min(row[j + 1] + 1, row[j] + 1, diagonal + (character == other ? 0 : 1))
      diagonal = row[j + 1]
      row[j + 1] = cost
    }
  }
  return row[b.count]
}
