// Finds the index that would serve a fetch: from its conditions and its order alone, so that the same
// fetch gets the same advice on both engines.

/// The properties by whose values an index could find the rows of a fetch, and those it is sorted by.
struct MissingIndexSearch {
  /// A property that a condition compares with a constant.
  private struct Candidate {
    let entity: EntityMapping
    let name: String
    /// The path from the fetched entity.
    let path: [String]
    /// Whether the condition is an equality: then further properties may follow in the index.
    let isEqual: Bool
    /// What the comparison ignores.
    let options: StringOptions
  }

  /// The entity that paths begin at, and the names that are put before each path.
  private struct Scope {
    let entity: EntityMapping
    let prefix: [String]
    /// The path from the fetched entity.
    let path: [String]
  }

  /// The result of a search.
  enum Result {
    /// The schema does not have this index.
    case missing(QueryPlan.MissingIndex)
    /// The schema has an index, and the engine expects it to find most rows.
    case unused
    /// No index can serve.
    case none
  }

  private let entity: EntityMapping
  private let sort: [SortKey]
  private var scopes: [Scope]
  private var candidates: [Candidate] = []

  init(_ request: FetchParameters, on entity: EntityMapping) {
    (self.entity, sort) = (entity, request.sort)
    scopes = [Scope(entity: entity, prefix: [], path: [])]
    for condition in request.conditions { collect(condition.node) }
  }

  // MARK: Results

  /// Returns the paths of the conditions on a table's rows; those on all tables if there are none.
  func paths(of table: EntityMapping) -> [String] {
    var paths: [String] = []
    for candidate in chosen(for: table) {
      let path = candidate.path.joined(separator: ".")
      if !paths.contains(path) { paths.append(path) }
    }
    return paths
  }

  /// Returns the index by which the rows of a table would be found, and which has them in order if it can.
  func indexForRows(of table: EntityMapping) -> Result {
    let chosen = chosen(for: table)
    guard let first = chosen.first else { return .none }
    let own = chosen.filter { $0.entity === first.entity }
    // An index ignores the same in all of its Strings; it does not matter for other properties.
    let strings = own.filter { isString($0.name, $0.entity) }
    let options = strings.first?.options ?? []
    let fitting = own.filter { $0.options == options || !isString($0.name, $0.entity) }
    let equal = unique(fitting.filter(\.isEqual).map(\.name))
    let ranges = unique(fitting.filter { !$0.isEqual }.map(\.name)).filter { !equal.contains($0) }
    guard !equal.isEmpty else { return result(of: first.entity, Array(ranges.prefix(1)), comparing: options) }
    let sorted = first.entity === entity ? sortedBy : nil
    let order = sorted.flatMap { sorted in
      strings.isEmpty || sorted.options == nil || sorted.options == options
        ? sorted.names.filter { !equal.contains($0) } : nil
    }
    let all = strings.isEmpty ? sorted?.options ?? [] : options
    // If any index begins with one of the properties, the engine could have used it.
    if equal.contains(where: { isIndexed([$0], of: first.entity, comparing: options) }) { return .unused }
    guard let order, !order.isEmpty else {
      return result(of: first.entity, equal + ranges.prefix(1), comparing: options)
    }
    return result(of: first.entity, equal + order, comparing: all)
  }

  private func isString(_ name: String, _ entity: EntityMapping) -> Bool {
    entity.slot(named: name).flatMap { entity.slots[$0].attribute?.type } == .string
  }

  /// Returns the index that has the fetched rows in order.
  var indexForOrder: Result {
    guard let sorted = sortedBy, !sorted.names.isEmpty else { return .none }
    let own = candidates.filter { candidate in
      candidate.entity === entity && candidate.path.count == 1 && candidate.isEqual
        && (candidate.options == sorted.options ?? candidate.options || !isString(candidate.name, entity))
    }
    let equal = unique(own.map(\.name))
    return result(
      of: entity, equal + sorted.names.filter { !equal.contains($0) },
      comparing: sorted.options ?? own.first { isString($0.name, entity) }?.options ?? [])
  }

  private func result(of entity: EntityMapping, _ names: [String], comparing options: StringOptions) -> Result
  {
    if names.isEmpty { return .none }
    let options = names.contains { isString($0, entity) } ? options : []
    if isIndexed(names, of: entity, comparing: options) { return .unused }
    return .missing(.init(entity: entity.name, properties: names, comparing: options))
  }

