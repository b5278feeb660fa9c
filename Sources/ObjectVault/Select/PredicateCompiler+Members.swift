// Conditions on the members of to-manys as SQL: `id IN (SELECT …)` where an index finds the members, and
// otherwise `EXISTS (SELECT …)`, which begins at the link to the object. The choice is not left to the
// engine: its estimates are wrong by a factor of up to 10,000, because it has no statistics about the
// contents of the tables.

internal import CipherSQLite

extension PredicateCompiler {
  /// A table on the path to the members, with its connection to the table before it.
  private struct Step {
    let table: SQLName
    let alias: Int
    /// The sides of the connection: `link = owner`.
    let link: SQL
    let owner: SQL
  }

  /// The path to the members, and the scope of their condition.
  private struct Members {
    var steps: [Step]
    let scope: Scope
    /// The to-one of the members by whose column they are found; nil where they are found by their ids.
    let link: Int?
    /// The joined tables before the first to-many.
    let needs: SlotSet
  }

  /// Compiles a condition on members.
  mutating func members(
    _ path: PropertyPath, _ inner: PredicateNode, isInnerNegated: Bool, exists: Bool, isNarrowed: Bool
  ) throws -> Condition {
    var members = try collection(path)
    let depth = scopes.count
    scopes.append(members.scope)
    defer { scopes.removeLast() }
    // IN finds members in the whole table, which is too much work when another index leaves only few
    // rows.
    let isSet =
      exists && !isNarrowed && !isInnerNegated && isNarrow(inner, depth: depth)
      && !inner.refers(toLessThan: depth)
    // For members that are found by their ids no index is excluded, because nothing is faster than ids.
    if !isSet, let link = members.link {
      scopes[depth].usableIndexSlots = members.scope.entity.slots(
        indexedAfter: link, where: slotsWithOneValue(inner, depth: depth))
    }
    let body = try condition(inner, isNegated: isInnerNegated, isNarrowed: false)
    let first = members.steps.removeFirst()
    let kind: SelectStatement.Join.Kind = isSet ? .inner : .cross
    var query = SelectStatement(
      isSet ? first.link : "1", from: .table(first.table, alias: first.alias))
    query.joins = members.steps.map { step in
      .init(kind: kind, table: step.table, alias: step.alias, condition: "\(step.link) = \(step.owner)")
    }
    query.joins += try joins(of: scopes[depth], needs: body.needs, kind: kind)
    let (needs, height) = (members.needs.union(body.needs), body.height + 3)
    if isSet {
      query.condition = body.sql
      return Condition(sql: "\(first.owner) IN (\(query.sql))", needs: needs, height: height)
    }
    // The deepest part comes first, as in combined().
    let link: SQL = "\(first.link) = \(first.owner)"
    query.condition = body.height > 3 ? "(\(body.sql)) AND \(link)" : "\(link) AND (\(body.sql))"
    return exists
      ? Condition(sql: "EXISTS (\(query.sql))", needs: needs, height: height)
      : Condition(sql: "NOT EXISTS (\(query.sql))", height: height)
  }

  /// Resolves the path to the members. Several to-many steps are flattened by joining them.
  private mutating func collection(_ path: PropertyPath) throws -> Members {
    let start = try walk(path)
    var (alias, entity, rest) = (start.alias, start.entity, start.rest)
    var steps: [Step] = []
    var link: Int?
    while let name = rest.first {
      // `id` after a to-many is the member's own id.
      if name == "id", rest.count == 1, !steps.isEmpty { break }
      guard let slot = entity.slot(named: name) else { throw unknown(name, in: entity, at: path.place) }
      guard let relationship = entity.slots[slot].relationship else { break }
      // After the last to-many, the rest belongs to the members' own paths.
      guard relationship.isToMany || (!steps.isEmpty && containsToMany(rest, from: entity)) else { break }
      let next = newAlias()
      steps += self.steps(relationship, from: alias, to: next)
      if case .inverseColumn = relationship.storage { link = relationship.inverseSlot } else { link = nil }
      (alias, entity) = (next, relationship.destination)
      rest.removeFirst()
    }
    guard !steps.isEmpty else {
      throw failure(
        "\(shortened(path.names.joined(separator: "."))) contains no to-many relationship", at: path.place)
    }
    return Members(
      steps: steps,
      scope: Scope(entity: entity, alias: alias, prefix: Array(rest), tableCount: steps.count),
      link: link, needs: start.needs)
  }

