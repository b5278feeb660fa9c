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
    case .operand, .guarded, .condition, .part:
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
    case .operand, .guarded, .condition, .list, .range, .part:
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

  /// Reads a subscript of an ordered to-many, or of an array in a JSON attribute.
  mutating func element(_ index: Int) throws -> Lowered {
    let element = nextElement()
    switch try next() {
    case .path(var path) where element.type is ManagedObject.Type:
      guard let name = path.names.popLast(), case .property = PathStep(name) else { break }
      path.names.append(PathStep.element(name, index: .number(index)).name)
      return .path(path)
    case let base:
      if let part = part(of: base, type: element.collection) {
        return try self.element("[\(index)]", element, of: part)
      }
    }
    throw Self.unsupported(
      "a subscript needs an ordered to-many relationship, or an array in a JSON attribute")
  }

  /// Reads a subscript of a dictionary in a JSON attribute.
  mutating func keyedElement() throws -> Lowered {
    let element = nextElement()
    guard let key = element.key, let part = part(of: try next(), type: element.collection) else {
      throw Self.unsupported("a key in brackets needs a dictionary in a JSON attribute")
    }
    return try self.element(JSONPath.name(ofKey: key), element, of: part)
  }

  private func element(
    _ name: String, _ element: JSONElement, of part: (path: PropertyPath, sample: JSONSample)
  ) throws -> Lowered {
    var path = part.path
    path.names.append(name)
    do throws(JSONSampleError) {
      return .part(path, try part.sample.element(element))
    } catch { throw Self.unsupported(error.description) }
  }

  /// Returns a part of a JSON attribute, or the attribute itself; nil for anything else.
  /// - Parameter type: The Swift type of the value.
  private func part(of base: Lowered, type: Any.Type) -> (path: PropertyPath, sample: JSONSample)? {
    switch base {
    case .part(let path, let sample): (path, sample)
    case .path(let path): JSONSample(type).map { (path, $0) }
    case .operand, .guarded, .condition, .list, .range, .filtered: nil
    }
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
        if keyPath == set.isEmptyPath, !set.isOfObjects {
          let none = PredicateOperand.value(try PredicateValue(0))
          return .condition(.comparison(.count(path), .equal, none, []), isNil: nil)
        }
        if keyPath == set.isEmptyPath {
          return .condition(.quantified(.none, path, .constant(true)), isNil: nil)
        }
      case .filtered(let path, let filter):
        if keyPath == set.countPath {
          return .operand(.aggregate(MemberAggregate(.count, of: path, where: filter)))
        }
        if keyPath == set.isEmptyPath { return .condition(.quantified(.none, path, filter), isNil: nil) }
      case .part(let path, _):
        if keyPath == set.countPath { return .operand(.path(path.sizeOfPart)) }
        if keyPath == set.isEmptyPath {
          let none = PredicateOperand.value(try PredicateValue(0))
          return .condition(.comparison(.path(path.sizeOfPart), .equal, none, []), isNil: nil)
        }
      case .operand, .guarded, .condition, .list, .range: break
      }
    }
    if keyPath == \String.isEmpty {
      switch base {
      case .path, .part:
        return .condition(
          .comparison(try base.operand(), .equal, .value(try PredicateValue("")), []), isNil: nil)
      default: break
      }
    }
    if let function = PredicateFunction(keyPath: keyPath) {
      return .operand(.call(function, [try base.operand()]))
    }
    if let part = part(of: base, type: root) {
      do throws(JSONSampleError) {
        let next = try part.sample.following(keyPath)
        var path = part.path
        path.names += next.names.suffix(1)
        return .part(path, next)
      } catch { throw Self.unsupported(error.description) }
    }
    throw Self.unsupported("a property of \(root) has no counterpart in SQL")
  }
}

/// The Swift type of a to-many, for its `count` and `isEmpty`.
private protocol MemberSet {
  /// Whether the elements are objects: of a to-many, and not of a JSON attribute.
  static var isOfObjects: Bool { get }
  static var countPath: AnyKeyPath { get }
  static var isEmptyPath: AnyKeyPath { get }
}
// All sets conform, although only sets of managed objects are used: with the condition `Element:
// ManagedObject`, the compiler of Swift 6.3 rejects the key paths.
extension Set: MemberSet {
  fileprivate static var isOfObjects: Bool { Element.self is ManagedObject.Type }
  fileprivate static var countPath: AnyKeyPath { \Set<Element>.count }
  fileprivate static var isEmptyPath: AnyKeyPath { \Set<Element>.isEmpty }
}
extension Array: MemberSet {
  fileprivate static var isOfObjects: Bool { Element.self is ManagedObject.Type }
  fileprivate static var countPath: AnyKeyPath { \[Element].count }
  fileprivate static var isEmptyPath: AnyKeyPath { \[Element].isEmpty }
}
