// Conditions on the members of to-manys as SQL: `id IN (SELECT …)` where an index finds the members, and
// otherwise `EXISTS (SELECT …)`, which begins at the link to the object. The choice is not left to the
// engine: without statistics about the contents of the tables, its estimates are wrong by a factor of up
// to 10,000. With statistics, it chooses the index for the members of `EXISTS`.

internal import CipherSQLite

extension PredicateCompiler {
  /// A table on the path to the members, with its connection to the table before it.
  private struct Step {
    let table: SQLName
    let alias: Int
    /// The sides of the connection: `link = owner`.
    let link: SQL
    let owner: SQL
    /// The condition on the table alone; nil where there is none.
    var membership: SQL?

    /// The condition of the connection.
    var condition: SQL { membership.map { "\(link) = \(owner) AND \($0)" } ?? "\(link) = \(owner)" }
  }

  /// The path to the members, and the scope of their condition.
  private struct Members {
    var steps: [Step]
    let scope: Scope
    /// The to-one of the members by whose column they are found; nil where they are found by their ids.
    let link: Int?
    /// The joined tables before the first to-many.
    let needs: SlotSet
    /// Whether the last step follows a link of a many-to-many to the member's row.
    let isLastALink: Bool
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
    var query = try self.query(
      isSet ? first.link : "1", from: first, through: members.steps, needs: body.needs, kind: kind)
    let (needs, height) = (members.needs.union(body.needs), body.height + 3)
    if isSet {
      query.condition = body.sql
      return Condition(sql: "\(first.owner) IN (\(query.sql))", needs: needs, height: height)
    }
    // The deepest part comes first, as in combined().
    let link = first.condition
    query.condition = body.height > 3 ? "(\(body.sql)) AND \(link)" : "\(link) AND (\(body.sql))"
    return exists
      ? Condition(sql: "EXISTS (\(query.sql))", needs: needs, height: height)
      : Condition(sql: "NOT EXISTS (\(query.sql))", height: height)
  }

  /// Returns the query for the members of the innermost scope, without its condition.
  private func query(
    _ columns: SQL, from first: Step, through steps: [Step], needs: SlotSet, kind: SelectStatement.Join.Kind
  ) throws -> SelectStatement {
    var query = SelectStatement(columns, from: .table(first.table, alias: first.alias))
    query.joins = steps.map { step in
      .init(kind: kind, table: step.table, alias: step.alias, condition: step.condition)
    }
    query.joins += try joins(of: scopes[scopes.count - 1], needs: needs, kind: kind)
    return query
  }

  /// Resolves the path to the members. Several to-many steps are flattened by joining them.
  private mutating func collection(_ path: PropertyPath) throws -> Members {
    let start = try walk(path)
    var (alias, entity, rest) = (start.alias, start.entity, start.rest)
    var steps: [Step] = []
    var link: Int?
    var isLastALink = false
    while let name = rest.first {
      // `id` after a to-many is the member's own id.
      if name == "id", rest.count == 1, !steps.isEmpty { break }
      guard let hop = try hop(name, from: entity, at: path.place) else {
        if entity.slot(named: name) == nil, JSONPartPath(rest, isJSON: entity.isJSON) == nil {
          throw unknown(name, in: entity, at: path.place)
        }
        break
      }
      // After the last to-many, the rest belongs to the members' own paths.
      guard hop.isToMany || (!steps.isEmpty && containsToMany(rest, from: entity)) else { break }
      let next = newAlias()
      steps += self.steps(hop, from: alias, to: next)
      if hop.isToMany, case .inverseColumn? = hop.relationship?.storage {
        link = hop.relationship?.inverseSlot
      } else {
        link = nil
      }
      if case .join? = hop.relationship?.storage { isLastALink = hop.isToMany } else { isLastALink = false }
      (alias, entity) = (next, hop.entity)
      rest.removeFirst()
    }
    guard !steps.isEmpty else {
      throw failure(
        "\(shortened(path.names.joined(separator: "."))) contains no to-many relationship", at: path.place)
    }
    return Members(
      steps: steps,
      scope: Scope(entity: entity, alias: alias, prefix: Array(rest), tableCount: steps.count),
      link: link, needs: start.needs, isLastALink: isLastALink)
  }

