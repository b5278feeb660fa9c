// Operands as SQL. A to-one is joined once, however many paths use it. Calculations and functions are in
// PredicateCompiler+Calculations.

internal import CipherSQLite
private import Foundation

/// An operand in SQL, with its type and other facts.
struct CompiledOperand {
  var sql: SQL
  /// The attribute type; nil for nil.
  var type: AttributeType?
  /// The entity, if the operand is an object, which is compared by its id.
  var object: EntityMapping?
  /// Whether the operand is an explicit id, which can be ordered.
  var isID = false
  /// Whether the operand is a column, which has its own collation.
  var isColumn = false
  /// The value, if the operand is a constant.
  var constant: PredicateValue?
  /// The joined tables that the operand depends on: it is nil if one of them has no row.
  var needs: SlotSet = []
  /// The number of nested levels of parentheses.
  var height = 0
  /// The position in the text.
  var place: Int?
  /// The name of the operand in errors, which is only composed when it is needed.
  var label: Label

  enum Label {
    case constant
    case property(EntityMapping, String)
    case other(String)
  }

  var isObject: Bool { object != nil || constant?.entity != nil }
  var entityName: String? { object?.name ?? constant?.entity }

  var name: String {
    switch label {
    case .constant: constant?.entity.map { "an object of \($0)" } ?? kind
    case .property(let entity, let name): "\(entity.name).\(name)"
    case .other(let name): name
    }
  }

  /// Returns the name with the entity. The name of a constant contains the entity already.
  func ownership(_ entity: String) -> String {
    if case .constant = label { name } else { "\(name), of \(entity)," }
  }

  /// The type with its article.
  var kind: String {
    guard let type else { return "nil" }
    return isObject ? "an object" : ("aeiou".contains(type.rawValue.prefix(1)) ? "an " : "a ") + type.rawValue
  }
}

/// The list of ids that was packed last: all pages of an order need the same one.
private enum PackedOrder {
  private static let last = Locked<(ids: [Int64], bytes: Data)?>(nil)

  static func packed(_ ids: [Int64]) -> Data {
    // Two copies of one array are equal at once.
    if let last = last.withLock({ $0 }), last.ids == ids { return last.bytes }
    let bytes = RowPositions.packed(ids)
    last.withLock { $0 = (ids, bytes) }
    return bytes
  }
}

extension PredicateCompiler {
  /// Compiles an operand.
  mutating func compiled(_ operand: PredicateOperand) throws -> CompiledOperand {
    switch operand {
    case .value, .variable:
      guard let (value, source) = constant(operand) else { throw unbound(operand) }
      return CompiledOperand(
        sql: .bound(value.stored, source: source), type: value.type, isID: value.type == .int,
        constant: value, place: value.place, label: .constant)
    case .path(let path): return try column(path)
    case .count(let path):
      if let size = sizeOfPart(path) { return try column(size) }
      return try aggregate(MemberAggregate(.count, of: path))
    case .aggregate(let members): return try aggregate(members)
    case .cast(let inner, let type):
      if let path = untypedPart(inner) { return try column(path.read(as: type)) }
      return try calculation(operand)
    case .arithmetic, .call, .list: return try calculation(operand)
    case .coalesce: return try coalesced(operand)
    case .conditional(let test, let first, let second): return try conditional(test, first, else: second)
    case .position(let inner, let ids): return try position(of: inner, in: ids)
    }
  }

  private func unbound(_ operand: PredicateOperand) -> StoreError {
    guard case .variable(let name) = operand else { return failure("a constant has no value") }
    return failure("the variable $\(shortened(name)) has no value; give it one with substituting(_:)")
  }

  /// Compiles `a ?? b ?? c` to one call.
  private mutating func coalesced(_ operand: PredicateOperand) throws -> CompiledOperand {
    let parts = try typedParts(of: operand).map { try compiled($0) }
    var result = parts[0]
    var fragments = [result.sql]
    for part in parts.dropFirst() {
      fragments.append(try fitting(part, for: result).sql)
      result.type = result.type ?? part.type
      result.object = result.object ?? part.object
      result.needs = result.needs.intersection(part.needs)
      result.height = max(result.height, part.height)
    }
    result.height += 1
    result.sql = "coalesce(\(SQL.joined(fragments)))"
    result.constant = nil
    result.isColumn = false
    return result
  }

