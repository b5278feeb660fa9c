// What is known of the predicates of one Swift type, so that one like an earlier one is recognized by a few comparisons
// of words in memory. Whatever is not recognized is written on a tape, as the first of all was.

internal import CipherSQLite
internal import Foundation

// Safe to share: nothing in it changes; what is learned makes a new one.
/// A type of expressions, and the shapes that expressions of it have had.
@safe final class PredicateForm: @unchecked Sendable {
  /// Few types have more than a shape or two; what has many is not worth a search through them.
  private static let maximumShapes = 8
  /// A program has few types of predicates.
  private static let capacity = 500
  // By the type, which lives as long as the process.
  private static let known = Locked<[ObjectIdentifier: PredicateForm]>([:])

  /// That the type is an expression with a meaning in SQL: to look it up costs more than a walk.
  let type: any TapedExpression.Type
  private let stage: Stage
  private let layout: PredicateLayout?
  private let shapes: [Shape]

  private enum Stage {
    /// Only one predicate of the type was met. Most are never met again, and a layout costs as much as a walk.
    case new
    case learning
    /// Expressions of the type cannot be read by places, or have shapes enough.
    case settled
  }

  private init(
    _ type: any TapedExpression.Type, _ stage: Stage, _ layout: PredicateLayout? = nil, _ shapes: [Shape] = []
  ) {
    (self.type, self.stage, self.layout, self.shapes) = (type, stage, layout, shapes)
  }

  /// - Throws: ``StoreError/predicate(_:)`` when the expression, or a part of it, has no meaning in SQL.
  static func of<Expression: PredicateExpression>(_ expression: Expression) throws -> PredicateForm {
    if let form = known.withLock({ $0[ObjectIdentifier(Expression.self)] }) { return form }
    guard let type = Expression.self as? any TapedExpression.Type else {
      throw PredicateReader.unsupported(
        "\(unknownExpression(in: expression)) has no counterpart in SQL; fetch first, then filter in Swift")
    }
    return PredicateForm(type, .new)
  }

  /// The expression, which is of this form, written down.
  func tape<Expression: PredicateExpression>(
    of expression: Expression, over variable: PredicateExpressions.VariableID
  ) throws -> PredicateTape {
    try unsafe withUnsafePointer(to: expression) {
      try unsafe type.tape(at: UnsafeRawPointer($0), over: variable)
    }
  }

  /// The condition of an expression of this form, when it has one of the shapes that are known; nil otherwise.
  func condition<Expression: PredicateExpression>(
    of expression: Expression, over variable: PredicateExpressions.VariableID
  ) -> FetchCondition? {
    guard let layout, !shapes.isEmpty else { return nil }
    return unsafe withUnsafePointer(to: expression) {
      let address = unsafe UnsafeRawPointer($0)
      guard let values = unsafe layout.values(at: address) else { return nil }
      for index in shapes.indices where unsafe shapes[index].fits(address, variable, values) {
        let template = shapes[index].template
        return FetchCondition(node: template.node, template: template, values: values)
      }
      return nil
    }
  }

  /// Keeps the shape that an expression of this form turned out to have.
  /// - Parameters:
  ///   - template: nil when there is none, as the values decide what the SQL looks like.
  ///   - tape: What was written of the expression.
  func learn<Expression: PredicateExpression>(
    _ template: PredicateTemplate?, _ tape: PredicateTape, of expression: Expression,
    over variable: PredicateExpressions.VariableID
  ) {
    switch stage {
    case .new: Self.keep(PredicateForm(type, .learning), Expression.self)
    case .settled: break
    case .learning:
      guard let template else { return }
      let layout = layout ?? PredicateLayout(of: type)
      let shape = unsafe withUnsafePointer(to: expression) {
        unsafe layout.isComplete ? Shape(template, tape, layout, UnsafeRawPointer($0), variable) : nil
      }
      let known = shapes + (shape.map { [$0] } ?? [])
      let isFull = shape == nil || known.count == Self.maximumShapes
      Self.keep(PredicateForm(type, isFull ? .settled : .learning, layout, known), Expression.self)
    }
  }