  private func containsToMany(_ names: ArraySlice<String>, from entity: EntityMapping) -> Bool {
    var entity = entity
    for name in names {
      guard let hop = try? hop(name, from: entity, at: nil) else { return false }
      if hop.isToMany { return true }
      entity = hop.entity
    }
    return false
  }

  /// Returns the tables from one object to the objects after a step.
  private mutating func steps(_ hop: Hop, from alias: Int, to next: Int) -> [Step] {
    let table = hop.entity.table
    if hop.isToMany, case .join(let join, let isSource)? = hop.relationship?.storage {
      let link = newAlias()
      let (own, other) = join.columns(from: isSource)
      return [
        Step(
          table: join.tableName, alias: link, link: "\(alias: link).\(own)", owner: "\(alias: alias).\"id\""),
        Step(table: table, alias: next, link: "\(alias: next).\"id\"", owner: "\(alias: link).\(other)"),
      ]
    }
    let (link, owner) = hop.sides(from: alias, to: next)
    return [Step(table: table, alias: next, link: link, owner: owner, membership: hop.membership(of: next))]
  }

  // MARK: Functions of members

  /// Compiles a function of members as a subquery.
  mutating func aggregate(_ aggregate: MemberAggregate) throws -> CompiledOperand {
    let (function, path) = (aggregate.function, aggregate.path)
    var members = try collection(path)
    let depth = scopes.count
    scopes.append(members.scope)
    defer { scopes.removeLast() }
    if let link = members.link {
      scopes[depth].usableIndexSlots = members.scope.entity.slots(
        indexedAfter: link, where: slotsWithOneValue(aggregate.condition, depth: depth))
    }
    let body =
      aggregate.condition == .constant(true)
      ? nil : try condition(aggregate.condition, isNegated: false, isNarrowed: false)
    let order = try aggregate.order.map { try firstMember(by: $0, of: members.scope, depth: depth) }
    let (columns, type) =
      try function == .count && !aggregate.isDistinct
      ? ("count(*)", .int) : values(aggregate, depth: depth)
    if function == .count, !aggregate.isDistinct {
      guard members.scope.prefix.isEmpty || aggregate.condition != .constant(true), aggregate.value.isEmpty
      else {
        throw failure(
          "@count must follow a to-many; \(shortened(path.names.joined(separator: "."))) does not end with one",
          at: path.place)
      }
      // The links are counted: without a condition the rows of the members are not needed.
      if body == nil, members.steps.count > 1, members.isLastALink { members.steps.removeLast() }
    }
    let first = members.steps.removeFirst()
    var query = try query(
      columns, from: first, through: members.steps, needs: body?.needs ?? [], kind: .cross)
    // The deepest part comes first, as in combined().
    query.condition =
      body.map { $0.height > 3 ? "(\($0.sql)) AND \(first.condition)" : "\(first.condition) AND (\($0.sql))" }
      ?? first.condition
    // After a nil to-one there is no owner, and the result is nil.
    query.order = order ?? []
    let sql: SQL =
      order != nil
      ? Self.limited(query, to: aggregate.listed)
      : members.needs.isEmpty
        ? "(\(query.sql))" : "CASE WHEN \(first.owner) IS NULL THEN NULL ELSE (\(query.sql)) END"
    return CompiledOperand(
      sql: sql, type: type, needs: members.needs, height: body.map { $0.height + 4 } ?? 0, place: path.place,
      label: .other("\(path.names.joined(separator: ".")).@\(function.rawValue)"))
  }

  /// Returns the subquery for the first value in an order, or for a list of the first ones.
  private static func limited(_ query: SelectStatement, to listed: Int?) -> SQL {
    guard let listed else { return "(\(query.sql) LIMIT 1)" }
    // The engine does not join a query with a limit to the one around it, so that its order stays.
    return "(SELECT group_concat(v) FROM (\(query.sql) LIMIT \(number: max(0, listed))))"
  }

