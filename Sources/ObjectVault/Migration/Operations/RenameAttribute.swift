// The operation `rename attribute E.a -> b`.

internal import CipherSQLite

struct RenameAttribute: TableOperation {
  let entity, name, new: String

  static let forms = [
    OperationForm("rename", "attribute") { line in
      let (entity, old) = try line.property()
      try line.expect("->")
      return [.renameAttribute(entity, old, to: try line.name("the new name"))]
    }
  ]
  var text: OperationText { .line("rename attribute \(entity).\(name) -> \(new)") }
  var subject: OperationSubject { .renamed(entity, name, to: new, isRelationship: false) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: true,
      hasForeignSQL: false)
  }
  func missingStatement(_ engine: Engine) -> String? { engine.canRenameColumn ? nil : "RENAME COLUMN" }

  func change(_ model: inout Schema) throws(ModelError) {
    try model.change(entity) { entity throws(ModelError) in
      let index = try entity.attributeIndex(name)
      try entity.requireFree(new)
      entity.attributes[index].name = new
      entity.renameInIndexes(name, to: new)
    }
    model.renameInIndexes(below: entity, property: name, to: new)
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations([.renameAttribute(entity, new, to: name)])
  }
}
