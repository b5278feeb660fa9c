// The operation `drop attribute E.a`.

internal import CipherSQLite

struct DropAttribute: TableOperation {
  let entity, name: String

  static let forms = [
    OperationForm("drop", "attribute") { line in
      let (entity, name) = try line.property()
      return [.dropAttribute(entity, name)]
    }
  ]
  var text: OperationText { .line("drop attribute \(entity).\(name)") }
  var subject: OperationSubject { .dropped(entity, name, isRelationship: false) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: true,
      hasForeignSQL: false)
  }
  func missingStatement(_ engine: Engine) -> String? { engine.canDropColumn ? nil : "DROP COLUMN" }

  func change(_ model: inout Schema) throws(ModelError) {
    try model.change(entity) { entity throws(ModelError) in
      let index = try entity.attributeIndex(name)
      try entity.requireUnindexed(name)
      entity.attributes.remove(at: index)
    }
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .none(reason: "its values are lost")
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    guard let old = place.model.entity(named: entity)?.attribute(named: name), !place.isTransformed(name)
    else {
      return []
    }
    var remarks: [OperationRemark] = []
    for case .addAttribute(entity, let new) in place.step.operations where new.type == old.type {
      remarks.append(
        (
          .mayBeRenaming,
          "\(entity).\(new.name) of the same type is added; to keep the values, write: rename attribute "
            + "\(entity).\(name) -> \(new.name)"
        ))
    }
    return remarks
  }
}