  /// Compiles the position of an id in a list.
  private mutating func position(of id: PredicateOperand, in ids: [Int64]) throws -> CompiledOperand {
    let operand = try compiled(id)
    guard operand.isObject || operand.isID else {
      throw failure("\(operand.name) is \(operand.kind), and only an id has a position", at: operand.place)
    }
    dependsOnConstants()
    return CompiledOperand(
      sql: "vault_position(\(operand.sql), \(SQL.bound(.blob(PackedOrder.packed(ids)))))", type: .int,
      needs: operand.needs, height: operand.height + 1, place: operand.place, label: .other("a position"))
  }

  /// Compiles `TERNARY(test, first, second)`.
  private mutating func conditional(
    _ test: PredicateNode, _ first: PredicateOperand, else second: PredicateOperand
  ) throws -> CompiledOperand {
    let condition = try condition(test, isNegated: false, isNarrowed: false)
    var (a, b) = (try compiled(first), try compiled(second))
    var type = a.type ?? b.type
    if a.type?.isNumeric == true, b.type?.isNumeric == true, !a.isObject, !b.isObject {
      type = a.type?.numberKind == b.type?.numberKind ? a.type : AttributeType.common(a.type, and: b.type)
      if a.type?.numberKind != b.type?.numberKind {
        let symbol: SQL = type?.numberKind == .decimal ? "'.d'" : "'.r'"
        (a.sql, b.sql) = ("vault_math(\(symbol), \(a.sql))", "vault_math(\(symbol), \(b.sql))")
      }
    } else if a.constant != nil, b.constant == nil {
      a = try branch(a, like: b)
      type = b.type ?? a.type
    } else {
      b = try branch(b, like: a)
    }
    return CompiledOperand(
      sql: "CASE WHEN \(condition.sql) THEN \(a.sql) ELSE \(b.sql) END", type: type,
      object: a.object ?? b.object,
      isID: a.isID && b.isID, needs: a.needs.intersection(b.needs),
      height: max(condition.height, a.height, b.height) + 3, place: a.place ?? b.place,
      label: .other("TERNARY"))
  }

  /// Returns a branch of a TERNARY, converted to the type of the other one.
  private mutating func branch(_ operand: CompiledOperand, like other: CompiledOperand) throws
    -> CompiledOperand
  {
    guard case .operand(let fitting, _) = try adapted(operand, to: other, for: .equal) else { return operand }
    return fitting
  }

  /// Returns the second operand of `??`, converted to the type of the first.
  private mutating func fitting(_ b: CompiledOperand, for a: CompiledOperand) throws -> CompiledOperand {
    // NaN stays, and the engine makes it nil.
    if case .real(let number)? = b.constant?.stored, number.isNaN, a.type?.numberKind == .real { return b }
    guard case .operand(let fitting, _) = try adapted(b, to: a, for: .equal),
      a.type == nil || b.constant != nil || a.type?.isNumeric != true || b.type == nil
        || a.type?.numberKind == b.type?.numberKind
    else {
      throw failure(
        "\(b.name) cannot replace \(a.name) after ??, because the types differ", at: b.place ?? a.place)
    }
    return fitting
  }

  // MARK: Columns

  private mutating func column(_ path: PropertyPath) throws -> CompiledOperand {
    let end = try walk(path)
    let (entity, names) = (end.entity, end.rest)
    var operand = CompiledOperand(
      sql: "\(alias: end.alias).\"id\"", type: .int, object: entity, isColumn: true, needs: end.needs,
      place: path.place,
      label: end.lookedUp.map { .property($0.owner, $0.name) } ?? .other("the object"))
    guard let name = names.first else { return operand }
    if names.count > 1 || name.utf8.last == UInt8(ascii: "]"),
      let part = JSONPartPath(names, isJSON: entity.isJSON)
    {
      return try self.part(part, of: end, at: path.place)
    }
    operand.label = .property(entity, name)
    if name == "id", names.count == 1 {
      operand.isID = true
      return operand
    }
    guard let slot = entity.slot(named: name) else { throw unknown(name, in: entity, at: path.place) }
    let info = entity.slots[slot]
    if let column = info.columnName {
      // A plus before a column keeps the engine from using that column's index to find the row.
      operand.sql =
        isServed(slot, of: end, depth: path.depth)
        ? "\(alias: end.alias).\(column)" : "+\(alias: end.alias).\(column)"
    }
    if let relationship = info.relationship {
      guard !relationship.isToMany else {
        throw failure(
          "\(entity.name).\(name) is a to-many; write ANY, ALL or NONE before it, or compare its @count; "
            + "CONTAINS takes an object as an argument",
          at: path.place)
      }
      operand.object = relationship.destination
      operand.isID = names.count == 2
      return operand
    }
    guard names.count == 1 else {
      throw failure(
        "\(entity.name).\(name) is an attribute and has no \(shortened(names[names.startIndex + 1]))",
        at: path.place)
    }
    operand.object = nil
    operand.type = info.attribute?.type
    return operand
  }

