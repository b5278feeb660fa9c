// Property paths -> columns. A to-one is joined once, however many paths run through it; a to-many becomes
// the source of an EXISTS.

internal import CipherSQLite

/// An operand in SQL with what is known of it.
struct CompiledOperand {
  var fragment: Fragment
  /// The attribute's type; nil for calculations and nil.
  var type: AttributeType?
  /// Whether it is an object, standing for its id.
  var isObject = false
  /// The value, where it is a constant.
  var constant: PredicateValue?
  /// How errors call it, put together when one does.
  var label: Label

  enum Label {
    case constant
    case property(EntityRuntime, String)
    case other(String)
  }

  var name: String {
    switch label {
    case .constant: type.map { "a \($0.rawValue)" } ?? "nil"
    case .property(let entity, let name): "\(entity.name).\(name)"
    case .other(let name): name
    }
  }
}

extension PredicateCompiler {
  mutating func compiled(_ operand: PredicateOperand) throws -> CompiledOperand {
    switch operand {
    case .value(let template):
      let value = current(template)
      return CompiledOperand(
        fragment: .bound(value.stored, source: value.source), type: value.type, constant: value,
        label: .constant)
    case .path(let path): return try column(path)
    case .count(let path): return try count(path)
    case .arithmetic(let left, let operation, let right):
      let (a, b) = (try number(left), try number(right))
      let fragment = "vault_math(" + a.fragment + ", '\(operation.rawValue)', " + b.fragment + ")"
      return CompiledOperand(fragment: fragment, type: nil, label: .other("a calculation"))
    case .coalesce(let first, let second):
      let (a, b) = (try compiled(first), try compiled(second))
      guard case .operand(let fitting, _) = try adapted(b, to: a, for: .equal) else {
        throw failure("\(b.name) cannot stand in for \(a.name)")
      }
      return CompiledOperand(
        fragment: "ifnull(" + a.fragment + ", " + fitting.fragment + ")", type: a.type ?? b.type,
        label: a.label
      )
    }
  }

  private mutating func number(_ operand: PredicateOperand) throws -> CompiledOperand {
    let compiled = try compiled(operand)
    guard compiled.type?.isNumeric ?? true, !compiled.isObject else {
      throw failure("\(compiled.name) is no number, and cannot be calculated with")
    }
    return compiled
  }

  private mutating func column(_ path: PropertyPath) throws -> CompiledOperand {
    let (alias, entity, rest) = try walk(path)
    guard let name = rest.first else {
      return CompiledOperand(
        fragment: Fragment(sql: alias + ".\"id\""), type: .int, isObject: true, label: .other("the object"))
    }
    if name == "id", rest.count == 1 {
      return CompiledOperand(
        fragment: Fragment(sql: alias + ".\"id\""), type: .int, isObject: true,
        label: .property(entity, "id"))
    }
    guard let slot = entity.slot(named: name) else { throw unknown(name, in: entity) }
    let info = entity.slots[slot]
    let label = CompiledOperand.Label.property(entity, name)
    if let relationship = info.relationship {
      guard !relationship.isToMany else {
        throw failure(
          "\(entity.name).\(name) has many members; write ANY, ALL or NONE before it, compare its @count, or use CONTAINS"
        )
      }
      return CompiledOperand(
        fragment: Fragment(sql: alias + "." + info.column), type: .int, isObject: true, label: label)
    }
    guard rest.count == 1 else {
      throw failure("\(entity.name).\(name) is an attribute and has no \(rest[rest.startIndex + 1])")
    }
    return CompiledOperand(
      fragment: Fragment(sql: alias + "." + info.column), type: info.attribute?.type, label: label)
  }

  /// Follows to-ones, joining them, until the last name, an attribute or a to-many.
  private mutating func walk(_ path: PropertyPath) throws -> (String, EntityRuntime, ArraySlice<String>) {
    guard path.depth < scopes.count else { throw failure("a path begins at a variable that is not there") }
    let prefix = scopes[path.depth].prefix
    let names = prefix.isEmpty ? path.names : prefix + path.names
    var alias = scopes[path.depth].alias
    var entity = scopes[path.depth].entity
    for index in names.indices {
      let name = names[index]
      // The last step of `user.id` is the column user_id: no join is needed for it.
      let isLast = index == names.count - 1 || (index == names.count - 2 && names[index + 1] == "id")
      guard let slot = entity.slot(named: name), let relationship = entity.slots[slot].relationship,
        !relationship.isToMany, !isLast
      else { return (alias, entity, names[index...]) }
      (alias, entity) = join(relationship, from: alias, path: Array(names[...index]), depth: path.depth)
    }
    return (alias, entity, [])
  }

