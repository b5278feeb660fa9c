// Evaluation of a predicate in memory. It is pure, and has the same meaning as the SQL that
// PredicateCompiler makes: both use the folder Values for calculations, numbers, folding and patterns.
//   +Preparation   makes the evaluated form of a node     +Comparisons   compares two values
//   +JSON   finds the types of parts of JSON              EvaluatedOrder   sorts
//
// The only errors are those of regular expressions (`failure`): the node was accepted by the compiler, and
// is no deeper than `check()` allows.

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
    case matches(Operand, Operand, StringOptions, MatchRun)
    /// Whether an operand equals a constant of the list, or one of the operands that are not constants.
    case list(Operand, EvaluatedList, [Operand], Order)
    /// Whether a member at the end of the steps satisfies the condition.
    case anyMember(depth: Int, [Step], Condition)
  }

  /// An operand whose paths are resolved: a constant, a value of an object or of an object that it
  /// references, or a calculation.
  indirect enum Operand {
    case value(SQLValue)
    /// An attribute of the object at the end of the to-ones: these, then the attribute's name.
    case attribute(depth: Int, [Step], String)
    /// The id of the object at the end of the to-ones.
    case id(depth: Int, [Step])
    /// An id as a number: for a new object, a number above all others.
    case numberOfID(Operand)
    /// A function of the values of the members at the end of the steps; nil where a to-one before the first
    /// to-many is nil.
    case aggregate(CollectionFunction, depth: Int, [Step], of: Values)
    /// A function of a list, whose result is converted to a kind of number.
    case list(CollectionFunction, [Operand])
    case conditional(Condition, Operand, Operand)
    case convert(Operand, [ValueCast])
    /// A part of the JSON that an operand has, as a value of a type.
    case json(Operand, JSONPath, AttributeType)
    /// The position of an id in a list; nil for an id that is not in it.
    case position(Operand, [Int64: Int64])
    case arithmetic(Operand, ArithmeticOperator, Operand)
    case call(PredicateFunction.Entry, [Operand])
    case coalesce(Operand, Operand)
    /// A number converted to a Decimal or a Double.
    case cast(Operand, NumberKind)
    case folded(Operand, StringOptions)
  }

  /// How two values are compared: numbers by value, all other values in stored form.
  enum Order { case numbers, stored }

  /// A step from an object to others.
  enum Step: Equatable {
    case toOne(String)
    case toMany(String)
    case element(String, PathStep.Index)
    /// The object itself if it is of one of the entities.
    case cast(Set<String>)

    var isToMany: Bool { if case .toMany = self { true } else { false } }
  }

  /// The values of members, for a function of them. The paths of the next depth begin at the member.
  struct Values {
    let condition: Condition
    let value: Operand
    let areNumbers: Bool
    let isDistinct: Bool
    /// The result over no values.
    let nothing: SQLValue
    /// The order whose first member's value is the result; nil for a function of all values.
    let order: MemberOrder?
  }

  /// An order of members.
  struct MemberOrder {
    let key: Operand
    let isDescending: Bool
    let order: Order
    /// The number of members whose values are listed; nil for the value of the first one.
    let listed: Int?
  }

  private let condition: Condition
  private let run: MatchRun
  /// The error of a regular expression in an evaluation so far; nil if there was none. The results are then
  /// not valid.
  package var failure: StoreError? { run.failure }
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
    self.init(
      nodes.map { FetchCondition(node: $0) }, entity: entity, schema: schema,
      matchLimit: MatchPattern.defaultLimit)
  }

  init(_ conditions: [FetchCondition], entity: String, schema: Schema, matchLimit: Double) {
    run = MatchRun(limit: matchLimit)
    var preparation = PredicatePreparation(entity, schema, matches: run)
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
      case .id(depth: 0, let toOnes):
        guard toOnes.count == 1, case .toOne(let name) = toOnes[0] else { return [] }
        return [(name, value)]
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

extension PredicateEvaluator.MemberOrder {
  /// Returns whether a member comes before another one. nil is less than all values, and members with
  /// equal keys are in the order of their ids.
  func puts(_ left: (key: SQLValue, id: Int64), before right: (key: SQLValue, id: Int64)) -> Bool {
    let (a, b) = (left.key, right.key)
    var result =
      a.isNull || b.isNull ? (b.isNull ? 1 : 0) - (a.isNull ? 1 : 0) : order.compare(a, with: b) ?? 0
    if result == 0 { result = left.id < right.id ? -1 : 1 }
    return isDescending ? result > 0 : result < 0
  }
}

/// The matches of one evaluator, which remember the first failure.
final class MatchRun {
  private let matcher: Matcher
  private(set) var failure: StoreError?

  init(limit: Double) { matcher = Matcher(limit: limit) }

  func matches(_ text: String, expression: String, options: StringOptions) -> Bool {
    do { return try matcher.matches(text, expression: expression, options: options) } catch {
      failure = failure ?? StoreError(error)
      return false
    }
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
    case .matches(let operand, let pattern, let options, let run):
      guard case .text(let text) = value(operand), case .text(let source) = value(pattern) else {
        return false
      }
      return run.matches(text, expression: source, options: options)
    case .list(let operand, let list, let rest, let order):
      let value = value(operand)
      return list.contains(value)
        || rest.contains {
          ComparisonOperator.Meaning.equality(true).holds(for: value, and: self.value($0), order: order)
        }
    case .anyMember(let depth, let steps, let inner):
      guard subjects.indices.contains(depth) else { return false }
      return anyMember(of: subjects[depth], steps[...]) { $0.holds(inner) }
    }
  }

  /// Returns whether `test` is true for any member at the end of the steps, and stops at the first one.
  private func anyMember(
    of subject: Subject, _ steps: ArraySlice<PredicateEvaluator.Step>, _ test: (Evaluation) -> Bool
  ) -> Bool {
    guard let step = steps.first else {
      var copy = self
      copy.subjects.append(subject)
      return test(copy)
    }
    let rest = steps.dropFirst()
    if case .toMany(let name) = step {
      return subject.members(of: name).contains { anyMember(of: $0, rest, test) }
    }
    return next(subject, step).map { anyMember(of: $0, rest, test) } ?? false
  }

  /// Returns the object after a step that leads to at most one.
  private func next(_ subject: Subject, _ step: PredicateEvaluator.Step) -> Subject? {
    switch step {
    case .toOne(let name): return subject.target(of: name)
    case .toMany: return nil
    case .element(let name, let index):
      let members = subject.members(of: name)
      guard case .number(let number) = index else { return members.last }
      return number < members.count ? members[number] : nil
    case .cast(let entities): return subject.isOne(of: entities) ? subject : nil
    }
  }

  private func aggregate(
    _ function: CollectionFunction, depth: Int, _ steps: [PredicateEvaluator.Step],
    of values: PredicateEvaluator.Values
  ) -> SQLValue {
    let toOnes = steps.prefix { !$0.isToMany }
    guard let owner = owner(depth, toOnes) else { return .null }
    // Counting needs no member if there is no condition.
    if case .constant(true) = values.condition, function == .count, !values.isDistinct,
      steps.count == toOnes.count + 1, case .toMany(let name)? = steps.last
    {
      return .integer(Int64(owner.members(of: name).count))
    }
    if let order = values.order {
      var found: [(key: SQLValue, id: Int64, value: SQLValue)] = []
      _ = anyMember(of: owner, steps[toOnes.endIndex...]) { member in
        guard member.holds(values.condition), let subject = member.subjects.last else { return false }
        let (key, id) = (member.value(order.key), IDOrder.rank(subject.subjectID))
        // Only the first one is needed, unless several are listed.
        if order.listed == nil, let first = found.first {
          guard order.puts((key, id), before: (first.key, first.id)) else { return false }
          found = []
        }
        found.append((key, id, member.value(values.value)))
        return false
      }
      guard let listed = order.listed else { return found.first?.value ?? .null }
      found.sort { order.puts(($0.key, $0.id), before: ($1.key, $1.id)) }
      let ids = found.prefix(max(0, listed)).compactMap { $0.value.int64.map(String.init) }
      return ids.isEmpty ? .null : .text(ids.joined(separator: ","))
    }
    var found: [SQLValue] = []
    _ = anyMember(of: owner, steps[toOnes.endIndex...]) { member in
      if member.holds(values.condition) { found.append(member.value(values.value)) }
      return false
    }
    if found.allSatisfy(\.isNull) { return values.nothing }
    return function.apply(found, areNumbers: values.areNumbers, isDistinct: values.isDistinct)
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
    case .aggregate(let function, let depth, let steps, let values):
      return aggregate(function, depth: depth, steps, of: values)
    case .list(let function, let elements):
      return function.apply(elements.map { value($0) }, areNumbers: true)
    case .conditional(let test, let first, let second): return value(holds(test) ? first : second)
    case .convert(let inner, let casts): return casts.reduce(value(inner)) { $1.apply($0) }
    case .json(let inner, let path, let type): return path.value(in: value(inner), as: type)
    case .position(let inner, let positions):
      return value(inner).int64.flatMap { positions[$0] }.map { .integer($0) } ?? .null
    case .arithmetic(let left, let operation, let right):
      return ValueArithmetic.calculate(value(left), operation, with: value(right))
    case .call(let function, let arguments): return function.apply(arguments.map { value($0) })
    case .coalesce(let first, let second):
      let value = value(first)
      return value.isNull ? self.value(second) : value
    case .cast(let inner, let kind): return ValueArithmetic.cast(value(inner), toDecimal: kind == .decimal)
    case .folded(let inner, let options):
      let value = value(inner)
      // SQL folds other values to NULL.
      guard case .text(let text) = value else { return .null }
      return .text(Folding.fold(text, options))
    }
  }

  private func owner(_ depth: Int, _ steps: some Sequence<PredicateEvaluator.Step>) -> Subject? {
    guard subjects.indices.contains(depth) else { return nil }
    var subject = subjects[depth]
    for step in steps {
      guard let next = next(subject, step) else { return nil }
      subject = next
    }
    return subject
  }
}
