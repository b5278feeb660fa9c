// What a statement of a data block does, as the engine's authorizer reports it.

internal import CipherSQLite

/// What one statement of a data block may do, and what it was observed to do.
final class DataWatch {
  /// The entities that have tables of their own.
  let entities: EntityNames
  /// The parsed insertion, which gets ids for its rows; nil for other statements.
  let insertion: NumberedInsert?
  private(set) var written = TouchedColumns()
  private(set) var changesRows = false
  /// The tables in which the statement changes ids, in lower case.
  private(set) var changedIDs: Set<String> = []
  /// The entity for which the statement inserts rows without ids, which is refused. `trigger` is the
  /// trigger that inserts them; nil for the statement itself. The pair is nil if every inserted row gets
  /// an id.
  private(set) var unnumbered: (entity: String, trigger: String?)?
  /// What the statement may read and write by its author's declaration; nil without one.
  private(set) var declared: DeclaredColumns?

  init(_ entities: EntityNames, insertion: NumberedInsert?, declared: DeclaredColumns?) {
    (self.entities, self.insertion, self.declared) = (entities, insertion, declared)
  }

  func allows(_ action: AuthorizerAction, in object: String?) -> Bool {
    written.note(action)
    declared?.note(action, in: object)
    changesRows = changesRows || MigrationRunner.writes(action)
    switch action {
    case .insert(let table) where table.lowercased() != insertion?.entity.lowercased():
      if let entity = entities.entity(of: table) {
        unnumbered = (entity, object)
        return false
      }
    case .update(let table, let column) where MigrationRunner.isID(column):
      changedIDs.insert(table.lowercased())
    default: break
    }
    // The library's own statement calls the function. A step's statement cannot: DataStatements refuses
    // the name.
    if insertion != nil, action == .function(name: InsertedIDs.function) { return true }
    return MigrationRunner.reads(action) || MigrationRunner.writes(action)
  }
}
