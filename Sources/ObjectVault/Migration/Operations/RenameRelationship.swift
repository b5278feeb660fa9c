// The operation `rename relationship E.r -> s`.

internal import CipherSQLite

struct RenameRelationship: TableOperation {
  let entity, name, new: String

  static let forms = [
    OperationForm("rename", "relationship") { line in
      let (entity, old) = try line.property()
      try line.expect("->")
      return [.renameRelationship(entity, old, to: try line.name("the new name"))]
    }
  ]
  var text: OperationText { .line("rename relationship \(entity).\(name) -> \(new)") }
  var subject: OperationSubject { .renamed(entity, name, to: new, isRelationship: true) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: true, breaksReaders: true,
      hasForeignSQL: false)
  }
  func missingStatement(_ engine: Engine) -> String? { "ALTER TABLE for this change" }

  func change(_ model: inout Schema) throws(ModelError) {
    let owner = try model.index(of: entity)
    let index = try model.relationshipIndex(owner, name)
    try model.entities[owner].requireFree(new)
    if let (other, back) = model.back(to: entity, property: name) {
      model.entities[other].relationships[back].inverse = new
    }
    model.entities[owner].relationships[index].name = new
    model.entities[owner].renameInIndexes(name, to: new)
    model.renameInIndexes(below: entity, property: name, to: new)
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations([.renameRelationship(entity, new, to: name)])
  }
}