  private static func keep(_ form: PredicateForm, _ type: Any.Type) {
    known.withLock { known in
      if known[ObjectIdentifier(type)] == nil, known.count >= capacity {
        known.removeAll(keepingCapacity: true)
      }
      known[ObjectIdentifier(type)] = form
    }
  }
}

extension TapedExpression {
  fileprivate static func tape(
    at address: UnsafeRawPointer, over variable: PredicateExpressions.VariableID
  ) throws -> PredicateTape {
    // Safe: who calls it has looked up this conformance for what stands there.
    try unsafe PredicateTape(address.assumingMemoryBound(to: Self.self).pointee, over: variable)
  }
}

/// One shape: what has to stand where the layout says.
@safe private final class Shape: Sendable {
  // Its key paths are held by it, so that no others get their addresses.
  let template: PredicateTemplate
  private let keyPaths: [(offset: Int, address: UInt)]
  private let operators: [(offset: Int, byte: UInt8)]
  /// With each variable the first of them that is the same; 0 is the one that the predicate is over.
  private let variables: [(offset: Int, first: Int)]
  /// Whether all of them are that one, as in most predicates.
  private let hasOneVariable: Bool
  /// The words of the captured values.
  private let values: [UInt]

  /// nil when the memory is not what the tape says: then the layout is none to rely on.
  init?(
    _ template: PredicateTemplate, _ tape: PredicateTape, _ layout: PredicateLayout,
    _ address: UnsafeRawPointer,
    _ variable: PredicateExpressions.VariableID
  ) {
    let keyPaths = layout.keyPaths.map {
      (offset: $0, address: unsafe address.load(fromByteOffset: $0, as: UInt.self))
    }
    var met = [variable]
    var variables: [(offset: Int, first: Int)] = []
    for offset in layout.variables {
      let one = unsafe address.load(fromByteOffset: offset, as: PredicateExpressions.VariableID.self)
      variables.append((offset, met.firstIndex(of: one) ?? met.count))
      met.append(one)
    }
    guard let values = unsafe layout.values(at: address), values == tape.values,
      keyPaths.map(\.address) == tape.keyPaths.map({ UInt(bitPattern: ObjectIdentifier($0)) }),
      Set(met).count == tape.variableCount,
      layout.variables.count == tape.count(where: \.namesVariable),
      layout.operators.count == tape.count(where: \.isStored)
    else { return nil }
    self.template = template
    self.keyPaths = keyPaths
    self.variables = variables
    hasOneVariable = variables.allSatisfy { $0.first == 0 }
    self.values = values.map(\.word)
    operators = layout.operators.map {
      (offset: $0, byte: unsafe address.load(fromByteOffset: $0, as: UInt8.self))
    }
  }

  /// Whether the expression at an address has the shape.
  func fits(
    _ address: UnsafeRawPointer, _ variable: PredicateExpressions.VariableID, _ captured: [PredicateValue]
  ) -> Bool {
    for (offset, expected) in keyPaths {
      guard unsafe address.load(fromByteOffset: offset, as: UInt.self) == expected else { return false }
    }
    for (offset, expected) in operators {
      guard unsafe address.load(fromByteOffset: offset, as: UInt8.self) == expected else { return false }
    }
    for index in values.indices {
      guard captured[index].word == values[index] else { return false }
    }
    return unsafe hasVariables(address, variable)
  }

  /// Whether the same variables are the same, and different ones different.
  private func hasVariables(
    _ address: UnsafeRawPointer, _ variable: PredicateExpressions.VariableID
  ) -> Bool {
    if hasOneVariable {
      for (offset, _) in variables {
        let here = unsafe address.load(fromByteOffset: offset, as: PredicateExpressions.VariableID.self)
        guard here == variable else { return false }
      }
      return true
    }
    func one(_ index: Int) -> PredicateExpressions.VariableID {
      guard index > 0 else { return variable }
      return unsafe address.load(
        fromByteOffset: variables[index - 1].offset, as: PredicateExpressions.VariableID.self)
    }
    for index in variables.indices {
      let (here, first) = (one(index + 1), variables[index].first)
      if first <= index {
        guard here == one(first) else { return false }
        continue
      }
      // One that is met for the first time is none of those before.
      if here == variable { return false }
      for other in 0..<index where variables[other].first == other + 1 && one(other + 1) == here {
        return false
      }
    }
    return true
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