  private func containsToMany(_ names: ArraySlice<String>, from entity: EntityMapping) -> Bool {
    var entity = entity
    for name in names {
      guard let slot = entity.slot(named: name), let relationship = entity.slots[slot].relationship else {
        return false
      }
      if relationship.isToMany { return true }
      entity = relationship.destination
    }
    return false
  }

  /// Returns the tables from one object to the members or the target of a relationship.
  private mutating func steps(_ relationship: RelationshipMapping, from alias: Int, to next: Int) -> [Step] {
    let table = relationship.destination.table
    let (owner, member): (SQL, SQL) = ("\(alias: alias).\"id\"", "\(alias: next).\"id\"")
    switch relationship.storage {
    case .join(let join, let isSource):
      let link = newAlias()
      let (own, other) = join.columns(from: isSource)
      return [
        Step(table: join.tableName, alias: link, link: "\(alias: link).\(own)", owner: owner),
        Step(table: table, alias: next, link: member, owner: "\(alias: link).\(other)"),
      ]
    case .inverseColumn(let column):
      return [Step(table: table, alias: next, link: "\(alias: next).\(column)", owner: owner)]
    case .column(let column):
      return [Step(table: table, alias: next, link: member, owner: "\(alias: alias).\(column)")]
    }
  }

  /// Compiles the number of members of a to-many.
  mutating func count(_ path: PropertyPath) throws -> CompiledOperand {
    let end = try walk(path)
    guard end.rest.count == 1, let slot = end.entity.slot(named: end.rest[end.rest.startIndex]),
      let relationship = end.entity.slots[slot].relationship, relationship.isToMany
    else {
      throw failure(
        "@count must follow one to-many; \(shortened(path.names.joined(separator: "."))) is not one",
        at: path.place)
    }
    let next = newAlias()
    // Counts the links: the members' own rows are not needed.
    let first = steps(relationship, from: end.alias, to: next)[0]
    var counted = SelectStatement("count(*)", from: .table(first.table, alias: first.alias))
    counted.condition = "\(first.link) = \(first.owner)"
    // After a nil to-one there is no owner, and the count is nil.
    let sql: SQL =
      end.needs.isEmpty
      ? "(\(counted.sql))" : "CASE WHEN \(first.owner) IS NULL THEN NULL ELSE (\(counted.sql)) END"
    return CompiledOperand(
      sql: sql, type: .int, needs: end.needs, place: path.place,
      label: .other("\(path.names.joined(separator: ".")).@count"))
  }

  // MARK: Use of indexes

  /// Returns the slots of a scope's own rows that must equal one value for the condition to be true.
  private func slotsWithOneValue(_ node: PredicateNode, depth: Int) -> Set<Int> {
    switch node {
    case .and(let parts): return parts.reduce(into: []) { $0.formUnion(slotsWithOneValue($1, depth: depth)) }
    case .comparison(let left, .equal, let right, []):
      let paths = [left, right].compactMap {
        if case .path(let path) = $0, path.depth == depth { path } else { nil }
      }
      let names = paths.map { scopes[depth].prefix + $0.names }.filter { $0.count == 1 }
      return Set(names.compactMap { scopes[depth].entity.slot(named: $0[0]) })
    case .constant, .or, .not, .truth, .comparison, .between, .isIn, .quantified: return []
    }
  }

