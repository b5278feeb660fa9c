// One end of a relationship, and where its links are stored.

internal import CipherSQLite

/// Where the links of a relationship are stored, seen from one end.
enum RelationshipStorage {
  /// In a column of the owner's table: a to-one.
  case column(SQLName)
  /// In the column of the to-one at the other end, in the destination's table: a to-many, or a to-one
  /// without a column.
  case inverseColumn(SQLName)
  /// In a join table, with this end as the source or the target: a many-to-many.
  case join(JoinTable, isSource: Bool)
}

/// The facts about the inverse that the mapping of a relationship needs.
struct InverseEnd {
  let slot: Int
  let hasColumn: Bool
  let isLookedUp: Bool
  let isOrdered: Bool
  /// The column of the inverse, if the inverse is a to-one, and the column next to it, which has the
  /// positions if the relationship is ordered.
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

// Safe to share: never changed after SchemaMapping has created it.
/// The mapping of one end of a relationship.
package final class RelationshipMapping: @unchecked Sendable {
  let name: String
  package let slot: Int
  let isRequired: Bool
  let deleteRule: DeleteRule
  unowned let owner: EntityMapping
  unowned let destination: EntityMapping
  let inverseSlot: Int?
  /// Whether the relationship may reference any number of objects.
  let isToMany: Bool
  /// Whether the other end is a to-one with a column; false where there is no inverse.
  let inverseHasColumn: Bool
  /// Whether the relationship is one-to-one and this end has the column.
  let inverseIsLookedUp: Bool
  /// Where the links are stored.
  let storage: RelationshipStorage
  /// The column with the positions of members, next to the links; nil for a relationship without an
  /// order.
  let order: SQLName?
  /// For a to-one with a column, the column with the positions of the owner's rows among the members of
  /// the inverse; nil when the inverse has no order.
  let inverseOrder: SQLName?
  /// The query for the whole rows of one owner's members.
  var membersSQL: String { membersText.value { membersStatement } }
  private let membersText = ComputedOnce<String>()

  /// Creates one end; nil when its links would be in the column of an inverse that is not in the model.
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

  /// Whether the members have an order.
  var isOrdered: Bool { order != nil }

  /// Whether the objects at the other end are stored as members, and not as an id in the row: true of all
  /// but a to-one with a column.
  var hasMembers: Bool {
    if case .column = storage { false } else { true }
  }
  /// Whether the relationship is one-to-one and this end has no column. Its owner then has at most one
  /// member.
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
