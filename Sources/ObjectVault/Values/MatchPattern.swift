// Regular expressions of MATCHES, with equal results in SQL and in memory. A match that takes too long is
// stopped: the time of a regular expression may be exponential in the length of the text.

internal import CipherSQLite
private import Foundation

/// A parsed regular expression, which a whole text matches or does not.
package struct MatchPattern: Sendable {
  /// Why a match has no result. The description is the message of the SQL function, from which
  /// `init(message:)` makes the error again.
  package enum Failure: Error, Equatable {
    /// The pattern is not a regular expression.
    case invalidPattern
    /// The match of one text took longer than this many seconds.
    case tooSlow(limit: Double)
    /// The match needs more memory than the regular expression engine has.
    case tooLarge
  }

  /// The time that the match of one text may take, in seconds, if the configuration does not set another.
  package static let defaultLimit = 0.5

  let source: String
  let options: StringOptions
  private let expression: NSRegularExpression

  /// Parses a regular expression.
  /// - Parameters:
  ///   - source: The expression, in the syntax of `NSRegularExpression`. `.` also matches a line break.
  ///   - options: With `[c]`, case is ignored as ICU does. With `[d]`, marks are dropped from the
  ///     expression and from the text.
  package init(_ source: String, _ options: StringOptions) throws(Failure) {
    let marks = options.intersection(.diacriticInsensitive)
    let pattern = Folding.fold(source, marks)
    var flags: NSRegularExpression.Options = [.dotMatchesLineSeparators]
    if options.contains(.caseInsensitive) { flags.insert(.caseInsensitive) }
    // Checked alone first: otherwise a bracket of the pattern could close the group around it. The second
    // and third forms end a comment of `(?x)` and a quotation of `\Q` at the end of the pattern. The system
    // refuses an empty pattern alone.
    guard pattern.isEmpty || (try? NSRegularExpression(pattern: pattern, options: flags)) != nil,
      let expression = ["", "\n", "\\E"].lazy.compactMap({ end in
        try? NSRegularExpression(pattern: "\\A(?:\(pattern)\(end))\\z", options: flags)
      }).first
    else { throw .invalidPattern }
    (self.source, self.options, self.expression) = (source, options, expression)
  }

  /// Returns whether the whole text matches.
  /// - Parameter limit: The time that this may take, in seconds.
  package func matches(_ text: String, limit: Double) throws(Failure) -> Bool {
    let text = Folding.fold(text, options.intersection(.diacriticInsensitive))
    let start = ContinuousClock.now
    var (hasMatch, failure) = (false, Failure?.none)
    // The engine reports its progress, so that the block can stop it.
    unsafe expression.enumerateMatches(
      in: text, options: [.reportProgress, .reportCompletion],
      range: NSRange(location: 0, length: text.utf16.count)
    ) { match, flags, stop in
      if match != nil {
        hasMatch = true
      } else if flags.contains(.internalError) {
        failure = failure ?? .tooLarge
      } else if start.duration(to: .now) > .seconds(limit) {
        failure = .tooSlow(limit: limit)
        unsafe stop.pointee = true
      }
    }
    if hasMatch { return true }
    if let failure { throw failure }
    return false
  }
}

extension MatchPattern.Failure: CustomStringConvertible {
  private static let mark = "vault_matches: "

  package var description: String {
    switch self {
    case .invalidPattern: Self.mark + "pattern"
    case .tooLarge: Self.mark + "memory"
    case .tooSlow(let limit): Self.mark + "\(limit)"
    }
  }

  /// Creates the failure that the SQL function reported with a message; nil for another message.
  package init?(message: String) {
    guard message.hasPrefix(Self.mark) else { return nil }
    switch message.dropFirst(Self.mark.count) {
    case "pattern": self = .invalidPattern
    case "memory": self = .tooLarge
    case let limit: self = .tooSlow(limit: Double(limit) ?? 0)
    }
  }
}

/// Matches many texts, mostly with one regular expression, which is parsed once.
package final class Matcher: Sendable {
  private let limit: Double
  private let last = Locked<MatchPattern?>(nil)

  /// Creates a matcher.
  /// - Parameter limit: The time that the match of one text may take, in seconds.
  package init(limit: Double) { self.limit = limit }

  /// Returns whether the whole text matches a regular expression.
  package func matches(
    _ text: String, expression source: String, options: StringOptions
  ) throws(MatchPattern.Failure) -> Bool {
    let known = last.withLock { last in
      last.flatMap { $0.options == options && $0.source.utf8.elementsEqual(source.utf8) ? $0 : nil }
    }
    if let known { return try known.matches(text, limit: limit) }
    let made = try MatchPattern(source, options)
    last.withLock { $0 = made }
    return try made.matches(text, limit: limit)
  }
}
