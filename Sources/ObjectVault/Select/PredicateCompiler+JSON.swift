// Parts of JSON attributes as SQL. The type of a part is that of the other side of a comparison, unless CAST
// or a key path has it.

internal import CipherSQLite

extension PredicateCompiler {
  /// Compiles a part of a JSON attribute.
  /// - Parameter end: The object that has the attribute, with the rest of the path.
  func part(_ part: JSONPartPath, of end: ResolvedPath, at place: Int?) throws -> CompiledOperand {
    let label = "\(end.entity.name).\(part.shown)"
    guard let type = part.type else {
      throw failure(
        "\(label) is a part of JSON, whose type is not known here; in a condition, compare it with a value, or write "
          + "CAST(\(part.shown), 'String') for its type; a sort, a value and a group need a key path, such as "
          + "\\.settings.theme", at: place)
    }
    let path = SQL.bound(.text(JSONPath.text(of: part.names)))
    let column = end.entity.slot(named: part.attribute).flatMap { end.entity.slots[$0].columnName }
    guard let column else { throw unknown(part.attribute, in: end.entity, at: place) }
    return CompiledOperand(
      sql: "vault_json(\(alias: end.alias).\(column), \(path), \(literal: type.rawValue))", type: type,
      needs: end.needs, height: 1, place: place, label: .other(label))
  }

  /// Checks that a value has an order, which a structure or an array in JSON has not.
  func checkOrder(_ value: CompiledOperand) throws {
    guard value.type == .json, !value.isColumn else { return }
    throw failure("\(value.name) is a structure or an array in JSON, which has no order", at: value.place)
  }

  /// Returns two operands of a comparison. A part of JSON without a type gets the type of the other operand.
  mutating func typed(_ a: PredicateOperand, comparedWith b: PredicateOperand) throws -> (
    PredicateOperand, PredicateOperand
  ) {
    switch (untypedPart(a), untypedPart(b)) {
    case (nil, nil): return (a, b)
    case (let path?, nil): return (.path(path.read(as: try compiled(b).type?.ofJSONPart ?? .json)), b)
    case (nil, let path?): return (a, .path(path.read(as: try compiled(a).type?.ofJSONPart ?? .json)))
    case (let path?, _?):
      throw failure(
        "both sides are parts of JSON, whose types are not known; write CAST(\(path.names.shownPath), "
          + "'String') or the like", at: path.place)
    }
  }

  /// Returns the operand of an IN: a part of JSON without a type gets that of the first element that has one.
  mutating func typed(_ operand: PredicateOperand, among list: [PredicateOperand]) throws -> PredicateOperand
  {
    guard let path = untypedPart(operand) else { return operand }
    guard let element = list.first(where: { constant($0)?.value.stored.isNull != true }) else {
      return .path(path.read(as: .json))
    }
    return try typed(operand, comparedWith: element).0
  }

  /// Returns the operands of `a ?? b ?? c`. Parts of JSON without a type get the type of the first operand
  /// that has one.
  mutating func typedParts(of operand: PredicateOperand) throws -> [PredicateOperand] {
    let parts = operand.alternatives
    guard parts.contains(where: { untypedPart($0) != nil }) else { return parts }
    let known = try parts.first { untypedPart($0) == nil && constant($0)?.value.stored.isNull != true }
      .flatMap { try compiled($0).type }
    guard let known else { return parts }
    return parts.map { part in untypedPart(part).map { .path($0.read(as: known.ofJSONPart)) } ?? part }
  }

  /// Returns the path of an operand that is a part of JSON without a type; nil for other operands.
  func untypedPart(_ operand: PredicateOperand) -> PropertyPath? {
    guard case .path(let path) = operand, let part = part(at: path), part.type == nil else { return nil }
    return path
  }

  /// Returns the path to the number of elements of an array in JSON; nil for any other path.
  func sizeOfPart(_ path: PropertyPath) -> PropertyPath? {
    let size = path.sizeOfPart
    return part(at: size) == nil ? nil : size
  }

  /// Returns the part of JSON that a path leads to; nil for other paths.
  private func part(at path: PropertyPath) -> JSONPartPath? {
    guard scopes.indices.contains(path.depth) else { return nil }
    let scope = scopes[path.depth]
    var (entity, names) = (scope.entity, (scope.prefix + path.names)[...])
    guard names.count > 1 || names.first?.utf8.last == UInt8(ascii: "]") else { return nil }
    while let name = names.first, let hop = try? hop(name, from: entity, at: nil) {
      entity = hop.entity
      names.removeFirst()
    }
    return JSONPartPath(names, isJSON: entity.isJSON)
  }
}

extension EntityMapping {
  /// Returns whether an attribute is stored as JSON.
  func isJSON(_ attribute: String) -> Bool {
    slot(named: attribute).flatMap { slots[$0].attribute }?.type == .json
  }
}
