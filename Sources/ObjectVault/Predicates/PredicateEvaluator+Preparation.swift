// Prepares nodes for evaluation: resolves paths in the model, and converts constants to the type of the
// other side.

internal import CipherSQLite

struct PredicatePreparation {
  /// Where the paths of one depth begin: at the fetched object (depth 0), or at the member of a
  /// surrounding quantifier.
  private struct Scope {
    /// The entity; nil when a path does not exist, which the compiler reports.
    let entity: EntityDescription?
    /// The names that are put before each path of this scope: what follows the last to-many in the
    /// quantifier's path.
    var prefix: [String] = []
    /// The names of the relationships from the fetched object to the member.
    var route: [String] = []
  }

  private typealias Operand = PredicateEvaluator.Operand
  private typealias Condition = PredicateEvaluator.Condition

  private let schema: Schema
  private var scopes: [Scope]
  private var values: [PredicateValue] = []
  /// The routes that are followed: lists of relationship names that begin at the object. The set also has
  /// every prefix of a route.
  private(set) var routes: Set<[String]> = []
  /// The routes to targets of which more than the id is read.
  private(set) var deepRoutes: Set<[String]> = []

  init(_ entity: String, _ schema: Schema) {
    self.schema = schema
    scopes = [Scope(entity: schema.flattenedEntity(named: entity))]
  }

  // MARK: Conditions

  mutating func condition(_ condition: FetchCondition) -> PredicateEvaluator.Condition {
    values = condition.values
    return self.condition(condition.node)
  }

  private mutating func condition(_ node: PredicateNode) -> Condition {
    switch node {
    case .constant(let value): return .constant(value)
    case .and(let parts): return .all(parts.map { condition($0) })
    case .or(let parts): return .any(parts.map { condition($0) })
    case .not(let inner): return .not(condition(inner))
    case .truth(let operand):
      return .comparison(self.operand(operand), .equality(true), .value(.integer(1)), .numbers)
    case .comparison(let left, let comparison, let right, let options):
      return self.comparison(left, comparison, with: right, options: options)
    case .between(let operand, let low, let high):
      return .all([
        comparison(operand, .greaterOrEqual, with: low, options: []),
        comparison(operand, .lessOrEqual, with: high, options: []),
      ])
    case .isIn(let operand, let list, let options): return self.list(operand, list, options: options)
    case .quantified(let quantifier, let path, let inner):
      let member = anyMember(path, quantifier == .all ? .not(inner) : inner)
      return quantifier == .any ? member : .not(member)
    }
  }

  private mutating func comparison(
    _ left: PredicateOperand, _ comparison: ComparisonOperator, with right: PredicateOperand,
    options: StringOptions
  ) -> Condition {
    let (a, b) = (type(left), type(right))
    let (first, second) = (
      folded(fitting(numbered(operand(left), against: right), of: a, to: b), options),
      folded(fitting(numbered(operand(right), against: left), of: b, to: a), options)
    )
    if comparison == .like, case .value(.text(let pattern)) = second {
      return .like(first, LikePattern(pattern))
    }
    return .comparison(first, comparison.entry.meaning, second, Self.order(a, and: b))
  }

  private mutating func list(
    _ operand: PredicateOperand, _ list: [PredicateOperand], options: StringOptions
  ) -> Condition {
    // A constant is compared with each element separately, converted to the type of the element.
    if constant(operand) != nil {
      return .any(list.map { comparison(operand, .equal, with: $0, options: options) })
    }
    let subject = type(operand)
    var constants: [SQLValue] = []
    var rest: [Operand] = []
    var order = PredicateEvaluator.Order.stored
    for element in list {
      let type = type(element)
      if Self.order(subject, and: type) == .numbers { order = .numbers }
      switch folded(fitting(self.operand(element), of: type, to: subject), options) {
      case .value(let value): constants.append(value)
      case let other: rest.append(other)
      }
    }
    let asked = list.first.map { numbered(self.operand(operand), against: $0) } ?? self.operand(operand)
    return .list(
      folded(asked, options), EvaluatedList(constants, type: subject, order: order), rest, order)
  }

  private mutating func anyMember(_ path: PropertyPath, _ inner: PredicateNode) -> Condition {
    guard scopes.indices.contains(path.depth) else { return .constant(false) }
    let scope = scopes[path.depth]
    var names = (scope.prefix + path.names)[...]
    var (entity, route) = (scope.entity, scope.route)
    var steps: [PredicateEvaluator.Step] = []
    // Up to the last to-many; the rest belongs to the members' own paths.
    while containsToMany(names, from: entity), let name = names.popFirst(),
      let relationship = entity?.relationship(named: name)
    {
      steps.append(.init(name: name, isToMany: relationship.isToMany))
      entity = schema.flattenedEntity(named: relationship.destination)
      route.append(name)
      follow(route)
    }
    scopes.append(Scope(entity: entity, prefix: Array(names), route: route))
    defer { scopes.removeLast() }
    return .anyMember(depth: path.depth, steps, condition(inner))
  }

  private func containsToMany(_ names: ArraySlice<String>, from entity: EntityDescription?) -> Bool {
    var entity = entity
    for name in names {
      guard let relationship = entity?.relationship(named: name) else { return false }
      if relationship.isToMany { return true }
      entity = schema.flattenedEntity(named: relationship.destination)
    }
    return false
  }

  /// Returns the operand. An id that is compared with a number, and not with an object, becomes a number.
  /// A new object has no id yet: its number is above all others.
  private mutating func numbered(_ operand: Operand, against other: PredicateOperand) -> Operand {
    guard case .id = operand, isNumber(other) else { return operand }
    return .numberOfID(operand)
  }

