// What string comparisons disregard, in predicates, in SQL and in memory.

/// What string comparisons disregard.
public struct StringOptions: OptionSet, Sendable, Hashable, Codable {
  /// The bits.
  public let rawValue: Int
  /// From bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// `[c]`: case, by Unicode's full case folding.
  public static let caseInsensitive = StringOptions(rawValue: 1)
  /// `[d]`: combining marks, after canonical decomposition.
  public static let diacriticInsensitive = StringOptions(rawValue: 2)
}