  /// Returns whether the engine may use a column's index, if it has one, to find rows.
  ///
  /// With statistics the engine chooses by what the indexes find. Without them it assumes that an equality
  /// finds ten rows in any index, and might find the rows of all owners; but it prefers an equality, that of
  /// the link to the owner, to a range.
  private func isServed(_ slot: Int, of end: ResolvedPath, depth: Int) -> Bool {
    guard let served = scopes[depth].usableIndexSlots, end.alias == scopes[depth].alias else { return true }
    return served.contains(slot) || isInRange || end.entity.hasStatistics || !end.entity.isIndexed(slot)
  }

  /// The object at the end of a path's joins, with the rest of the path: an attribute, a to-many or a
  /// to-one with a column. A to-one without a column is always joined, so the rest may be empty after it.
  struct ResolvedPath {
    var alias: Int
    var entity: EntityMapping
    var rest: ArraySlice<String>
    var needs: SlotSet
    /// The owner and the name of the to-one without a column, or of the ordered to-many, that was joined
    /// last.
    var lookedUp: (owner: EntityMapping, name: String)?
  }

  /// Follows the to-ones of a path, and joins them.
  mutating func walk(_ path: PropertyPath) throws -> ResolvedPath {
    guard scopes.indices.contains(path.depth) else {
      throw failure("a path begins at an unknown variable", at: path.place)
    }
    let scope = scopes[path.depth]
    let names = scope.prefix.isEmpty ? path.names : scope.prefix + path.names
    var end = ResolvedPath(alias: scope.alias, entity: scope.entity, rest: names[...], needs: [])
    for index in names.indices {
      let name = names[index]
      // `user` and `user.id` end at the column user_id, which needs no join.
      let isLast = index == names.count - 1 || (index == names.count - 2 && names[index + 1] == "id")
      guard let hop = try hop(name, from: end.entity, at: path.place), !hop.isToMany,
        !isLast || hop.relationship?.hasMembers != false
      else { break }
      let join = join(hop, from: end, path: Array(names[...index]), depth: path.depth)
      end = ResolvedPath(
        alias: join.alias, entity: join.entity, rest: names[(index + 1)...], needs: join.needs,
        lookedUp: hop.relationship.map { ($0.owner, $0.name) } ?? end.lookedUp)
      if hop.relationship?.hasMembers == false { end.lookedUp = nil }
    }
    return end
  }

  private mutating func join(_ hop: Hop, from end: ResolvedPath, path: [String], depth: Int) -> Join {
    if let known = scopes[depth].joins.first(where: { $0.path == path }) { return known }
    let alias = newAlias()
    let join = Join(
      path: path, alias: alias, entity: hop.entity, condition: hop.condition(from: end.alias, to: alias),
      needs: end.needs.union([alias]))
    scopes[depth].joins.append(join)
    return join
  }

  /// Returns the error for an unknown property.
  func unknown(_ name: String, in entity: EntityMapping, at place: Int?) -> StoreError {
    if name.hasPrefix("[") {
      return failure(
        "an index or a key in brackets must follow the name of an ordered to-many or of a JSON attribute",
        at: place)
    }
    let near = nearest(name, among: entity.slots.map(\.name))
    let known = entity.slots.prefix(20).map(\.name).joined(separator: ", ")
    let hint =
      didYouMean(near) ?? "its properties are \(known)\(entity.slots.count > 20 ? " and others" : "")"
    return failure("\(entity.name) has no property \"\(shortened(name))\"; \(hint)", at: place)
  }
}
