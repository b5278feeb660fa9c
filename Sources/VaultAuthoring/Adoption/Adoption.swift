// The result of reading another program's file: the entities and links that its tables become, and what a
// model cannot express.

internal import CipherSQLite
public import ObjectVault

/// What a file of another program becomes in a store. Rows keep their ids.
///
/// ``ObjectVault/Store/planAdoption(of:key:profile:relationships:busyTimeout:)`` determines this, and
/// only reads the file.
public struct Adoption: Sendable {
  /// The kind of program that made the file, as far as its tables show.
  public enum Origin: String, Sendable, Hashable, Codable {
    /// A program's own tables, such as those made with GRDB, FMDB or GYDataCenter.
    case tables
    /// Tables of Core Data or SwiftData.
    case coreData
  }

  /// A table and what its rows become. A table of several entities, which inherit from one another,
  /// occurs once for each of them.
  public struct Table: Sendable, Hashable, Codable {
    /// The table's name in the file.
    public let source: String
    /// The entity of its rows, or the relationship of its links, such as `Note.tags`.
    public let target: String
    /// The number of the table's rows that become objects or links of the target.
    public let rows: Int64
  }

  /// The kind of program that made the file.
  public let origin: Origin
  /// The model of the store.
  public let schema: Schema
  /// The tables whose rows are imported, in the order of their names.
  public let tables: [Table]
  /// What changes in the import, and what is omitted without a loss of rows, a sentence each.
  public let notes: [String]
  /// What has no place in the model. It is lost, and the import is refused unless each loss is allowed.
  public let losses: [AdoptionLoss]
  /// What prevents the import, such as ids below 1, a sentence each. Nothing is imported while there is
  /// any.
  public let obstacles: [String]
  let entities: [AdoptedEntity]
  let links: [AdoptedLinks]

  /// The end of an error text, if no table of a file matches the steps.
  package static let needsOwnSteps = "Write steps for this file into a new folder"

  /// The first step of the store's migrations: `0001_adopted.migration`.
  public var step: MigrationStep {
    MigrationStep(
      number: 1, name: "adopted", operations: schema.creation)
  }
}

/// The rows of a table as objects of an entity. Where several entities share the table, one of them is
/// the root, and the others inherit from it.
struct AdoptedEntity: Sendable {
  let name: String
  /// The parent entity, in whose table the rows are; nil for a root.
  let parent: String?
  let table: String
  /// The condition for its rows where entities share the table; nil for a root, which has all other rows.
  let condition: SQL?
  /// The expression for the id of an object.
  let id: SQL
  /// The expression for each attribute and each to-one.
  let values: [(property: String, expression: SQL)]
  /// The expressions for positions in ordered to-manys, by the to-one that is the inverse.
  let orders: [(toOne: String, expression: SQL)]
  /// The number of its own rows.
  let rows: Int64
  /// The highest id that was issued in the table, as far as the file records it.
  var highestID: Int64
  /// The entities that inherit from a root, each after its parent.
  var below: [AdoptedEntity] = []

  init(_ draft: EntityDraft, parent: String?, rows: Int64) {
    (name, self.parent, table, id) = (draft.entity.name, parent, draft.table.name, draft.id)
    (condition, values, orders) = (draft.condition, draft.values, draft.orders)
    (self.rows, highestID) = (rows, draft.highestID)
  }

  /// The entity and its subentities.
  var all: [AdoptedEntity] { [self] + below }

  var tables: [Adoption.Table] { all.map { .init(source: table, target: $0.name, rows: $0.rows) } }
}

/// The rows of a table as links of a many-to-many relationship.
struct AdoptedLinks: Sendable {
  let entity: String
  let relationship: String
  let table: String
  /// The expressions for the ids of `entity` and of the other end.
  let own: SQL
  let other: SQL
  /// The expression for the position of `other` in the order of `relationship`; nil for no order.
  let order: SQL?
  /// The expression for the position of `own` in the order of the inverse; nil for no order.
  let otherOrder: SQL?
  let rows: Int64
}
