// What the tables of another program become in a store: entities, links, and what a model has no word for.

internal import CipherSQLite
public import ObjectVault

/// What a file that another program made becomes in a store.
///
/// Found out by looking at the file alone: ``ObjectVault/Store/planAdoption(of:key:profile:relationships:busyTimeout:)``.
/// Rows keep their ids.
public struct Adoption: Sendable {
  /// Who made the file, as far as its tables tell.
  public enum Origin: String, Sendable, Hashable, Codable {
    /// Tables of one's own, as GRDB's, FMDB's and GYDataCenter's are.
    case tables
    /// Core Data or SwiftData.
    case coreData
  }

  /// A table, and what becomes of its rows, or of some: entities that inherit from one another share one.
  public struct Table: Sendable, Hashable, Codable {
    /// The table's name in the file.
    public let source: String
    /// The entity of its rows, or the relationship of its links, such as `Note.tags`.
    public let target: String
    /// How many rows it has.
    public let rows: Int64
  }

  /// Who made the file.
  public let origin: Origin
  /// The model of the store.
  public let schema: Schema
  /// The tables whose rows are taken, in the order of their names.
  public let tables: [Table]
  /// What is otherwise than it was, or is not taken and holds no rows of one's own, a sentence each.
  public let notes: [String]
  /// What has no place, and is not taken unless that is allowed.
  public let losses: [AdoptionLoss]
  /// What no store can hold, a sentence each: nothing is taken while there is any.
  public let obstacles: [String]
  let entities: [AdoptedEntity]
  let links: [AdoptedLinks]

  /// The first step of the store's migrations: `0001_adopted.migration`.
  public var step: MigrationStep {
    MigrationStep(
      number: 1, name: "adopted", operations: schema.creation)
  }
}

/// The rows of a table as objects of an entity, or of several of which all but one inherit.
struct AdoptedEntity: Sendable {
  let name: String
  /// The entity that it inherits from, whose table it has.
  let parent: String?
  let table: String
  /// What holds for its rows, where they share the table; nil for a root, whose are all that are nobody else's.
  let condition: SQL?
  /// What the id of an object is made of.
  let id: SQL
  /// What each attribute and each to-one is made of.
  let values: [(property: String, expression: SQL)]
  /// What the places among the members of a to-one's inverse are made of, by the to-one.
  let orders: [(toOne: String, expression: SQL)]
  /// How many rows are its own.
  let rows: Int64
  /// The highest id that was ever given out in the table, as far as the file tells.
  var highestID: Int64
  /// Those that inherit from a root, each behind its parent.
  var below: [AdoptedEntity] = []

  init(_ draft: EntityDraft, parent: String?, rows: Int64) {
    (name, self.parent, table, id) = (draft.entity.name, parent, draft.table.name, draft.id)
    (condition, values, orders) = (draft.condition, draft.values, draft.orders)
    (self.rows, highestID) = (rows, draft.highestID)
  }

  /// The entity and those below it.
  var all: [AdoptedEntity] { [self] + below }

  var tables: [Adoption.Table] { all.map { .init(source: table, target: $0.name, rows: $0.rows) } }
}

/// The rows of a table as links of a many-to-many.
struct AdoptedLinks: Sendable {
  let entity: String
  let relationship: String
  let table: String
  /// What the ids of `entity` and of the other end are made of.
  let own: SQL
  let other: SQL
  /// What the place of `other` among the members of `relationship` is made of; nil for no order.
  let order: SQL?
  /// The same of `own`, among those of the inverse.
  let otherOrder: SQL?
  let rows: Int64
}
