// The values of a statement's parameters, by position or by name.

/// Values for `?`, `?1`, `:name`, `@name` and `$name`.
///
/// Written as an array or a dictionary: `["Ann", 41, nil]`, `["name": "Ann", "age": 41]`. A name may be given
/// with its sign or without.
public struct SQLArguments: Sendable, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  enum Content: Sendable {
    case positional([any SQLConvertible])
    case named([String: any SQLConvertible])
  }
  let content: Content

  /// Values in the order of the parameters; `?3` takes the third.
  public init(_ values: [(any SQLConvertible)?]) {
    content = .positional(values.map { $0 ?? SQLValue.null })
  }
  /// Values by name.
  public init(_ values: [String: (any SQLConvertible)?]) {
    content = .named(values.mapValues { $0 ?? SQLValue.null })
  }
  /// Values in the order of the parameters.
  public init(arrayLiteral elements: (any SQLConvertible)?...) { self.init(elements) }
  /// Values by name. When a name is given twice, the last one counts.
  public init(dictionaryLiteral elements: (String, (any SQLConvertible)?)...) {
    self.init(Dictionary(elements) { $1 })
  }
}
