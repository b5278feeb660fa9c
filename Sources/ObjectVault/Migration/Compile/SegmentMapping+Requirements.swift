// Columns that must have no NULL before a segment, and backfills whose target must exist before it.

extension SegmentMapping {
  /// A column that must not have NULL before the segment. With a ``goal``, NULL is allowed, but then the
  /// object that the backfill makes the rows refer to must exist.
  struct RequiredColumn {
    let operation: MigrationOperation
    let entity: String
    let property: String
    /// The table and the entities of the rows before the segment.
    let place: EntityPlace
    let column: String
    /// What a person can do about rows without a value, for the error.
    var remedy = ""
    /// For a to-one with a backfill value: the object that rows without a reference will refer to.
    var goal: (place: EntityPlace, id: Int64)?
  }

  /// Requires that a column has no NULL before the segment.
  mutating func require(
    _ entity: String, property name: String, column: String, by operation: MigrationOperation, remedy: String
  ) {
    guard let table = entities[entity] else { return }
    require(
      RequiredColumn(
        operation: operation, entity: entity, property: name, place: before.place(of: table), column: column,
        remedy: remedy))
  }

  /// Requires that the target of a to-one's backfill exists, if any row has no reference.
  mutating func require(
    _ entity: String, property name: String, column: String, by operation: MigrationOperation,
    referringTo destination: String, id: Int64
  ) {
    guard let table = entities[entity], let goal = entities[destination] else { return }
    require(
      RequiredColumn(
        operation: operation, entity: entity, property: name, place: before.place(of: table), column: column,
        goal: (before.place(of: goal), id)))
  }
}
