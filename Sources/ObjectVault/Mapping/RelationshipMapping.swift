// One end of a relationship, and where its links lie.

internal import CipherSQLite

/// Where the links of a relationship lie, seen from one end.
enum RelationshipStorage {
  /// A to-one: in a column of the owner's table.
  case column(SQLName)
  /// In the column of the to-one at the other end, of the destination's table: a to-many, or a to-one that is looked up.
  case inverseColumn(SQLName)
  /// A many-to-many: in a table of its own, of which this end is the source or the target.
  case join(JoinTable, isSource: Bool)
}

/// What a relationship knows of the one that leads back.
struct InverseEnd {
  let slot: Int
  let hasColumn: Bool
  let isLookedUp: Bool
  let isOrdered: Bool
  /// Of a to-one: its column, and the one beside it for the places of an ordered inverse.
  let column: SQLName
  let order: SQLName

  init(_ relationship: RelationshipDescription, slot: Int) {
    self.slot = slot
    (hasColumn, isLookedUp, isOrdered) = (
      relationship.hasColumn, relationship.isLookedUp, relationship.isOrdered
    )
    column = SQLName(relationship.columnName)
    order = SQLName(RelationshipDescription.orderColumnName(relationship.name))
  }
}

// Safe to share: never changed after SchemaMapping made it.
/// One end of a relationship.
package final class RelationshipMapping: @unchecked Sendable {
  let name: String
  package let slot: Int
  let isRequired: Bool
  let deleteRule: DeleteRule
  unowned let owner: EntityMapping
  unowned let destination: EntityMapping
  let inverseSlot: Int?
  /// Whether it leads to any number of objects.
  let isToMany: Bool
  /// Whether the other end is a to-one with a column; false where there is no other end.
  let inverseHasColumn: Bool
  /// Whether it is the end of a one-to-one that has the column.
  let inverseIsLookedUp: Bool
  /// Where the links lie.
  let storage: RelationshipStorage
  /// Where the places of members lie, beside the links; nil for a relationship without an order.
  let order: SQLName?
  /// Of a to-one: where the places lie that objects have among the members of its inverse; nil where that has no order.
  let inverseOrder: SQLName?
  /// The whole rows at the other end of one owner's to-many.
  var membersSQL: String { membersText.value { membersStatement } }
  private let membersText = MadeOnce<String>()

  init?(
    _ relationship: RelationshipDescription, slot: Int, owner: EntityMapping, destination: EntityMapping,
    inverse: InverseEnd?, join: (JoinTable, Bool)?
  ) {
    if let (table, isSource) = join {
      storage = .join(table, isSource: isSource)
    } else if relationship.hasColumn {
      storage = .column(SQLName(relationship.columnName))
    } else if let inverse {
      storage = .inverseColumn(inverse.column)
    } else {
      return nil
    }
    let inverseOrder = inverse?.isOrdered == true ? relationship.name : nil
    self.inverseOrder =
      !relationship.hasColumn
      ? nil : inverseOrder.map { SQLName(RelationshipDescription.orderColumnName($0)) }
    switch storage {
    case .column: order = nil
    case .inverseColumn: order = relationship.isOrdered ? inverse?.order : nil
    case .join(let table, let isSource): order = table.order(from: isSource)
    }
    name = relationship.name
    self.slot = slot
    isRequired = relationship.isRequired
    deleteRule = relationship.deleteRule
    self.owner = owner
    self.destination = destination
    inverseSlot = inverse?.slot
    isToMany = relationship.isToMany
    inverseHasColumn = inverse?.hasColumn ?? false
    inverseIsLookedUp = inverse?.isLookedUp ?? false
  }

  /// Whether its members have an order.
  var isOrdered: Bool { order != nil }

  /// Whether the objects at the other end are held as members, and not by an id in the row: all but a to-one with a column.
  var hasMembers: Bool {
    if case .column = storage { false } else { true }
  }
  /// Whether it is the end of a one-to-one that has no column: it has one member at most.
  var isLookedUp: Bool { !isToMany && hasMembers }

  /// The column of a to-one, in its owner's table.
  var column: SQLName? {
    if case .column(let column) = storage { column } else { nil }
  }

  /// The join table of a many-to-many, and whether this end is its source.
  package var join: (table: JoinTable, isSource: Bool)? {
    if case .join(let table, let isSource) = storage { (table, isSource) } else { nil }
  }
}
