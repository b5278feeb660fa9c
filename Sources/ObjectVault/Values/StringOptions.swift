// The options of string comparisons, in predicates, in SQL and in memory.

/// What string comparisons ignore.
public struct StringOptions: OptionSet, Sendable, Hashable, Codable {
  /// The bits of the options.
  public let rawValue: Int
  /// Creates options from their bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// `[c]`: ignores case, by Unicode's full case folding.
  public static let caseInsensitive = StringOptions(rawValue: 1)
  /// `[d]`: ignores nonspacing marks, after canonical decomposition.
  public static let diacriticInsensitive = StringOptions(rawValue: 2)
}
