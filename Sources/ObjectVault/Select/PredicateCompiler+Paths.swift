// Operands -> SQL. A to-one is joined once, however many paths run through it. Calculations and functions are in
// PredicateCompiler+Calculations.

internal import CipherSQLite

/// An operand in SQL with what is known of it.
struct CompiledOperand {
  var sql: SQL
  /// The attribute's type; nil for nil.
  var type: AttributeType?
  /// The entity, for an object, standing for its id.
  var object: EntityMapping?
  /// Whether it is an id, which has an order.
  var isID = false
  /// Whether it is a column and has the column's collation.
  var isColumn = false
  /// The value, where it is a constant.
  var constant: PredicateValue?
  /// The joined tables without whose rows it is nil.
  var needs: SlotSet = []
  /// Where it stands in the text.
  var place: Int?
  /// How errors call it, put together when one does.
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

  /// The operand with its entity, which the name of a constant says already.
  func ownership(_ entity: String) -> String {
    if case .constant = label { name } else { "\(name), of \(entity)," }
  }

  /// The type with its article.
  var kind: String {
    guard let type else { return "nil" }
    return isObject ? "an object" : ("aeiou".contains(type.rawValue.prefix(1)) ? "an " : "a ") + type.rawValue
  }
}

extension PredicateCompiler {
  mutating func compiled(_ operand: PredicateOperand) throws -> CompiledOperand {
    switch operand {
    case .value, .variable:
      guard let (value, source) = constant(operand) else { throw unbound(operand) }
      return CompiledOperand(
        sql: .bound(value.stored, source: source), type: value.type, isID: value.type == .int,
        constant: value, place: value.place, label: .constant)
    case .path(let path): return try column(path)
    case .count(let path): return try count(path)
    case .arithmetic, .call: return try calculation(operand)
    case .coalesce: return try coalesced(operand)
    }
  }

  private func unbound(_ operand: PredicateOperand) -> StoreError {
    guard case .variable(let name) = operand else { return failure("a constant has no value") }
    return failure("the variable $\(shortened(name)) has no value; give it one with substituting(_:)")
  }

  /// `a ?? b ?? c` as one call.
  private mutating func coalesced(_ operand: PredicateOperand) throws -> CompiledOperand {
    var parts: [CompiledOperand] = []
    var waiting = [operand]
    while let next = waiting.popLast() {
      if case .coalesce(let first, let second) = next {
        waiting += [second, first]
      } else {
        parts.append(try compiled(next))
      }
    }
    var result = parts[0]
    var fragments = [result.sql]
    for part in parts.dropFirst() {
      fragments.append(try fitting(part, for: result).sql)
      result.type = result.type ?? part.type
      result.object = result.object ?? part.object
      result.needs = result.needs.intersection(part.needs)
    }
    result.sql = "coalesce(\(SQL.joined(fragments)))"
    result.constant = nil
    result.isColumn = false
    return result
  }

  /// The second operand of `??`, as the first one's type.
  private mutating func fitting(_ b: CompiledOperand, for a: CompiledOperand) throws -> CompiledOperand {
    // NaN equals nothing, as nil does, which the engine makes of it.
    if case .real(let number)? = b.constant?.stored, number.isNaN, a.type?.numberKind == .real { return b }
    guard case .operand(let fitting, _) = try adapted(b, to: a, for: .equal),
      a.type == nil || b.constant != nil || a.type?.isNumeric != true || b.type == nil
        || a.type?.numberKind == b.type?.numberKind
    else { throw failure("\(b.name) cannot stand in for \(a.name)", at: b.place ?? a.place) }
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
    operand.label = .property(entity, name)
    if name == "id", names.count == 1 {
      operand.isID = true
      return operand
    }
    guard let slot = entity.slot(named: name) else { throw unknown(name, in: entity, at: path.place) }
    let info = entity.slots[slot]
    if let column = info.columnName {
      // A plus before a column keeps the engine from finding the row by that column's index.
      operand.sql =
        isServed(slot, of: end, depth: path.depth)
        ? "\(alias: end.alias).\(column)" : "+\(alias: end.alias).\(column)"
    }
    if let relationship = info.relationship {
      guard !relationship.isToMany else {
        throw failure(
          "\(entity.name).\(name) has many members; write ANY, ALL or NONE before it, compare its @count, or use CONTAINS",
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

  /// Whether the engine may find rows by the index of a column, if it has one.
  private func isServed(_ slot: Int, of end: PathEnd, depth: Int) -> Bool {
    guard let served = scopes[depth].servedSlots, end.alias == scopes[depth].alias else { return true }
    return served.contains(slot) || !end.entity.isIndexed(slot)
  }

  /// Where a path leads: the object in front of its last name, an attribute or a to-many; behind a to-one that is looked up, the
  /// object that it leads to.
  struct PathEnd {
    var alias: Int
    var entity: EntityMapping
    var rest: ArraySlice<String>
    var needs: SlotSet
    /// The to-one without a column that led there last.
    var lookedUp: RelationshipMapping?
  }

  /// Follows to-ones, joining them.
  mutating func walk(_ path: PropertyPath) throws -> PathEnd {
    guard scopes.indices.contains(path.depth) else {
      throw failure("a path begins at a variable that is not there", at: path.place)
    }
    let scope = scopes[path.depth]
    let names = scope.prefix.isEmpty ? path.names : scope.prefix + path.names
    var end = PathEnd(alias: scope.alias, entity: scope.entity, rest: names[...], needs: [])
    for index in names.indices {
      let name = names[index]
      // The last step of `user.id` is the column user_id: no join is needed for it.
      let isLast = index == names.count - 1 || (index == names.count - 2 && names[index + 1] == "id")
      guard let slot = end.entity.slot(named: name), let relationship = end.entity.slots[slot].relationship,
        !relationship.isToMany, !isLast || relationship.isLookedUp
      else { break }
      let join = join(relationship, from: end, path: Array(names[...index]), depth: path.depth)
      end = PathEnd(
        alias: join.alias, entity: join.entity, rest: names[(index + 1)...], needs: join.needs,
        lookedUp: relationship.isLookedUp ? relationship : nil)
    }
    return end
  }

  private mutating func join(
    _ relationship: RelationshipMapping, from end: PathEnd, path: [String], depth: Int
  ) -> Join {
    if let known = scopes[depth].joins.first(where: { $0.path == path }) { return known }
    let alias = newAlias()
    let destination = relationship.destination
    let condition: SQL =
      switch relationship.storage {
      case .column(let column): "\(alias: alias).\"id\" = \(alias: end.alias).\(column)"
      case .inverseColumn(let column): "\(alias: alias).\(column) = \(alias: end.alias).\"id\""
      case .join: "0"
      }
    let join = Join(
      path: path, alias: alias, entity: destination, condition: condition,
      needs: end.needs.union([alias]))
    scopes[depth].joins.append(join)
    return join
  }

  func unknown(_ name: String, in entity: EntityMapping, at place: Int?) -> StoreError {
    let near = nearest(name, among: entity.slots.map(\.name))
    let known = entity.slots.prefix(20).map(\.name).joined(separator: ", ")
    let hint = didYouMean(near) ?? "it has \(known)\(entity.slots.count > 20 ? " and others" : "")"
    return failure("\(entity.name) has no property \"\(shortened(name))\"; \(hint)", at: place)
  }
}
