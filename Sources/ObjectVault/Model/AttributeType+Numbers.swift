// Which types are numbers of one kind, and which are text: the same for SQL and for evaluation in memory.

/// How numbers are stored.
enum NumberKind { case integer, real, decimal }

extension AttributeType {
  var numberKind: NumberKind { self == .decimal ? .decimal : isInteger ? .integer : .real }

  /// Whether values are text that a string may stand for.
  var isText: Bool { self == .string || self == .url }

  /// What a calculation on numbers of two types gives; nil stands for nil.
  static func common(_ a: AttributeType?, _ b: AttributeType?) -> AttributeType? {
    guard let a, let b else { return a ?? b }
    if a == .decimal || b == .decimal { return .decimal }
    return a.isInteger && b.isInteger ? .int : .double
  }
}
