// Properties, lists, ranges and members in a #Predicate.

internal import CipherSQLite

extension PredicateReader {
  mutating func contains() throws -> Lowered {
    switch try next() {
    case .list(let values):
      return .condition(.isIn(try operand(), values.map { .value($0) }, []), isNil: nil)
    case .range(let low, let high, let isClosed):
      return .condition(Self.within(try operand(), from: low, to: high, isClosed: isClosed), isNil: nil)
    case .path(let path):
      // A to-many: its members are compared by their ids.
      return .condition(.quantified(.any, path, try isMember()), isNil: nil)
    case .filtered(let path, let test):
      return .condition(.quantified(.any, path, .and([test, try isMember()])), isNil: nil)
    case .operand, .guarded, .condition:
      throw Self.unsupported("contains needs a list, a range or a to-many relationship")
    }
  }

  /// Reads the element of `contains`, as a condition on the member.
  private mutating func isMember() throws -> PredicateNode {
    depth += 1
    defer { depth -= 1 }
    return .comparison(.path(PropertyPath(depth: depth, [])), .equal, try operand(), [])
  }

  mutating func members(_ quantifier: Quantifier, _ variable: Int) throws -> Lowered {
    let (path, filter) = try collection("contains(where:) and allSatisfy")
    let test = try memberCondition(variable)
    guard let filter else { return .condition(.quantified(quantifier, path, test), isNil: nil) }
    let inner = quantifier == .all ? PredicateNode.or([.not(filter), test]) : .and([filter, test])
    return .condition(.quantified(quantifier, path, inner), isNil: nil)
  }

  mutating func filter(_ variable: Int) throws -> Lowered {
    let (path, filter) = try collection("filter")
    let test = try memberCondition(variable)
    return .filtered(path, filter.map { .and([$0, test]) } ?? test)
  }

  /// Reads a to-many, with the condition of its `filter` if it has one.
  private mutating func collection(_ name: String) throws -> (path: PropertyPath, filter: PredicateNode?) {
    switch try next() {
    case .path(let path): return (path, nil)
    case .filtered(let path, let filter): return (path, filter)
    case .operand, .guarded, .condition, .list, .range:
      throw Self.unsupported("\(name) needs a to-many relationship")
    }
  }

  /// Reads a condition on a member, which the variable stands for.
  private mutating func memberCondition(_ variable: Int) throws -> PredicateNode {
    depth += 1
    defer { depth -= 1 }
    variables[variable] = .path(PropertyPath(depth: depth, []))
    return try condition()
  }

  /// Reads a subscript of an ordered to-many.
  mutating func element(_ index: Int) throws -> Lowered {
    guard case .path(var path) = try next(), let name = path.names.popLast(),
      case .property = PathStep(name)
    else { throw Self.unsupported("a subscript needs an ordered to-many relationship") }
    path.names.append(PathStep.element(name, index: .number(index)).name)
    return .path(path)
  }

  /// Reads `min()` or `max()` of captured values.
  mutating func extreme(_ function: CollectionFunction) throws -> Lowered {
    guard case .list(let values) = try next() else {
      throw Self.unsupported(
        "min() and max() need captured values; for the members of a to-many, add a condition as a text, such as "
          + "books.@max.year > 1999")
    }
    let type = values.lazy.compactMap(\.type).first
    let areNumbers = type?.isStoredAsText != true || type?.isNumeric == true
    return .operand(
      .value(PredicateValue(type: type, stored: function.apply(values.map(\.stored), areNumbers: areNumbers)))
    )
  }

  /// Reads a cast of an object to a child entity.
  mutating func cast() throws -> PropertyPath {
    let entity = entity()
    guard case .path(var path) = try next() else {
      throw Self.unsupported("only an object can be cast to a class")
    }
    path.names.append(PathStep.cast(entity).name)
    return path
  }

  mutating func isWithin() throws -> Lowered {
    guard case .range(let low, let high, let isClosed) = try next() else {
      throw Self.unsupported("a range needs two bounds")
    }
    return .condition(Self.within(try operand(), from: low, to: high, isClosed: isClosed), isNil: nil)
  }

  private static func within(
    _ element: PredicateOperand, from low: PredicateOperand, to high: PredicateOperand, isClosed: Bool
  ) -> PredicateNode {
    if isClosed { return .between(element, low, high) }
    return .and([.comparison(element, .greaterOrEqual, low, []), .comparison(element, .less, high, [])])
  }

  // MARK: Properties

  /// Reads a property of the next expression.
  mutating func property(_ keyPath: AnyKeyPath) throws -> Lowered {
    let base = try next()
    let root = type(of: keyPath).rootType
    if let object = root as? ManagedObject.Type {
      guard case .path(var path) = base else {
        throw Self.unsupported("a property of a computed value has no counterpart in SQL")
      }
      switch KeyPathResolver.resolve(keyPath, root: object) {
      case .success(let names): path.names += names
      case .failure(let error): throw Self.unsupported(error.description)
      }
      return .path(path)
    }
    if let set = root as? any MemberSet.Type {
      switch base {
      case .path(let path):
        if keyPath == set.countPath { return .operand(.count(path)) }
        if keyPath == set.isEmptyPath {
          return .condition(.quantified(.none, path, .constant(true)), isNil: nil)
        }
      case .filtered(let path, let filter):
        if keyPath == set.countPath {
          return .operand(.aggregate(MemberAggregate(.count, of: path, where: filter)))
        }
        if keyPath == set.isEmptyPath { return .condition(.quantified(.none, path, filter), isNil: nil) }
      case .operand, .guarded, .condition, .list, .range: break
      }
    }
    if keyPath == \String.isEmpty, case .path(let path) = base {
      return .condition(.comparison(.path(path), .equal, .value(try PredicateValue("")), []), isNil: nil)
    }
    if let function = PredicateFunction(keyPath: keyPath) {
      return .operand(.call(function, [try base.operand()]))
    }
    throw Self.unsupported("a property of \(root) has no counterpart in SQL")
  }
}

/// The Swift type of a to-many, for its `count` and `isEmpty`.
private protocol MemberSet {
  static var countPath: AnyKeyPath { get }
  static var isEmptyPath: AnyKeyPath { get }
}
// All sets conform, although only sets of managed objects are used: with the condition `Element:
// ManagedObject`, the compiler of Swift 6.3 rejects the key paths.
extension Set: MemberSet {
  fileprivate static var countPath: AnyKeyPath { \Set<Element>.count }
  fileprivate static var isEmptyPath: AnyKeyPath { \Set<Element>.isEmpty }
}
extension Array: MemberSet {
  fileprivate static var countPath: AnyKeyPath { \[Element].count }
  fileprivate static var isEmptyPath: AnyKeyPath { \[Element].isEmpty }
}