  /// The names that an index would have for the order, and what its Strings ignore, nil if none of them is
  /// a String; nil if no index can have the order.
  private var sortedBy: (names: [String], options: StringOptions?)? {
    let keys = sort.last?.value == .objectID ? sort.dropLast() : sort[...]
    guard Set(sort.map(\.isDescending)).count <= 1 else { return nil }
    var names: [String] = []
    var options: StringOptions?
    for key in keys {
      guard let path = key.value.names, path.count == 1, let slot = entity.slot(named: path[0]),
        entity.slots[slot].columnName != nil, !key.nilIsGreatest
      else { return nil }
      if isString(path[0], entity) {
        guard options == nil || options == key.options else { return nil }
        options = key.options
      }
      names.append(path[0])
    }
    return (names, options)
  }

  /// Returns whether the schema has an index that begins with the names, and ignores this.
  private func isIndexed(_ names: [String], of entity: EntityMapping, comparing options: StringOptions)
    -> Bool
  {
    let hasStrings = names.contains { isString($0, entity) }
    if names.count == 1, options.isEmpty || !hasStrings, let slot = entity.slot(named: names[0]) {
      return entity.isIndexed(slot)
    }
    return entity.description.indexes.contains { index in
      index.properties.starts(with: names) && (index.comparing == options || !hasStrings)
    }
  }

  private func chosen(for table: EntityMapping) -> [Candidate] {
    let own = candidates.filter { $0.entity.table == table.table }
    return own.isEmpty ? candidates : own
  }

  private func unique(_ names: [String]) -> [String] {
    names.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  // MARK: Conditions

  // Only parts that must be true: of an OR or a NOT, no part limits the rows.
  private mutating func collect(_ node: PredicateNode) {
    switch node {
    case .and(let parts): for part in parts { collect(part) }
    case .truth(let operand): add(operand, isEqual: true)
    case .comparison(let left, let comparison, let right, let options):
      if isConstant(right) { add(left, compared: comparison, options) }
      if isConstant(left), let flipped = comparison.entry.flipped { add(right, compared: flipped, options) }
    case .between(let operand, let low, let high):
      if isConstant(low), isConstant(high) { add(operand, isEqual: false) }
    case .isIn(let operand, let list, let options):
      // Not as an equality: an index has the rows of several values in no common order.
      if list.allSatisfy(isConstant) { add(operand, isEqual: false, options) }
    case .quantified(.any, let path, let inner): collect(path, inner)
    case .constant, .or, .not, .quantified: break
    }
  }

  private mutating func collect(_ path: PropertyPath, _ inner: PredicateNode) {
    guard let scope = scopes.last, path.depth == scopes.count - 1 else { return }
    let names = scope.prefix + path.names
    var (place, rest, length) = (scope.entity, names[...], 0)
    var members: Scope?
    while let name = rest.popFirst(), let slot = place.slot(named: name),
      let relationship = place.slots[slot].relationship
    {
      length += 1
      place = relationship.destination
      if relationship.isToMany {
        members = Scope(
          entity: place, prefix: Array(rest), path: scope.path + names.prefix(length))
      }
    }
    guard let members else { return }
    scopes.append(members)
    defer { scopes.removeLast() }
    collect(inner)
  }

  private func isConstant(_ operand: PredicateOperand) -> Bool {
    switch operand {
    case .value, .variable: true
    case .path, .count, .arithmetic, .call, .coalesce, .aggregate, .list, .conditional, .cast, .position:
      false
    }
  }

  private mutating func add(
    _ operand: PredicateOperand, compared comparison: ComparisonOperator, _ options: StringOptions
  ) {
    switch comparison {
    case .equal: add(operand, isEqual: true, options)
    case .less, .lessOrEqual, .greater, .greaterOrEqual, .beginsWith: add(operand, isEqual: false, options)
    case .notEqual, .contains, .endsWith, .like, .matches: break
    }
  }

  private mutating func add(
    _ operand: PredicateOperand, isEqual: Bool, _ options: StringOptions = []
  ) {
    guard case .path(let path) = operand, let scope = scopes.last, path.depth == scopes.count - 1 else {
      return
    }
    var names = scope.prefix + path.names
    if names.count > 1, names.last == "id" { names.removeLast() }
    var place = scope.entity
    for (index, name) in names.enumerated() {
      guard let slot = place.slot(named: name) else { return }
      if index == names.count - 1 {
        guard place.slots[slot].columnName != nil else { return }
        return candidates.append(
          Candidate(
            entity: place, name: name, path: scope.path + names, isEqual: isEqual, options: options))
      }
      guard let relationship = place.slots[slot].relationship, !relationship.isToMany else { return }
      place = relationship.destination
    }
  }
}
