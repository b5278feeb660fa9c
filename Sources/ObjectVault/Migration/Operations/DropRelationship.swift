// The operation `drop relationship E.r`.

internal import CipherSQLite

struct DropRelationship: TableOperation {
  let entity, name: String

  static let forms = [
    OperationForm("drop", "relationship") { line in
      let (entity, name) = try line.property()
      return [.dropRelationship(entity, name)]
    }
  ]
  var text: OperationText { .line("drop relationship \(entity).\(name)") }
  var subject: OperationSubject { .dropped(entity, name, isRelationship: true) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: true, breaksReaders: true,
      hasForeignSQL: false)
  }
  func missingStatement(_ engine: Engine) -> String? { "ALTER TABLE for this change" }

  func change(_ model: inout Schema) throws(ModelError) {
    let owner = try model.index(of: entity)
    let index = try model.relationshipIndex(owner, name)
    try model.entities[owner].requireUnindexed(name)
    if let (other, back) = model.back(to: entity, property: name) {
      model.entities[other].relationships[back].inverse = nil
    }
    model.entities[owner].relationships.remove(at: index)
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool {
    mapping.isAdded(entity, property: name)
  }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}

  /// The drop can be undone if the inverse keeps the links, in its column or in the join table, and no
  /// order of members is lost. If the relationship has the column of a one-to-one, the drop moves the
  /// column to the inverse.
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    guard let relationship = model.entity(named: entity)?.relationship(named: name),
      !relationship.hasColumn || relationship.isOneToOne,
      let inverse = relationship.inverse, relationship.destination != entity || inverse != name,
      let other = model.entity(named: relationship.destination)?.relationship(named: inverse)
    else { return .none(reason: "its links are lost") }
    guard !relationship.isOrdered else { return .none(reason: "the order of its members is lost") }
    var made = relationship.written
    made.isRequired = false
    let addition = MigrationOperation.addRelationship(entity, made)
    guard relationship.hasColumn else { return .operations([addition]) }
    // The relationship is first added without a column. Dropping the inverse then gives the relationship
    // the column with all values.
    return .operations(
      [
        addition, .dropRelationship(relationship.destination, inverse),
        .addRelationship(relationship.destination, other.written),
      ] + (relationship.isRequired ? [.makeRequired(entity, name, filling: nil)] : []))
  }
}
