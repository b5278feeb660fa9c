// Decoding of trees, written by hand: the synthesized decoding recurses as deep as the data, and
// overflows a stack of 512 KiB at a depth that decoders accept. The form is that of the synthesized
// encoding: {"not": {"_0": …}}.

extension PredicateNode {
  fileprivate enum Case: String, CodingKey {
    case constant, and, or, not, truth, comparison, between, isIn, quantified
  }

  /// Decodes what encoding writes.
  /// - Throws: `DecodingError` for another form; ``StoreError/predicate(_:)`` for a tree that is deeper
  ///   than ``PredicateError/maximumDepth``.
  public init(from decoder: any Decoder) throws {
    try Parts<Case>.check(decoder, limit: PredicateError.maximumDepth, what: "conditions")
    let parts = try Parts<Case>(decoder)
    switch parts.name {
    case .constant: self = .constant(try parts[.first])
    case .and: self = .and(try parts[.first])
    case .or: self = .or(try parts[.first])
    case .not: self = .not(try parts[.first])
    case .truth: self = .truth(try parts[.first])
    case .comparison:
      self = .comparison(try parts[.first], try parts[.second], try parts[.third], try parts[.fourth])
    case .between: self = .between(try parts[.first], try parts[.second], try parts[.third])
    case .isIn: self = .isIn(try parts[.first], try parts[.second], try parts[.third])
    case .quantified: self = .quantified(try parts[.first], try parts[.second], try parts[.third])
    }
  }
}

extension PredicateOperand {
  private enum Case: String, CodingKey {
    case value, variable, path, count, arithmetic, call, coalesce, aggregate, list, conditional, cast,
      position
  }

  /// Decodes what encoding writes.
  /// - Throws: `DecodingError` for another form; ``StoreError/predicate(_:)`` for conditions and
  ///   calculations that together are deeper than the sum of ``PredicateError/maximumDepth`` and
  ///   ``PredicateError/maximumOperands``.
  public init(from decoder: any Decoder) throws {
    try Parts<Case>.check(
      decoder, limit: PredicateError.maximumDepth + PredicateError.maximumOperands,
      what: "conditions and calculations")
    let parts = try Parts<Case>(decoder)
    // One function for each form, so that a level of the recursion only needs the stack frame of its own
    // form.
    self =
      switch parts.name {
      case .value, .variable, .path, .count: try Self.leaf(parts)
      case .arithmetic: try Self.calculation(parts)
      case .call, .list, .conditional, .cast, .position: try Self.call(parts, decoder.codingPath)
      case .coalesce: try Self.choice(parts)
      case .aggregate: .aggregate(try parts[.first])
      }
  }

  private static func leaf(_ parts: Parts<Case>) throws -> PredicateOperand {
    switch parts.name {
    case .variable: .variable(try parts[.first])
    case .path: .path(try parts[.first])
    case .count: .count(try parts[.first])
    case .value, .arithmetic, .call, .coalesce, .aggregate, .list, .conditional, .cast, .position:
      .value(try parts[.first])
    }
  }

  private static func calculation(_ parts: Parts<Case>) throws -> PredicateOperand {
    .arithmetic(try parts[.first], try parts[.second], try parts[.third])
  }

  private static func choice(_ parts: Parts<Case>) throws -> PredicateOperand {
    .coalesce(try parts[.first], try parts[.second])
  }

  private static func call(_ parts: Parts<Case>, _ path: [any CodingKey]) throws -> PredicateOperand {
    // A condition inside a TERNARY may contain functions again.
    let start = path.lastIndex { $0 is PredicateNode.Case } ?? path.startIndex
    guard
      path[start...].count(where: { ($0 as? Case).map(calls.contains) == true }) < PredicateError.maximumCalls
    else {
      throw StoreError.predicate(
        PredicateError("functions are nested deeper than \(PredicateError.maximumCalls)"))
    }
    return switch parts.name {
    case .list: .list(try parts[.first], try parts[.second])
    case .conditional: .conditional(try parts[.first], try parts[.second], try parts[.third])
    case .cast: .cast(try parts[.first], try parts[.second])
    case .position: .position(try parts[.first], try parts[.second])
    default: .call(try parts[.first], try parts[.second])
    }
  }

  private static let calls: Set<Case> = [.call, .list, .conditional, .cast, .position]
}

/// The position of a part in a case of a tree. The coding path of a part has one position for each level
/// above the part.
private enum Position: String, CodingKey {
  case first = "_0"
  case second = "_1"
  case third = "_2"
  case fourth = "_3"
}

/// The name of a case, and its parts.
private struct Parts<Case: CodingKey> {
  let name: Case
  private let container: KeyedDecodingContainer<Position>

  init(_ decoder: any Decoder) throws {
    let cases = try decoder.container(keyedBy: Case.self)
    guard let name = cases.allKeys.first, cases.allKeys.count == 1 else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath,
          debugDescription: "each part of a predicate must have exactly one known name"))
    }
    self.name = name
    container = try cases.nestedContainer(keyedBy: Position.self, forKey: name)
  }

  static func check(_ decoder: any Decoder, limit: Int, what: String) throws {
    guard decoder.codingPath.count(where: { $0 is Position }) <= limit else {
      throw StoreError.predicate(PredicateError("\(what) are nested deeper than \(limit)"))
    }
  }

  subscript<Part: Decodable>(position: Position) -> Part {
    get throws { try container.decode(Part.self, forKey: position) }
  }
}
