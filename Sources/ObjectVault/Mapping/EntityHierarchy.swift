// The position of an entity in its inheritance hierarchy: a root and all its descendants, which share one
// table.

internal import CipherSQLite

// Unowned is safe: the mapping of a schema keeps all its entities alive as long as any of them is in use.
/// A reference that does not keep the entity alive.
struct EntityReference: Sendable {
  unowned let entity: EntityMapping
}

/// The columns of one entity of a branch (an entity and its descendants), in the rows of a query for the
/// whole branch.
struct BranchColumns: Sendable {
  let entity: EntityReference
  /// For each slot that is read with a row, the index of its column in the row.
  let columns: [Int]
}

/// The columns of a query for whole rows of an entity and its descendants.
struct BranchRows: Sendable {
  /// The SQL of the column list.
  let columns: SQL
  /// The number of columns.
  let count: Int
  /// The columns of each entity of the branch; empty for an entity without descendants.
  let entities: [BranchColumns]

  init(_ entity: EntityMapping) {
    guard entity.hasChildren else {
      (columns, count, entities) = (entity.ownColumns, entity.ownColumnCount, [])
      return
    }
    var all: SQL = "t0.\"id\", t0.\"_version\", \(entity.branchNumber("t0."))"
    var next = 3
    var numbers: [String: Int] = [:]
    entities = entity.branch.map { entity in
      let columns = entity.fetchedSlots.compactMap { slot -> Int? in
        guard let column = entity.slots[slot].columnName else { return nil }
        let name = column.description
        if let number = numbers[name] { return number }
        all.append(", t0.\(column)")
        numbers[name] = next
        next += 1
        return next - 1
      }
      return BranchColumns(entity: EntityReference(entity: entity), columns: columns)
    }
    (columns, count) = (all, next)
  }
}

/// The position of an entity among the entities of its table.
struct EntityHierarchy: Sendable {
  /// The entity's parent.
  var parent: EntityReference?
  /// The root of the hierarchy.
  var root: EntityReference
  /// The entity and all its descendants, sorted by name.
  var branch: [EntityReference]
  /// All entities of the table: the root, then its descendants sorted by name.
  var members: [EntityReference]
}

extension EntityMapping {
  /// The column with the name of each row's entity, in the tables of roots that have children.
  static let entityColumn = SQLName(EntityColumn.name)

  /// The entity's parent; nil for a root.
  package var parent: EntityMapping? { hierarchy?.parent?.entity }
  /// The root of the entity's hierarchy, which names its table; the entity itself when it has no parent.
  package var root: EntityMapping { hierarchy?.root.entity ?? self }
  /// Whether other entities share the table.
  package var isInHierarchy: Bool { hierarchy != nil }
  /// Whether the entity has children, whose objects are also objects of the entity.
  package var hasChildren: Bool { (hierarchy?.branch.count ?? 1) > 1 }
  /// The entity and all its descendants, sorted by name.
  package var branch: [EntityMapping] { hierarchy?.branch.map(\.entity) ?? [self] }
  /// All entities that share the entity's table, the root first; the entity alone when it shares with
  /// none.
  package var relatives: [EntityMapping] { hierarchy?.members.map(\.entity) ?? [self] }

  /// Returns whether objects of the other entity are objects of this one, that is, whether the other
  /// entity is this one or a descendant of it.
  package func includes(_ other: EntityMapping?) -> Bool {
    if other === self { return true }
    guard hasChildren else { return false }
    var above = other?.parent
    while let entity = above {
      if entity === self { return true }
      above = entity.parent
    }
    return false
  }

  /// Returns the condition that a row of the table belongs to the entity.
  /// - Parameters:
  ///   - alias: A prefix of the column: an alias with its dot, or a plus that prevents the use of an index.
  ///   - isBranch: Whether rows of descendants count, too.
  /// - Returns: nil where the condition is true of all rows of the table.
  func membership(_ alias: SQL = "", isBranch: Bool = true) -> SQL? {
    guard isInHierarchy, !(isBranch && parent == nil) else { return nil }
    let names = isBranch ? branch.map(\.name) : [name]
    let list = SQL.joined(names.map { "\(literal: $0)" })
    return names.count == 1
      ? "\(alias)\(Self.entityColumn) = \(list)" : "\(alias)\(Self.entityColumn) IN (\(list))"
  }

  /// Returns SQL for the number of a row's entity: its index in ``branch`` plus 1, or NULL for an entity
  /// outside the branch.
  func branchNumber(_ alias: SQL) -> SQL {
    let cases = SQL.joined(
      branch.enumerated().map { "WHEN \(literal: $0.element.name) THEN \(number: $0.offset + 1)" }, by: " ")
    return "CASE \(alias)\(Self.entityColumn) \(cases) END"
  }
}
