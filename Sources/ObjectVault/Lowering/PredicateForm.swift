// Recognizes a #Predicate whose type and shape occurred before, by comparing a few words in memory. Any
// other predicate is written on a tape (PredicateTape).

internal import CipherSQLite
internal import Foundation

// Safe to share: never changed. Learning a shape creates a new form.
/// The type of a predicate's expression, with the shapes in which such expressions occurred.
@safe final class PredicateForm: @unchecked Sendable {
  /// The maximum number of shapes that are kept for a type. Few types have more than two.
  private static let maximumShapes = 8
  /// The maximum number of types whose forms are kept. A program has few types of predicates.
  private static let capacity = 500
  // The forms by type. The identifier of a type stays valid, because types are never freed.
  private static let known = Locked<[ObjectIdentifier: PredicateForm]>([:])

  /// The type with its conformance. Looking the conformance up costs more than writing a tape.
  let type: any TapedExpression.Type
  private let stage: Stage
  private let layout: PredicateLayout?
  private let shapes: [Shape]

  private enum Stage {
    /// No form of the type is kept yet: this is its first predicate.
    ///
    /// The layout is not determined yet: most types occur only once, and finding the layout costs as much
    /// as writing a tape.
    case new
    /// New shapes are added.
    case learning
    /// No shapes are added: the layout cannot be used, or the form has the maximum number of shapes.
    case settled
  }

  private init(
    _ type: any TapedExpression.Type, _ stage: Stage, layout: PredicateLayout? = nil, shapes: [Shape] = []
  ) {
    (self.type, self.stage, self.layout, self.shapes) = (type, stage, layout, shapes)
  }

  /// Returns the kept form of an expression's type, or a new one.
  /// - Throws: ``StoreError/predicate(_:)`` when the expression, or a part of it, has no meaning in SQL.
  static func of<Expression: PredicateExpression>(_ expression: Expression) throws -> PredicateForm {
    if let form = known.withLock({ $0[ObjectIdentifier(Expression.self)] }) { return form }
    guard let type = Expression.self as? any TapedExpression.Type else {
      throw PredicateReader.unsupported(
        "\(unknownExpression(in: expression)) has no counterpart in SQL; fetch first, then filter in Swift")
    }
    return PredicateForm(type, .new)
  }

  /// Writes an expression of this form on a tape.
  func tape<Expression: PredicateExpression>(
    of expression: Expression, over variable: PredicateExpressions.VariableID
  ) throws -> PredicateTape {
    try unsafe withUnsafePointer(to: expression) {
      try unsafe type.tape(at: UnsafeRawPointer($0), over: variable)
    }
  }

  /// Returns the condition of an expression of this form if its shape is known; nil otherwise.
  func condition<Expression: PredicateExpression>(
    of expression: Expression, over variable: PredicateExpressions.VariableID
  ) -> FetchCondition? {
    guard let layout, !shapes.isEmpty else { return nil }
    return unsafe withUnsafePointer(to: expression) {
      let address = unsafe UnsafeRawPointer($0)
      guard let values = unsafe layout.values(at: address) else { return nil }
      for index in shapes.indices where unsafe shapes[index].fits(address, over: variable, captured: values) {
        let template = shapes[index].template
        return FetchCondition(node: template.node, template: template, values: values)
      }
      return nil
    }
  }

  /// Records an expression that was written on a tape. The first call keeps the form, later ones add the
  /// shape.
  /// - Parameters:
  ///   - template: The template of the shape; nil when there is none, because the SQL depends on the
  ///     values.
  ///   - tape: The tape of the expression.
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
        unsafe layout.isComplete
          ? Shape(template, tape: tape, layout: layout, at: UnsafeRawPointer($0), over: variable) : nil
      }
      let known = shapes + (shape.map { [$0] } ?? [])
      let isFull = shape == nil || known.count == Self.maximumShapes
      Self.keep(
        PredicateForm(type, isFull ? .settled : .learning, layout: layout, shapes: known), Expression.self)
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
  /// Writes the expression at an address on a tape.
  fileprivate static func tape(
    at address: UnsafeRawPointer, over variable: PredicateExpressions.VariableID
  ) throws -> PredicateTape {
    // Safe: the caller has looked up this conformance for the type of the expression at the address.
    try unsafe PredicateTape(address.assumingMemoryBound(to: Self.self).pointee, over: variable)
  }
}

/// One shape: the contents that the memory of an expression must have at the offsets of the layout.
@safe private final class Shape: Sendable {
  // The template retains its key paths, so that their addresses cannot be reused.
  let template: PredicateTemplate
  private let keyPaths: [(offset: Int, address: UInt)]
  private let operators: [(offset: Int, byte: UInt8)]
  /// For each occurrence of a variable, the index of its first occurrence. Index 0 is the predicate's own
  /// variable; the occurrence at `i` in this array has the index `i + 1`.
  private let variables: [(offset: Int, first: Int)]
  /// Whether only the predicate's own variable occurs, as in most predicates.
  private let hasOneVariable: Bool
  /// The `word` of each captured value.
  private let values: [UInt]

  /// Creates the shape of the expression at an address; nil when the memory does not match the tape,
  /// because then the layout is not reliable.
  init?(
    _ template: PredicateTemplate, tape: PredicateTape, layout: PredicateLayout,
    at address: UnsafeRawPointer,
    over variable: PredicateExpressions.VariableID
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
      layout.variables.count == tape.count(where: \.hasVariableNumber),
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

  /// Returns whether the expression at an address has the shape.
  func fits(
    _ address: UnsafeRawPointer, over variable: PredicateExpressions.VariableID, captured: [PredicateValue]
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

  /// Returns whether the variables of the expression at an address repeat at the same positions as those
  /// of the shape, and at no others.
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
      // The first occurrence of a variable differs from all variables before it.
      if here == variable { return false }
      for other in 0..<index where variables[other].first == other + 1 && one(other + 1) == here {
        return false
      }
    }
    return true
  }
}

/// Returns the type name of the part of an expression that has no counterpart in SQL.
private func unknownExpression(in expression: Any) -> String {
  for child in Mirror(reflecting: expression).children where isExpression(child.value) {
    if !(child.value is any TapedExpression) { return unknownExpression(in: child.value) }
  }
  return String(String(describing: type(of: expression)).prefix { $0 != "<" })
}

private func isExpression(_ value: Any) -> Bool { value is any PredicateExpression }
