// The values of a statement's parameters, by position or by name.

/// Values for `?`, `?1`, `:name`, `@name` and `$name`.
///
/// Written as an array or a dictionary: `["Ann", 41, nil]`, `["name": "Ann", "age": 41]`. A name may be
/// given with or without its prefix character.
public struct SQLArguments: Sendable, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  enum Content: Sendable {
    case positional([any SQLConvertible])
    case named([String: any SQLConvertible])
  }
  let content: Content

  /// Creates arguments in the order of the parameters; `?3` gets the third value.
  public init(_ values: [(any SQLConvertible)?]) {
    content = .positional(values.map { $0 ?? SQLValue.null })
  }
  /// Creates arguments by name.
  public init(_ values: [String: (any SQLConvertible)?]) {
    content = .named(values.mapValues { $0 ?? SQLValue.null })
  }
  /// Creates arguments in the order of the parameters.
  public init(arrayLiteral elements: (any SQLConvertible)?...) { self.init(elements) }
  /// Creates arguments by name. If a name is given twice, the last value is used.
  public init(dictionaryLiteral elements: (String, (any SQLConvertible)?)...) {
    self.init(Dictionary(elements) { $1 })
  }
}
