// The operation `drop entity E`.

struct DropEntity: TableOperation {
  let name: String

  static let forms = [
    OperationForm("drop", "entity") { [.dropEntity(try $0.name("the entity's name"))] }
  ]
  var text: OperationText { .line("drop entity \(name)") }
  var subject: OperationSubject { .droppedEntity(name) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: true, breaksReaders: true,
      hasForeignSQL: false)
  }

  func change(_ model: inout Schema) throws(ModelError) {
    let dropped = model.entities[try model.index(of: name)]
    let below = model.children(of: dropped).map(\.name)
    guard below.isEmpty else {
      let them = below.count == 1 ? ("inherits", below[0]) : ("inherit", "them")
      throw ModelError(
        reason: "\(below.joined(separator: ", ")) \(them.0) from it; drop \(them.1) first")
    }
    model.entities.removeAll { $0.name == name }
    let left = model.entities.flatMap { entity in
      entity.relationships.filter { $0.destination == name }.map { "\(entity.name).\($0.name)" }
    }
    guard left.isEmpty else {
      throw ModelError(
        reason:
          "\(left.joined(separator: ", ")) still "
          + (left.count == 1 ? "refers to it; drop it first" : "refer to it; drop them first")
      )
    }
  }

  // A segment deletes the rows of a dropped subentity before anything else. So the operations before the
  // drop, which may read these rows, need an earlier segment.
  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { mapping.hadParent(name) }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .none(reason: "its objects are lost")
  }
}