  private mutating func isNumber(_ operand: PredicateOperand) -> Bool {
    switch operand {
    case .value, .variable:
      guard let value = constant(operand) else { return false }
      return value.entity == nil && !value.stored.isNull
    case .path(let path): return walk(path).rest.first.map { $0 != "id" } ?? false
    case .count, .arithmetic, .call, .coalesce: return true
    }
  }

  private mutating func follow(_ route: [String]) {
    routes.insert(route)
    deepRoutes.insert(route)
  }

  // MARK: Operands

  private func constant(_ operand: PredicateOperand) -> PredicateValue? {
    operand.constant(among: values)?.value
  }

  private mutating func operand(_ operand: PredicateOperand) -> Operand {
    switch operand {
    case .value, .variable: return .value(constant(operand)?.stored ?? .null)
    case .path(let path): return self.path(path)
    case .count(let path):
      let end = walk(path)
      guard let name = end.rest.first else { return .value(.null) }
      follow(end.route + [name])
      return .count(depth: path.depth, end.toOnes, name)
    case .arithmetic(let left, let operation, let right):
      return .arithmetic(number(left), operation, number(right))
    case .call(let function, let arguments):
      let entry = function.entry
      return .call(
        entry,
        zip(arguments, entry.parameters).map { argument, kind in
          kind == .text ? stored(argument) : number(argument)
        })
    case .coalesce(let first, let second):
      return .coalesce(stored(first), fitting(stored(second), of: type(second), to: type(first)))
    }
  }

  /// Returns an operand of a calculation. Both sides of a `??` are converted to one kind of number.
  private mutating func number(_ operand: PredicateOperand) -> Operand {
    guard case .coalesce(let first, let second) = operand else {
      let result = stored(operand)
      guard case .id = result else { return result }
      return .numberOfID(result)
    }
    let result = Operand.coalesce(number(first), number(second))
    let (a, b) = (calculatedType(first), calculatedType(second))
    guard let type = AttributeType.common(a, and: b), a?.numberKind != b?.numberKind else { return result }
    return .cast(result, type.numberKind == .decimal ? .decimal : .real)
  }

  /// Returns an operand as the engine has it: NaN becomes nil.
  private mutating func stored(_ operand: PredicateOperand) -> Operand {
    let result = self.operand(operand)
    if case .value(.real(let number)) = result, number.isNaN { return .value(.null) }
    return result
  }

  mutating func path(_ path: PropertyPath) -> PredicateEvaluator.Operand {
    let end = walk(path)
    guard let name = end.rest.first, name != "id" || end.rest.count > 1 else {
      return .id(depth: path.depth, end.toOnes)
    }
    return .attribute(depth: path.depth, end.toOnes, name)
  }

  /// Follows the to-ones at the beginning of a path.
  private mutating func walk(_ path: PropertyPath) -> (
    toOnes: [String], route: [String], entity: EntityDescription?, rest: ArraySlice<String>
  ) {
    guard scopes.indices.contains(path.depth) else { return ([], [], nil, []) }
    let scope = scopes[path.depth]
    var names = (scope.prefix + path.names)[...]
    var (entity, toOnes, route) = (scope.entity, [String](), scope.route)
    while let name = names.first, let relationship = entity?.relationship(named: name),
      !relationship.isToMany
    {
      toOnes.append(name)
      route.append(name)
      names.removeFirst()
      // The id of the target is in the row of the fetched object, so the target is not read.
      if route.count == 1, relationship.hasColumn, names.isEmpty || names == ["id"] {
        routes.insert(route)
      } else {
        follow(route)
      }
      entity = schema.flattenedEntity(named: relationship.destination)
    }
    return (toOnes, route, entity, names)
  }

  // MARK: Types

  private mutating func type(_ operand: PredicateOperand) -> AttributeType? {
    switch operand {
    case .value, .variable: return constant(operand)?.type
    case .path(let path): return type(path)
    case .count: return .int
    case .arithmetic(let left, _, let right):
      return AttributeType.common(calculatedType(left), and: calculatedType(right))
    case .call(let function, let arguments):
      return AttributeType(function.entry.result) ?? arguments.first.flatMap { calculatedType($0) }
    case .coalesce(let first, let second): return type(first) ?? type(second)
    }
  }

  /// Returns the type of an operand in a calculation, where both sides of a `??` become one kind of
  /// number.
  private mutating func calculatedType(_ operand: PredicateOperand) -> AttributeType? {
    guard case .coalesce(let first, let second) = operand else { return type(operand) }
    return AttributeType.common(calculatedType(first), and: calculatedType(second))
  }

  mutating func type(_ path: PropertyPath) -> AttributeType? {
    let end = walk(path)
    guard let name = end.rest.first, name != "id" || end.rest.count > 1 else { return .int }
    return end.entity?.attribute(named: name)?.type
  }

  static func order(_ a: AttributeType?, and b: AttributeType?) -> PredicateEvaluator.Order {
    a?.isNumeric == true || b?.isNumeric == true ? .numbers : .stored
  }

  /// Converts a constant text to the stored form of the other side's type, if that type is UUID or date
  /// and the text is a valid one.
  private func fitting(_ operand: Operand, of type: AttributeType?, to other: AttributeType?) -> Operand {
    guard case .value(.text(let text)) = operand, type == .string,
      case .value(let value)? = other?.lifted(text)
    else { return operand }
    return .value(value)
  }

  private func folded(_ operand: Operand, _ options: StringOptions) -> Operand {
    guard !options.isEmpty else { return operand }
    if case .value(let value) = operand {
      guard case .text(let text) = value else { return operand }
      return .value(.text(Folding.fold(text, options)))
    }
    return .folded(operand, options)
  }
}
