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
      let member = PropertyPath(depth: depth + 1, [])
      return .condition(
        .quantified(.any, path, .comparison(.path(member), .equal, try operand(), [])), isNil: nil)
    case .operand, .guarded, .condition:
      throw Self.unsupported("contains needs a list, a range or a to-many relationship")
    }
  }

  mutating func members(_ quantifier: Quantifier, _ variable: Int) throws -> Lowered {
    guard case .path(let path) = try next() else {
      throw Self.unsupported("contains(where:) and allSatisfy need a to-many relationship")
    }
    depth += 1
    defer { depth -= 1 }
    variables[variable] = .path(PropertyPath(depth: depth, []))
    return .condition(.quantified(quantifier, path, try condition()), isNil: nil)
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
    if let set = root as? any MemberSet.Type, case .path(let path) = base {
      if keyPath == set.countPath { return .operand(.count(path)) }
      if keyPath == set.isEmptyPath {
        return .condition(.quantified(.none, path, .constant(true)), isNil: nil)
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
