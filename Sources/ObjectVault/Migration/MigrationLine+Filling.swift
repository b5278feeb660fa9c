// `add … filling VALUE`: what is required from its first moment, where rows are there already. It is short for operations
// that do the same one after another, and the canonical text has those.

/// What a new property that is required needs where rows are there, as errors, proposals and lint say it.
enum FillingAdvice {
  static let attribute = "write: filling VALUE, default VALUE, or optional"
  static let toOne = "write: filling ID, or add it without required, fill it, then make it required"
}

extension MigrationLine {
  /// `attribute E.a TYPE [unique] [indexed] filling V [default W]`
  mutating func addedAttribute() throws -> [MigrationOperation] {
    let (entity, name) = try property()
    let start = column
    var (attribute, filling) = try attribute(name)
    guard let filling else { return [.addAttribute(entity, attribute)] }
    guard !attribute.isOptional else { throw fillsNothing(start) }
    let later = attribute.defaultValue
    attribute.isOptional = true
    attribute.defaultValue = nil
    return [.addAttribute(entity, attribute), .makeRequired(entity, name, filling: filling)]
      + (later.map { [.setDefault(entity, name, $0)] } ?? [])
  }

  /// `relationship E.r -> D … filling ID`
  mutating func addedRelationship() throws -> [MigrationOperation] {
    let (entity, name) = try property()
    let start = column
    var (relationship, filling) = try relationship(name)
    guard let filling else { return [.addRelationship(entity, relationship)] }
    guard !relationship.isToMany else {
      throw failure("a to-many is never required", "leave out filling", start)
    }
    guard relationship.isRequired else { throw fillsNothing(start) }
    relationship.isRequired = false
    return [.addRelationship(entity, relationship), .makeRequired(entity, name, filling: filling)]
  }

  private func fillsNothing(_ column: Int) -> StoreError {
    failure(
      "a filling is for what is required",
      "leave out optional, or write required behind the other end of a relationship; or leave out filling",
      column)
  }
}
