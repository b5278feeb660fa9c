// Evaluation of a predicate in memory. It is pure, and has the same meaning as the SQL that
// PredicateCompiler makes: both use the folder Values for calculations, numbers, folding and patterns.
//   +Preparation   makes the evaluated form of a node     +Comparisons   compares two values
//   EvaluatedOrder   sorts
//
// It reports no errors: the node was accepted by the compiler, and is no deeper than `check()` allows.

internal import CipherSQLite

/// A condition on objects of one entity, prepared for the evaluation of many objects.
package struct PredicateEvaluator {
  /// A condition whose paths are resolved and whose constants have the type of the other side.
  indirect enum Condition {
    case constant(Bool)
    case all([Condition])
    case any([Condition])
    case not(Condition)
    case comparison(Operand, ComparisonOperator.Meaning, Operand, Order)
    case like(Operand, LikePattern)
    /// Whether an operand equals a constant of the list, or one of the operands that are not constants.
    case list(Operand, EvaluatedList, [Operand], Order)
    /// Whether a member at the end of the steps satisfies the condition.
    case anyMember(depth: Int, [Step], Condition)
  }

  /// An operand whose paths are resolved: a constant, a value of an object or of an object that it
  /// references, or a calculation.
  indirect enum Operand {
    case value(SQLValue)
    /// An attribute of the object at the end of the to-ones: their names, then the attribute's.
    case attribute(depth: Int, [String], String)
    /// The id of the object at the end of the to-ones.
    case id(depth: Int, [String])
    /// An id as a number: for a new object, a number above all others.
    case numberOfID(Operand)
    /// The number of members of a to-many, of the object at the end of the to-ones.
    case count(depth: Int, [String], String)
    case arithmetic(Operand, ArithmeticOperator, Operand)
    case call(PredicateFunction.Entry, [Operand])
    case coalesce(Operand, Operand)
    /// A number converted to a Decimal or a Double.
    case cast(Operand, NumberKind)
    case folded(Operand, StringOptions)
  }

  /// How two values are compared: numbers by value, all other values in stored form.
  enum Order { case numbers, stored }

  /// A relationship on the path of a quantifier.
  struct Step {
    let name: String
    let isToMany: Bool
  }

  private let condition: Condition
  /// The routes that the condition follows: lists of relationship names that begin at the object. The set
  /// also has every prefix of a route.
  package let routes: Set<[String]>
  /// The routes to targets of which more than the id is read.
  let deepRoutes: Set<[String]>

  /// Prepares a condition.
  /// - Parameters:
  ///   - nodes: The conditions, all of which must be true.
  ///   - entity: The entity of the objects.
  package init(_ nodes: [PredicateNode], entity: String, schema: Schema) {
    self.init(nodes.map { FetchCondition(node: $0) }, entity: entity, schema: schema)
  }

  init(_ conditions: [FetchCondition], entity: String, schema: Schema) {
    var preparation = PredicatePreparation(entity, schema)
    condition = .all(conditions.map { preparation.condition($0) })
    routes = preparation.routes
    deepRoutes = preparation.deepRoutes
  }

  /// The equalities that must be true for the condition to be true: the name of an attribute and its
  /// value, or the name of a to-one and the id of its object.
  var requiredValues: [(name: String, value: SQLValue)] { Self.requiredValues(condition) }

  private static func requiredValues(_ condition: Condition) -> [(name: String, value: SQLValue)] {
    switch condition {
    case .all(let parts): return parts.flatMap(requiredValues)
    case .comparison(let property, .equality(true), .value(let value), _),
      .comparison(.value(let value), .equality(true), let property, _):
      switch property {
      case .attribute(depth: 0, let toOnes, let name) where toOnes.isEmpty: return [(name, value)]
      case .id(depth: 0, let toOnes) where toOnes.count == 1: return [(toOnes[0], value)]
      default: return []
      }
    default: return []
    }
  }

  /// Returns whether the condition is true of the object.
  package func holds<Subject: PredicateSubject>(for object: Subject) -> Bool {
    Evaluation(subjects: [object]).holds(condition)
  }
}

/// The state of one evaluation: the object at index 0, and the member of each surrounding quantifier at
/// the index of its depth.
struct Evaluation<Subject: PredicateSubject> {
  var subjects: [Subject]

  func holds(_ condition: PredicateEvaluator.Condition) -> Bool {
    switch condition {
    case .constant(let value): return value
    case .all(let parts): return parts.allSatisfy { holds($0) }
    case .any(let parts): return parts.contains { holds($0) }
    case .not(let inner): return !holds(inner)
    case .comparison(let left, let meaning, let right, let order):
      return meaning.holds(for: value(left), and: value(right), order: order)
    case .like(let operand, let pattern):
      guard case .text(let text) = value(operand) else { return false }
      return pattern.matches(text)
    case .list(let operand, let list, let rest, let order):
      let value = value(operand)
      return list.contains(value)
        || rest.contains {
          ComparisonOperator.Meaning.equality(true).holds(for: value, and: self.value($0), order: order)
        }
    case .anyMember(let depth, let steps, let inner):
      guard subjects.indices.contains(depth) else { return false }
      return anyMember(of: subjects[depth], steps[...], inner)
    }
  }

  private func anyMember(
    of subject: Subject, _ steps: ArraySlice<PredicateEvaluator.Step>,
    _ inner: PredicateEvaluator.Condition
  ) -> Bool {
    guard let step = steps.first else {
      var copy = self
      copy.subjects.append(subject)
      return copy.holds(inner)
    }
    let rest = steps.dropFirst()
    return step.isToMany
      ? subject.members(of: step.name).contains { anyMember(of: $0, rest, inner) }
      : subject.target(of: step.name).map { anyMember(of: $0, rest, inner) } ?? false
  }

  func value(_ operand: PredicateEvaluator.Operand) -> SQLValue {
    switch operand {
    case .value(let value): return value
    case .attribute(let depth, let names, let name):
      return owner(depth, names)?.value(of: name) ?? .null
    case .id(let depth, let names):
      return owner(depth, names).map { .integer($0.subjectID) } ?? .null
    case .numberOfID(let inner):
      guard case .integer(let id) = value(inner), id < 0 else { return value(inner) }
      return .integer(IDOrder.rank(id))
    case .count(let depth, let names, let name):
      return owner(depth, names).map { .integer(Int64($0.members(of: name).count)) } ?? .null
    case .arithmetic(let left, let operation, let right):
      return ValueArithmetic.calculate(value(left), operation, with: value(right))
    case .call(let function, let arguments): return function.apply(arguments.map { value($0) })
    case .coalesce(let first, let second):
      let value = value(first)
      return value.isNull ? self.value(second) : value
    case .cast(let inner, let kind): return ValueArithmetic.cast(value(inner), toDecimal: kind == .decimal)
    case .folded(let inner, let options):
      let value = value(inner)
      guard case .text(let text) = value else { return value }
      return .text(Folding.fold(text, options))
    }
  }

  private func owner(_ depth: Int, _ names: [String]) -> Subject? {
    guard subjects.indices.contains(depth) else { return nil }
    var subject = subjects[depth]
    for name in names {
      guard let next = subject.target(of: name) else { return nil }
      subject = next
    }
    return subject
  }
}