  /// Returns the call of a function of the members' values, and the type of its result.
  private mutating func values(_ aggregate: MemberAggregate, depth: Int) throws -> (SQL, AttributeType?) {
    let function = aggregate.function
    var value = try compiled(.path(PropertyPath(depth: depth, aggregate.value, place: aggregate.path.place)))
    value.place = aggregate.path.place
    guard !value.isObject || value.isID || function == .count else {
      throw failure(
        "\(value.name) is an object; name the attribute for \(function.rawValue)", at: aggregate.path.place)
    }
    guard !function.entry.needsNumbers || (value.type?.isNumeric == true && !value.isObject) else {
      throw failure("\(value.name) is \(value.kind), and \(function.rawValue) needs numbers", at: value.place)
    }
    if !function.entry.needsNumbers, function != .count {
      let isOrdered =
        value.type.map { $0.traits.storage != .blob && $0.traits.storage != .text(.json) } ?? true
      guard isOrdered else {
        throw failure("\(value.name) is \(value.kind), which has no order", at: value.place)
      }
    }
    let type = AttributeType.result(of: function, value.type)
    let distinct: SQL = aggregate.isDistinct ? "DISTINCT " : ""
    if aggregate.listed != nil { return ("\(value.sql) AS v", .string) }
    if aggregate.order != nil { return (value.sql, value.type) }
    switch function {
    case .count: return ("count(\(distinct)\(value.sql))", .int)
    case .minimum: return ("min(\(value.sql))", type)
    case .maximum: return ("max(\(value.sql))", type)
    case .sum, .average, .median, .mode, .deviation:
      let areNumbers = value.type?.isStoredAsText != true || value.type?.isNumeric == true
      let options = (areNumbers ? 1 : 0) + (aggregate.isDistinct ? 2 : 0)
      let call: SQL =
        "vault_members(\(literal: function.rawValue), \(number: options), \(value.sql))"
      guard function == .sum else { return (call, type) }
      return ("CASE count(\(value.sql)) WHEN 0 THEN \(Self.zero(value.type)) ELSE \(call) END", type)
    }
  }

  /// Returns the terms of an order whose first member is wanted. The id is the last one, in the direction
  /// of the key: an index of the link and the key serves both.
  private mutating func firstMember(by key: SortKey, of scope: Scope, depth: Int) throws
    -> [SelectStatement.Term]
  {
    let value = try compiled(.path(PropertyPath(depth: depth, key.value.names ?? [])))
    return try order(key, value)
      + [.init(expression: "\(alias: scope.alias).\"id\"", isDescending: key.isDescending)]
  }

  /// Returns the sum of no values of a type.
  private static func zero(_ type: AttributeType?) -> SQL {
    switch type?.numberKind {
    case .decimal: "'0'"
    case .real: "0.0"
    case .integer, nil: "0"
    }
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
    case .comparison(.path(let path), .equal, let other, let options),
      .comparison(let other, .equal, .path(let path), let options):
      isValue(other) && isIndexed(path, depth: depth, comparing: options)
    case .isIn(.path(let path), let list, let options):
      list.count <= 1000 && isIndexed(path, depth: depth, comparing: options) && list.allSatisfy(isValue)
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
      let hop = try? hop(name, from: entity, at: nil)
    {
      entity = hop.entity
    }
    return Scope(entity: entity, alias: 0, prefix: Array(names))
  }

  /// Returns whether an index finds objects by the value of a path.
  /// - Parameter options: What the comparison ignores.
  private func isIndexed(_ path: PropertyPath, depth: Int, comparing options: StringOptions) -> Bool {
    guard path.depth == depth, scopes.indices.contains(depth) else { return false }
    var entity = scopes[depth].entity
    let names = scopes[depth].prefix + path.names
    for (index, name) in names.enumerated() {
      if name == "id" { return index == names.count - 1 }
      guard let slot = entity.slot(named: name) else { return false }
      if index == names.count - 1 {
        guard options.isEmpty else {
          return entity.description.indexes.contains {
            $0.comparing == options && $0.properties.first == name
          }
        }
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
    if case .quantified(_, let path, _) = self, path.depth < depth { return true }
    return operands.contains { $0.refers(toLessThan: depth) }
      || conditions.contains { $0.refers(toLessThan: depth) }
  }
}

extension PredicateOperand {
  fileprivate func refers(toLessThan depth: Int) -> Bool {
    switch self {
    case .path(let path), .count(let path): return path.depth < depth
    case .aggregate(let aggregate) where aggregate.path.depth < depth: return true
    default: break
    }
    return parts.contains { $0.refers(toLessThan: depth) } || condition?.refers(toLessThan: depth) == true
  }
}