  private mutating func join(
    _ relationship: RelationshipRuntime, from alias: String, path: [String], depth: Int
  ) -> (String, EntityRuntime) {
    if let known = scopes[depth].joins.first(where: { $0.path == path }) {
      return (known.alias, known.entity)
    }
    let joined = newAlias()
    let destination = relationship.destination
    scopes[depth].joins.append(Join(path: path, alias: joined, entity: destination))
    scopes[depth].joinSQL +=
      " LEFT JOIN \(destination.table) \(joined) ON \(joined).\"id\" = \(alias).\(relationship.column)"
    return (joined, destination)
  }

  func unknown(_ name: String, in entity: EntityRuntime) -> StoreError {
    let near = nearest(name, among: entity.slots.map(\.name))
    let hint =
      near.isEmpty
      ? "; it has \(entity.slots.map(\.name).joined(separator: ", "))"
      : "; did you mean \(near.joined(separator: ", "))?"
    return failure("\(entity.name) has no property \(name)\(hint)")
  }

  // MARK: To-many

  /// The tables of a to-many path, the condition that ties them to the statement around, and the scope of
  /// the members. Several to-many steps are flattened by joining them.
  mutating func collection(_ path: PropertyPath) throws -> (
    source: (tables: String, link: String), scope: Scope
  ) {
    var (alias, entity, rest) = try walk(path)
    var tables = ""
    var link = ""
    while let name = rest.first {
      guard let slot = entity.slot(named: name) else { throw unknown(name, in: entity) }
      guard let relationship = entity.slots[slot].relationship else { break }
      let column = entity.slots[slot].column
      let next = newAlias()
      let (source, condition) = step(relationship, from: alias, column: column, to: next)
      if tables.isEmpty {
        guard relationship.isToMany else { break }
        (tables, link) = (source, condition)
      } else if relationship.isToMany {
        tables += " JOIN \(source) ON \(condition)"
      } else {
        // Behind the last to-many the rest belongs to the members' own paths.
        guard leadsToMany(rest, from: entity) else { break }
        tables += " JOIN \(source) ON \(condition)"
      }
      (alias, entity) = (next, relationship.destination)
      rest.removeFirst()
    }
    guard !tables.isEmpty else {
      throw failure("\(path.names.joined(separator: ".")) leads to no to-many relationship")
    }
    return ((tables, link), Scope(entity: entity, alias: alias, prefix: Array(rest)))
  }

  private func leadsToMany(_ names: ArraySlice<String>, from entity: EntityRuntime) -> Bool {
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

  private mutating func step(
    _ relationship: RelationshipRuntime, from alias: String, column: String, to next: String
  ) -> (tables: String, condition: String) {
    let table = "\(relationship.destination.table) \(next)"
    if let join = relationship.join {
      let linkAlias = newAlias()
      let (own, other) = join.table.columns(from: join.isSource)
      return (
        "\(quoted(join.table.name)) \(linkAlias) JOIN \(table) ON \(next).\"id\" = \(linkAlias).\(other)",
        "\(linkAlias).\(own) = \(alias).\"id\""
      )
    }
    if relationship.isToMany {
      return (table, "\(next).\(relationship.inverseColumn ?? "NULL") = \(alias).\"id\"")
    }
    return (table, "\(next).\"id\" = \(alias).\(column)")
  }

  private mutating func count(_ path: PropertyPath) throws -> CompiledOperand {
    let (alias, entity, rest) = try walk(path)
    guard rest.count == 1, let slot = entity.slot(named: rest[rest.startIndex]),
      let relationship = entity.slots[slot].relationship, relationship.isToMany
    else { throw failure("@count belongs behind one to-many; \(path.names.joined(separator: ".")) is none") }
    let owner = "\(alias).\"id\""
    let counted: String
    if let join = relationship.join {
      let own = join.table.columns(from: join.isSource).own
      counted = "(SELECT count(*) FROM \(quoted(join.table.name)) WHERE \(own) = \(owner))"
    } else {
      let next = newAlias()
      let column = relationship.inverseColumn ?? "NULL"
      counted =
        "(SELECT count(*) FROM \(relationship.destination.table) \(next) WHERE \(next).\(column) = \(owner))"
    }
    // Behind a nil to-one there is no owner, and no count.
    let isJoined = alias != scopes[path.depth].alias
    let sql = isJoined ? "CASE WHEN \(owner) IS NULL THEN NULL ELSE \(counted) END" : counted
    return CompiledOperand(
      fragment: Fragment(sql: sql), type: .int,
      label: .other("\(path.names.joined(separator: ".")).@count"))
  }
}
