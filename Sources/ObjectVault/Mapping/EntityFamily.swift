// Where an entity stands among those that share its table: a root, and all entities below it.

internal import CipherSQLite

// The mapping of a schema has all of its entities for as long as anyone has one of them.
/// An entity that is not kept alive by this.
struct EntityReference: Sendable {
  unowned let entity: EntityMapping
}

/// The columns of an entity in the rows of a query for it and for the entities below.
struct BranchColumns: Sendable {
  let entity: EntityReference
  /// Of each stored slot, the number of its column.
  let columns: [Int]
}

/// The columns of a query for whole rows of an entity, and of those below it.
struct BranchRows: Sendable {
  let columns: SQL
  /// How many these are.
  let count: Int
  /// Where the columns of each entity stand; empty for an entity without others below.
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
      let columns = entity.storedSlots.compactMap { slot -> Int? in
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

/// The place of an entity among those of one table.
struct EntityFamily: Sendable {
  /// The entity above.
  var parent: EntityReference?
  var root: EntityReference
  /// The entity, and all below it by name.
  var branch: [EntityReference]
  /// All entities of the table: the root, and all below it by name.
  var members: [EntityReference]
}

extension EntityMapping {
  /// The column with the name of each row's entity, in the tables of roots that have children.
  static let entityColumn = SQLName(EntityColumn.name)

  /// The entity above it; nil for a root.
  package var parent: EntityMapping? { family?.parent?.entity }
  /// The one whose table it has: itself, where it has no parent.
  package var root: EntityMapping { family?.root.entity ?? self }
  /// Whether other entities have the same table.
  package var isInFamily: Bool { family != nil }
  /// Whether objects of entities below it are objects of it, too.
  package var hasChildren: Bool { (family?.branch.count ?? 1) > 1 }
  /// The entity, and all below it by name.
  package var branch: [EntityMapping] { family?.branch.map(\.entity) ?? [self] }
  /// All entities with this one's table, the root first.
  package var relatives: [EntityMapping] { family?.members.map(\.entity) ?? [self] }

  /// Whether objects of the other entity are objects of this one: it is the same, or stands below.
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

  /// What holds for the rows of the table that are of the entity.
  /// - Parameters:
  ///   - alias: What stands before the column: an alias with its dot, or a plus that keeps an index from being used.
  ///   - isBranch: Whether rows of the entities below count, too.
  /// - Returns: nil where it holds for all rows of the table.
  func membership(_ alias: SQL = "", isBranch: Bool = true) -> SQL? {
    guard isInFamily, !(isBranch && parent == nil) else { return nil }
    let names = isBranch ? branch.map(\.name) : [name]
    let list = SQL.joined(names.map { "\(literal: $0)" })
    return names.count == 1
      ? "\(alias)\(Self.entityColumn) = \(list)" : "\(alias)\(Self.entityColumn) IN (\(list))"
  }

  /// Of which entity a row is, as a number: its place in ``branch``, counted from 1. NULL for another one.
  func branchNumber(_ alias: SQL) -> SQL {
    let cases = SQL.joined(
      branch.enumerated().map { "WHEN \(literal: $0.element.name) THEN \(number: $0.offset + 1)" }, by: " ")
    return "CASE \(alias)\(Self.entityColumn) \(cases) END"
  }
}
