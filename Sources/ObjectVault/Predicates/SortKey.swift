// The keys of a sort.

/// A key by which objects, values or groups are sorted.
struct SortKey: Sendable, Hashable, Codable {
  /// The value that is compared: usually a property.
  var value: PredicateOperand
  var isDescending: Bool
  /// What comparisons of strings ignore.
  var options: StringOptions
  /// Whether nil is greater than all values. If not, it is less than all values.
  var nilIsGreatest: Bool

  /// Whether nil comes after all values.
  var nilIsLast: Bool { isDescending != nilIsGreatest }

  init(
    value: PredicateOperand, isDescending: Bool = false, options: StringOptions = [],
    nilIsGreatest: Bool = false
  ) {
    (self.value, self.isDescending) = (value, isDescending)
    (self.options, self.nilIsGreatest) = (options, nilIsGreatest)
  }
}

// A property is encoded by its names, and what has its default is omitted: most keys are short.
extension SortKey {
  private enum CodingKeys: CodingKey { case names, value, isDescending, options, nilIsGreatest }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if let names = value.names {
      try container.encode(names, forKey: .names)
    } else {
      try container.encode(value, forKey: .value)
    }
    try container.encode(isDescending, forKey: .isDescending)
    if !options.isEmpty { try container.encode(options, forKey: .options) }
    if nilIsGreatest { try container.encode(true, forKey: .nilIsGreatest) }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      value: try container.decodeIfPresent([String].self, forKey: .names).map { .property($0) }
        ?? container.decode(PredicateOperand.self, forKey: .value),
      isDescending: try container.decode(Bool.self, forKey: .isDescending),
      options: try container.decodeIfPresent(StringOptions.self, forKey: .options) ?? [],
      nilIsGreatest: try container.decodeIfPresent(Bool.self, forKey: .nilIsGreatest) ?? false)
  }
}

extension PredicateOperand {
  /// Returns the value at the end of a path from the fetched object.
  static func property(_ names: [String]) -> PredicateOperand { .path(PropertyPath(names)) }

  /// The id of the fetched object.
  static let objectID = property(["id"])

  /// What errors and warnings call the value: its path, if it is one.
  var pathText: String {
    names?.shownPath ?? "a computed value"
  }

  /// Whether the value is an id: at the end of a path, or that of the first member in an order.
  var isID: Bool {
    if case .aggregate(let members) = self {
      return members.order != nil && members.listed == nil && members.value.last == "id"
    }
    return names?.last == "id"
  }

  /// The names of a path from the fetched object; nil for a value that is computed.
  var names: [String]? {
    if case .path(let path) = self, path.depth == 0 { path.names } else { nil }
  }
}
