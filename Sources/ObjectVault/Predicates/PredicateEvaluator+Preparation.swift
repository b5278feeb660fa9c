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

  private let run: MatchRun

  init(_ entity: String, _ schema: Schema, matches run: MatchRun? = nil) {
    self.schema = schema
    self.run = run ?? MatchRun(limit: MatchPattern.defaultLimit)
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
      let truth = PredicateOperand.value(PredicateValue.boolean(true))
      return .comparison(
        self.operand(typed(operand, comparedWith: truth).0), .equality(true), .value(.integer(1)), .numbers)
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
    let (left, right) = typed(left, comparedWith: right)
    if comparison == .matches { return .matches(operand(left), operand(right), options, run) }
    let (a, b) = (type(left), type(right))
    // Whether a value is nil does not depend on what is ignored.
    let options = isNil(left) || isNil(right) ? [] : options
    var (first, second) = (
      folded(fitting(numbered(operand(left), against: right), of: a, to: b), options),
      folded(fitting(numbered(operand(right), against: left), of: b, to: a), options)
    )
    if case .order = comparison.entry.meaning {
      (first, second) = (ranked(first, of: left), ranked(second, of: right))
    }
    if comparison == .like, case .value(.text(let pattern)) = second {
      return .like(first, LikePattern(pattern))
    }
    return .comparison(first, comparison.entry.meaning, second, Self.order(a, and: b))
  }

  private mutating func list(
    _ operand: PredicateOperand, _ list: [PredicateOperand], options: StringOptions
  ) -> Condition {
    let operand = typed(operand, among: list)
    // A constant is compared with each element separately, converted to the type of the element.
    if constant(operand) != nil {
      return .any(list.map { comparison(operand, .equal, with: $0, options: options) })
    }
    let subject = type(operand)
    var constants: [SQLValue] = []
    var rest: [Operand] = []
    var order = PredicateEvaluator.Order.stored
    for element in list {
      let element = typed(operand, comparedWith: element).1
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
    let (steps, scope) = members(path)
    scopes.append(scope)
    defer { scopes.removeLast() }
    return .anyMember(depth: path.depth, steps, condition(inner))
  }

  /// Returns the steps to the members at the end of a path, and the scope of their conditions.
  private mutating func members(_ path: PropertyPath) -> ([PredicateEvaluator.Step], Scope) {
    guard scopes.indices.contains(path.depth) else { return ([], Scope(entity: nil)) }
    let scope = scopes[path.depth]
    var names = (scope.prefix + path.names)[...]
    var (entity, route) = (scope.entity, scope.route)
    var steps: [PredicateEvaluator.Step] = []
    // Up to the last to-many; the rest belongs to the members' own paths.
    while containsToMany(names, from: entity), let name = names.popFirst(),
      let step = step(name, from: entity)
    {
      steps.append(step.step)
      entity = step.entity
      route.append(step.name)
      follow(route)
    }
    return (steps, Scope(entity: entity, prefix: Array(names), route: route))
  }

  private func containsToMany(_ names: ArraySlice<String>, from entity: EntityDescription?) -> Bool {
    var entity = entity
    for name in names {
      guard let step = step(name, from: entity) else { return false }
      if step.step.isToMany { return true }
      entity = step.entity
    }
    return false
  }

  /// Returns the step to other objects that a name means; nil for an attribute and an unknown name.
  private func step(_ name: String, from entity: EntityDescription?) -> (
    step: PredicateEvaluator.Step, name: String, entity: EntityDescription?
  )? {
    switch PathStep(name) {
    case .property(let name):
      guard let relationship = entity?.relationship(named: name) else { return nil }
      return (
        relationship.isToMany ? .toMany(name) : .toOne(name), name,
        schema.flattenedEntity(named: relationship.destination)
      )
    case .element(let name, let index):
      guard let relationship = entity?.relationship(named: name) else { return nil }
      return (.element(name, index), name, schema.flattenedEntity(named: relationship.destination))
    case .cast(let child):
      guard let entity = schema.flattenedEntity(named: child) else { return nil }
      let names = [entity.name] + schema.descendants(of: entity).map(\.name)
      return (.cast(Set(names)), name, entity)
    case .type: return nil
    }
  }

  private func isNil(_ operand: PredicateOperand) -> Bool { constant(operand)?.stored.isNull == true }

  /// Returns an operand that is compared as less or greater: an id as the number by which ids are sorted.
  private func ranked(_ operand: Operand, of source: PredicateOperand) -> Operand {
    if case .id = operand { return .numberOfID(operand) }
    guard let value = constant(source), value.entity != nil, case .integer(let id) = value.stored else {
      return operand
    }
    return .value(.integer(IDOrder.rank(id)))
  }

  /// Returns the operand. An id that is compared with a number, and not with an object, becomes a number.
  /// A new object has no id yet: its number is above all others.
  private mutating func numbered(_ operand: Operand, against other: PredicateOperand) -> Operand {
    guard operand.isID, isNumber(other) else { return operand }
    return .numberOfID(operand)
  }

  private mutating func isNumber(_ operand: PredicateOperand) -> Bool {
    switch operand {
    case .value, .variable:
      guard let value = constant(operand) else { return false }
      return value.entity == nil && !value.stored.isNull
    case .path(let path): return walk(path).rest.first.map { $0 != "id" } ?? false
    case .count, .arithmetic, .call, .coalesce, .aggregate, .list, .cast, .position: return true
    case .conditional(_, let first, let second):
      let (one, other) = (isNumber(first), isNumber(second))
      return one || other
    }
  }

  private mutating func follow(_ route: [String]) {
    routes.insert(route)
    deepRoutes.insert(route)
  }

  // MARK: Operands

  func constant(_ operand: PredicateOperand) -> PredicateValue? {
    operand.constant(among: values)?.value
  }

  mutating func operand(_ operand: PredicateOperand) -> PredicateEvaluator.Operand {
    switch operand {
    case .value, .variable: return .value(constant(operand)?.stored ?? .null)
    case .path(let path): return self.path(path)
    case .count(let path):
      if part(at: path.sizeOfPart) != nil { return self.path(path.sizeOfPart) }
      return aggregate(MemberAggregate(.count, of: path))
    case .aggregate(let members): return aggregate(members)
    case .list(let function, let elements):
      let result = Operand.list(function, elements.map { number($0) })
      let types = elements.map { calculatedType($0) }
      return function.keepsKind ? casting(result, ifMixed: types) : result
    case .conditional(let test, let first, let second):
      let (a, b) = (type(first), type(second))
      let branches = (fitting(stored(first), of: a, to: b), fitting(stored(second), of: b, to: a))
      return casting(.conditional(condition(test), branches.0, branches.1), ifMixed: [a, b])
    case .cast(let inner, let type):
      if let path = untypedPart(inner) { return self.path(path.read(as: type)) }
      let result = stored(inner)
      let casts = type.casts(from: self.type(inner)) ?? []
      if case .id = result { return .convert(.numberOfID(result), casts) }
      return .convert(result, casts)
    case .position(let inner, let ids):
      return .position(
        self.operand(inner),
        Dictionary(ids.enumerated().map { ($1, Int64($0)) }, uniquingKeysWith: { first, _ in first }))
    case .arithmetic(let left, let operation, let right):
      return .arithmetic(number(left), operation, number(right))
    case .call(let function, let arguments):
      let entry = function.entry
      return .call(
        entry,
        zip(arguments, entry.parameters).map { argument, kind in
          kind == .text ? stored(argument) : number(argument)
        })
    case .coalesce:
      guard case .coalesce(let first, let second) = typedAlternatives(of: operand) else {
        return .value(.null)
      }
      return .coalesce(stored(first), fitting(stored(second), of: type(second), to: type(first)))
    }
  }

  private mutating func aggregate(_ aggregate: MemberAggregate) -> Operand {
    let (steps, scope) = members(aggregate.path)
    let depth = scopes.count
    scopes.append(scope)
    defer { scopes.removeLast() }
    let value = PropertyPath(depth: depth, aggregate.value)
    let type = self.type(value)
    let isCount = aggregate.function == .count && !aggregate.isDistinct
    return .aggregate(
      aggregate.function, depth: aggregate.path.depth, steps,
      of: .init(
        condition: condition(aggregate.condition),
        value: isCount ? .value(.integer(0)) : path(value),
        areNumbers: type?.isStoredAsText != true || type?.isNumeric == true,
        isDistinct: aggregate.isDistinct,
        nothing: aggregate.function.overNothing(type),
        order: aggregate.order.map { key in
          let place = PropertyPath(depth: depth, key.value.names ?? [])
          let operand = path(place)
          if case .id = operand {
            return .init(
              key: .numberOfID(operand), isDescending: key.isDescending, order: .stored,
              listed: aggregate.listed)
          }
          return .init(
            key: operand, isDescending: key.isDescending, order: Self.order(self.type(place), and: nil),
            listed: aggregate.listed)
        }))
  }

  /// Converts the result of a calculation to one kind of number if the types are of several.
  private func casting(_ result: Operand, ifMixed types: [AttributeType?]) -> Operand {
    let known = types.compactMap { $0 }
    guard known.allSatisfy(\.isNumeric), Set(known.map(\.numberKind)).count > 1,
      let type = known.reduce(nil, { AttributeType.common($0, and: $1) })
    else { return result }
    return .cast(result, type.numberKind == .decimal ? .decimal : .real)
  }

  /// Returns an operand of a calculation. Both sides of a `??` are converted to one kind of number.
  private mutating func number(_ operand: PredicateOperand) -> Operand {
    guard case .coalesce(let first, let second) = typedAlternatives(of: operand) else {
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
    if let part = JSONPartPath(end.rest, isJSON: { end.entity?.attribute(named: $0)?.type == .json }) {
      return .json(
        .attribute(depth: path.depth, end.toOnes, part.attribute), JSONPath(part.names), part.type ?? .json)
    }
    guard let name = end.rest.first, name != "id" || end.rest.count > 1 else {
      return .id(depth: path.depth, end.toOnes)
    }
    return .attribute(depth: path.depth, end.toOnes, name)
  }

  /// Follows the to-ones at the beginning of a path.
  mutating func walk(_ path: PropertyPath) -> (
    toOnes: [PredicateEvaluator.Step], route: [String], entity: EntityDescription?, rest: ArraySlice<String>
  ) {
    guard scopes.indices.contains(path.depth) else { return ([], [], nil, []) }
    let scope = scopes[path.depth]
    var names = (scope.prefix + path.names)[...]
    var (entity, toOnes, route) = (scope.entity, [PredicateEvaluator.Step](), scope.route)
    while let name = names.first, let step = step(name, from: entity), !step.step.isToMany {
      toOnes.append(step.step)
      route.append(step.name)
      names.removeFirst()
      // The id of the target is in the row of the fetched object, so the target is not read.
      if route.count == 1, entity?.relationship(named: name)?.hasColumn == true,
        names.isEmpty || names == ["id"]
      {
        routes.insert(route)
      } else {
        follow(route)
      }
      entity = step.entity
    }
    return (toOnes, route, entity, names)
  }

  // MARK: Types

  mutating func type(_ operand: PredicateOperand) -> AttributeType? {
    switch operand {
    case .value, .variable: return constant(operand)?.type
    case .path(let path): return type(path)
    case .count: return .int
    case .aggregate(let members):
      scopes.append(self.members(members.path).1)
      defer { scopes.removeLast() }
      return AttributeType.result(
        of: members.function, type(PropertyPath(depth: scopes.count - 1, members.value)))
    case .list(let function, let elements):
      let types = elements.map { calculatedType($0) }
      let isSingle = types.count == 1 || types.contains(.date)
      return AttributeType.result(
        of: function, isSingle ? types[0] : types.reduce(nil) { AttributeType.common($0, and: $1) })
    case .conditional(_, let first, let second):
      let (a, b) = (type(first), type(second))
      return a?.isNumeric == true && b?.isNumeric == true && a?.numberKind != b?.numberKind
        ? AttributeType.common(a, and: b) : a ?? b
    case .cast(_, let type): return type
    case .position: return .int
    case .arithmetic(let left, _, let right):
      return AttributeType.common(calculatedType(left), and: calculatedType(right))
    case .call(let function, let arguments):
      return AttributeType(function.entry.result) ?? arguments.first.flatMap { calculatedType($0) }
    case .coalesce:
      for part in typedAlternatives(of: operand).alternatives {
        if let type = type(part) { return type }
      }
      return nil
    }
  }

  /// Returns the type of an operand in a calculation, where both sides of a `??` become one kind of
  /// number.
  private mutating func calculatedType(_ operand: PredicateOperand) -> AttributeType? {
    guard case .coalesce(let first, let second) = typedAlternatives(of: operand) else { return type(operand) }
    return AttributeType.common(calculatedType(first), and: calculatedType(second))
  }

  mutating func type(_ path: PropertyPath) -> AttributeType? {
    let end = walk(path)
    if end.rest.count > 1, case .type(let type) = PathStep(end.rest[end.rest.endIndex - 1]) { return type }
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
