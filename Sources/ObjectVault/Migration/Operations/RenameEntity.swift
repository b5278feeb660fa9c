// The operation `rename entity A -> B`.

struct RenameEntity: TableOperation {
  let name, new: String

  static let forms = [
    OperationForm("rename", "entity") { line in
      let old = try line.name("the entity's name")
      try line.expect("->")
      return [.renameEntity(old, to: try line.name("the new name"))]
    }
  ]
  var text: OperationText { .line("rename entity \(name) -> \(new)") }
  var subject: OperationSubject { .renamedEntity(name, to: new) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: true, breaksReaders: true,
      hasForeignSQL: false)
  }

  func change(_ model: inout Schema) throws(ModelError) {
    guard model.entity(named: new) == nil else { throw ModelError(reason: "\(new) already exists") }
    model.entities[try model.index(of: name)].name = new
    for entity in model.entities.indices {
      if model.entities[entity].parent == name { model.entities[entity].parent = new }
      for index in model.entities[entity].relationships.indices
      where model.entities[entity].relationships[index].destination == name {
        model.entities[entity].relationships[index].destination = new
      }
    }
    model.entities.sort { $0.name < $1.name }
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations([.renameEntity(new, to: name)])
  }
}
