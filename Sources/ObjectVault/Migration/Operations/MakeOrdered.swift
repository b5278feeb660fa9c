// The operations `make E.r ordered` and `make E.r unordered`.

internal import CipherSQLite

struct MakeOrdered: TableOperation {
  let entity, name: String
  let isOrdered: Bool

  static let forms = [
    OperationForm("make", property: "ordered") { .makeOrdered($1, $2) },
    OperationForm("make", property: "unordered") { .makeUnordered($1, $2) },
  ]
  var text: OperationText { .line("make \(entity).\(name) \(isOrdered ? "" : "un")ordered") }
  var subject: OperationSubject { .changed(entity, name) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: true,
      hasForeignSQL: false)
  }

  // `make unordered` drops the column with the positions.
  func missingStatement(_ engine: Engine) -> String? {
    isOrdered || engine.canDropColumn ? nil : "DROP COLUMN"
  }

  func change(_ model: inout Schema) throws(ModelError) {
    let owner = try model.index(of: entity)
    let index = try model.relationshipIndex(owner, name)
    guard model.entities[owner].relationships[index].isToMany else {
      throw ModelError(
        reason: "\(entity).\(name) is a to-one, but only a to-many can be ordered")
    }
    guard model.entities[owner].relationships[index].isOrdered != isOrdered else {
      throw ModelError(reason: "\(entity).\(name) is already \(isOrdered ? "" : "un")ordered")
    }
    model.entities[owner].relationships[index].isOrdered = isOrdered
  }

  // An order column that an earlier operation of the segment drops cannot be added again in the segment.
  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool {
    isOrdered && !mapping.dropped.orders.isEmpty
  }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {
    if !isOrdered { mapping.dropOrder(of: entity, relationship: name) }
  }

  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    isOrdered
      ? .operations([.makeUnordered(entity, name)]) : .none(reason: "the order of its members is lost")
  }
}
