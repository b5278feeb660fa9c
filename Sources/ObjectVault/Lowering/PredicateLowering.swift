// Converts Foundation's #Predicate to a PredicateNode. The predicate is written on a tape
// (PredicateTape), and PredicateReader makes the tree from the tape. Predicates whose tapes have equal
// words share one tree, whose SQL is cached, unless the SQL depends on a captured value. PredicateForm
// recognizes a known shape without writing a tape.

internal import CipherSQLite
public import Foundation

extension PredicateNode {
  /// Creates the tree of a `#Predicate`, with the captured values as constants.
  /// - Parameter predicate: The predicate.
  /// - Throws: ``StoreError/predicate(_:)`` when the predicate has an expression or a captured value that
  ///   SQL cannot represent; the error names it.
  public init<Object: ManagedObject>(_ predicate: Predicate<Object>) throws {
    self = try PredicateReader.node(
      try Self.tape(of: predicate.expression, over: predicate.variable.key), replacesCapturedValues: false)
  }

  private static func tape(
    of expression: some PredicateExpression, over variable: PredicateExpressions.VariableID
  ) throws -> PredicateTape {
    try PredicateForm.of(expression).tape(of: expression, over: variable)
  }
}

extension PredicateTemplate {
  /// The number of templates that are kept. A program has few shapes, unless it creates key paths at run
  /// time.
  private static let capacity = 1000
  private static let known = Locked<[PredicateTape.Key: PredicateTemplate]>([:])

  /// Returns the condition of a predicate.
  static func condition<Object: ManagedObject>(of predicate: Predicate<Object>) throws -> FetchCondition {
    try condition(of: predicate.expression, over: predicate.variable.key)
  }

  private static func condition(
    of expression: some PredicateExpression, over variable: PredicateExpressions.VariableID
  ) throws -> FetchCondition {
    let form = try PredicateForm.of(expression)
    // Most predicates differ only in their values from an earlier one of their type; then no tape is
    // needed.
    if let condition = form.condition(of: expression, over: variable) { return condition }
    let tape = try form.tape(of: expression, over: variable)
    guard tape.isReusable else {
      let node = try PredicateReader.node(tape, replacesCapturedValues: false)
      form.learn(nil, tape, of: expression, over: variable)
      return FetchCondition(node: node)
    }
    let template = try template(of: tape)
    form.learn(template, tape, of: expression, over: variable)
    return FetchCondition(node: template.node, template: template, values: tape.values)
  }

  private static func template(of tape: PredicateTape) throws -> PredicateTemplate {
    if let template = known.withLock({ $0[tape.key] }) { return template }
    let node = try PredicateReader.node(tape, replacesCapturedValues: true)
    let template = PredicateTemplate(node: node, keyPaths: tape.keyPaths)
    known.withLock { known in
      if known.count >= capacity { known.removeAll(keepingCapacity: true) }
      known[tape.key] = template
    }
    return template
  }
}
