// Columns in which every row must have a value before a run of schema operations.

extension SegmentMapping {
  /// A column that must hold no NULL before the run.
  struct RequiredColumn {
    let operation: MigrationOperation
    let entity: String
    let property: String
    /// Where its rows lie before the run.
    let place: EntityPlace
    let column: String
    /// What a person does about rows that have none.
    var remedy = ""
    /// Of a to-one that is filled: whom those lead to from then on that led nowhere.
    var goal: (place: EntityPlace, id: Int64)?
  }

  /// A column must hold no NULL before the run.
  mutating func require(
    _ entity: String, _ name: String, _ column: String, _ operation: MigrationOperation, remedy: String
  ) {
    guard let table = entities[entity] else { return }
    require(
      RequiredColumn(
        operation: operation, entity: entity, property: name, place: before.place(of: table), column: column,
        remedy: remedy))
  }

  /// The same of a to-one that is filled: whom those lead to from then on that led nowhere has to be there.
  mutating func require(
    _ entity: String, _ name: String, _ column: String, _ operation: MigrationOperation,
    leadingTo destination: String, _ id: Int64
  ) {
    guard let table = entities[entity], let goal = entities[destination] else { return }
    require(
      RequiredColumn(
        operation: operation, entity: entity, property: name, place: before.place(of: table), column: column,
        goal: (before.place(of: goal), id)))
  }
}