  /// Returns whether the node can be true only for few objects of the scope at `depth`, and an index
  /// finds them.
  func isNarrow(_ node: PredicateNode, depth: Int) -> Bool {
    switch node {
    case .and(let parts): parts.contains { isNarrow($0, depth: depth) }
    case .comparison(.path(let path), .equal, let other, []),
      .comparison(let other, .equal, .path(let path), []):
      isValue(other) && isIndexed(path, depth: depth)
    case .isIn(.path(let path), let list, []):
      list.count <= 1000 && isIndexed(path, depth: depth) && list.allSatisfy(isValue)
    case .quantified(.any, let path, let inner):
      path.depth == depth && isNarrow(inner, path, depth: depth + 1)
    case .constant, .or, .not, .truth, .comparison, .between, .isIn, .quantified: false
    }
  }

  /// Returns whether the operand is a constant other than nil.
  private func isValue(_ operand: PredicateOperand) -> Bool {
    constant(operand).map { !$0.value.stored.isNull } ?? false
  }

  private func isNarrow(_ inner: PredicateNode, _ path: PropertyPath, depth: Int) -> Bool {
    guard let scope = scope(after: path) else { return false }
    var compiler = self
    compiler.scopes = Array(scopes.prefix(depth)) + [scope]
    return compiler.isNarrow(inner, depth: depth)
  }

  /// Returns the scope of a to-many's members without a valid alias, only for checks of their properties.
  private func scope(after path: PropertyPath) -> Scope? {
    guard scopes.indices.contains(path.depth) else { return nil }
    var entity = scopes[path.depth].entity
    var names = (scopes[path.depth].prefix + path.names)[...]
    while containsToMany(names, from: entity), let name = names.popFirst(),
      let slot = entity.slot(named: name), let relationship = entity.slots[slot].relationship
    {
      entity = relationship.destination
    }
    return Scope(entity: entity, alias: 0, prefix: Array(names))
  }

  /// Returns whether an index finds objects by the value of a path.
  private func isIndexed(_ path: PropertyPath, depth: Int) -> Bool {
    guard path.depth == depth, scopes.indices.contains(depth) else { return false }
    var entity = scopes[depth].entity
    let names = scopes[depth].prefix + path.names
    for (index, name) in names.enumerated() {
      if name == "id" { return index == names.count - 1 }
      guard let slot = entity.slot(named: name) else { return false }
      if index == names.count - 1 {
        return entity.slots[slot].relationship?.isToMany != true && entity.isIndexed(slot)
      }
      guard let relationship = entity.slots[slot].relationship, !relationship.isToMany else { return false }
      entity = relationship.destination
    }
    return true
  }
}

extension PredicateNode {
  /// Returns whether a path in the node begins at an object of a depth below `depth`.
  fileprivate func refers(toLessThan depth: Int) -> Bool {
    switch self {
    case .constant: false
    case .and(let parts), .or(let parts): parts.contains { $0.refers(toLessThan: depth) }
    case .not(let inner): inner.refers(toLessThan: depth)
    case .truth(let operand): operand.refers(toLessThan: depth)
    case .comparison(let left, _, let right, _):
      left.refers(toLessThan: depth) || right.refers(toLessThan: depth)
    case .between(let operand, let low, let high):
      [operand, low, high].contains { $0.refers(toLessThan: depth) }
    case .isIn(let operand, let list, _):
      operand.refers(toLessThan: depth) || list.contains { $0.refers(toLessThan: depth) }
    case .quantified(_, let path, let inner): path.depth < depth || inner.refers(toLessThan: depth)
    }
  }
}

extension PredicateOperand {
  fileprivate func refers(toLessThan depth: Int) -> Bool {
    switch self {
    case .value, .variable: false
    case .path(let path), .count(let path): path.depth < depth
    case .arithmetic(let left, _, let right), .coalesce(let left, let right):
      left.refers(toLessThan: depth) || right.refers(toLessThan: depth)
    case .call(_, let arguments): arguments.contains { $0.refers(toLessThan: depth) }
    }
  }
}
