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

  /// The collation of the store that compares texts in this way; nil without options.
  package var collation: String? {
    switch rawValue & 3 {
    case 1: "vault_fold_c"
    case 2: "vault_fold_d"
    case 3: "vault_fold_cd"
    default: nil
    }
  }

  /// All combinations of options that have a collation.
  package static let folding: [StringOptions] = [
    .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
  ]

  /// The options as an expression of Swift; not for none.
  package var swiftText: String {
    switch self {
    case .caseInsensitive: ".caseInsensitive"
    case .diacriticInsensitive: ".diacriticInsensitive"
    default: "[.caseInsensitive, .diacriticInsensitive]"
    }
  }
}
