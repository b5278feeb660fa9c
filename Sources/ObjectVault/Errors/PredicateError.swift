// Errors in predicates, found before any SQL runs. The limits are in PredicateLimits.

/// A predicate that cannot be parsed or run.
public struct PredicateError: Error, Sendable, Hashable {
  /// What is wrong and what to write instead.
  public let reason: String
  /// The text of the predicate in the format language; nil if it has none.
  public internal(set) var format: String?
  /// The position in the text, counted in characters from 0.
  public internal(set) var position: Int?
  /// The entity of the fetch; nil if it is unknown.
  public let entity: String?
  /// The position in the text, counted in Unicode scalars, as the predicate tree stores it.
  var place: Int?

  init(_ reason: String, entity: String? = nil, place: Int? = nil) {
    self.reason = reason
    self.entity = entity
    self.place = place
  }

  /// Returns the error with the text of the predicate, and with the error's position in that text.
  func located(in format: String) -> PredicateError {
    guard let place, self.format == nil else { return self }
    var located = self
    located.format = format
    let scalars = format.unicodeScalars
    // A combining mark belongs to the character before it.
    let index = scalars.index(scalars.startIndex, offsetBy: place, limitedBy: scalars.endIndex)
    located.position = format[..<(index ?? scalars.endIndex)].count
    return located
  }

  /// Compares reason, text, position and entity.
  public static func == (left: PredicateError, right: PredicateError) -> Bool {
    left.reason == right.reason && left.format == right.format && left.position == right.position
      && left.entity == right.entity
  }

  /// Hashes the reason and the position.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(reason)
    hasher.combine(position)
  }
}

extension PredicateError: CustomStringConvertible {
  /// The reason. If the predicate has a text, the line with the error follows, shortened to 200
  /// characters, with a caret under the error.
  public var description: String {
    let head = "Predicate\(entity.map { " on \($0)" } ?? ""): \(ended(reason))"
    guard let format, let position else { return head }
    let characters = Array(format)
    let place = min(max(0, position), characters.count)
    let isNewline = { (character: Character) in character.isNewline }
    let start = characters[..<place].lastIndex(where: isNewline).map { $0 + 1 } ?? 0
    let end = characters[place...].firstIndex(where: isNewline) ?? characters.count
    // A window around the position.
    let from = max(start, place - Self.maximumQuote / 2)
    let to = min(end, from + Self.maximumQuote)
    let (before, after) = (from > start ? "…" : "", to < end ? "…" : "")
    let line = characters[..<start].count(where: isNewline) + 1
    let isOneLine = !characters.contains(where: isNewline)
    // Tabs stay tabs, so that the caret is under its position.
    let indent = (Array(before) + characters[from..<place]).map { $0 == "\t" ? "\t" : " " }
    return """
      \(head)\(isOneLine ? "" : " Line \(line):")
        \(before)\(String(characters[from..<to]))\(after)
        \(String(indent.joined()))^
      """
  }
}
