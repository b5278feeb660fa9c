// Foundation's #Predicate -> PredicateNode: one walk writes it on a tape (PredicateTape), and the tree is read from
// that (PredicateReader), once for all predicates of a shape. Under the shape its SQL is kept, too.

internal import CipherSQLite
public import Foundation

extension PredicateNode {
  /// The tree of a `#Predicate`, with the captured values as constants.
  /// - Throws: ``StoreError/predicate(_:)`` when it holds an expression that SQL cannot stand for, named in
  ///   the error.
  public init<Object: ManagedObject>(_ predicate: Predicate<Object>) throws {
    self = try PredicateReader.node(try PredicateTape(predicate), namesValues: false)
  }
}

extension PredicateTape {
  fileprivate init<Object: ManagedObject>(_ predicate: Predicate<Object>) throws {
    guard let root = predicate.expression as? any TapedExpression else {
      throw PredicateReader.unsupported(
        "\(unknownExpression(in: predicate.expression)) has no counterpart in SQL; fetch first, "
          + "then filter in Swift")
    }
    try self.init(root, over: predicate.variable.key)
  }
}

/// The name of the expression that has no meaning in SQL, among those of a tree that has none for that reason.
private func unknownExpression(in expression: Any) -> String {
  for child in Mirror(reflecting: expression).children where isExpression(child.value) {
    if !(child.value is any TapedExpression) { return unknownExpression(in: child.value) }
  }
  return String(String(describing: type(of: expression)).prefix { $0 != "<" })
}

private func isExpression(_ value: Any) -> Bool { value is any PredicateExpression }

extension PredicateTemplate {
  /// A program has few shapes; one that makes key paths as it goes must not fill the memory with them.
  private static let capacity = 1000
  private static let known = Locked<[PredicateTape.Key: PredicateTemplate]>([:])

  /// The condition that a predicate stands for.
  static func condition<Object: ManagedObject>(of predicate: Predicate<Object>) throws -> FetchCondition {
    let tape = try PredicateTape(predicate)
    guard tape.isReusable else {
      return FetchCondition(node: try PredicateReader.node(tape, namesValues: false))
    }
    if let template = known.withLock({ $0[tape.key] }) {
      return FetchCondition(node: template.node, template: template, values: tape.values)
    }
    let node = try PredicateReader.node(tape, namesValues: true)
    let template = PredicateTemplate(node: node, keyPaths: tape.keyPaths)
    known.withLock { known in
      if known.count >= capacity { known.removeAll(keepingCapacity: true) }
      known[tape.key] = template
    }
    return FetchCondition(node: node, template: template, values: tape.values)
  }
}
