// Runs a function of the app over the objects of an entity, inside a migration: a context for each batch, on the
// migration's own connection and by the model of that point of the chain.

internal import CipherSQLite

struct ObjectTransform: RowTransform {
  let body: @Sendable (DynamicObject, ObjectContext) throws -> Void

  func run(_ work: TransformWork) throws -> TouchedColumns {
    let core = StoreCore(
      mapping: try SchemaMapping(work.model), classes: .none, path: work.connection.path,
      generation: work.generation, id: work.storeID)
    let entity = try core.entity(named: work.transform.entity)
    let extent = try work.connection.query(sql: entity.extentSQL) { ($0.int64(0), Int($0.int64(1))) }.first
    // What is made from here on has higher ids, and is not visited.
    let (highest, all) = extent ?? (0, 0)
    var (touched, last, done) = (TouchedColumns(), Int64(0), 0)
    while last < highest {
      let rows = try batch(work, core, entity, after: last, to: highest, &touched)
      guard let end = rows.last else { break }
      (last, done) = (end, done + rows.count)
      try work.advance(min(done, all), all)
    }
    return touched
  }

  /// - Returns: The ids of the rows, in order.
  private func batch(
    _ work: TransformWork, _ core: StoreCore, _ entity: EntityMapping, after last: Int64, to highest: Int64,
    _ touched: inout TouchedColumns
  ) throws -> [Int64] {
    let context = ObjectContext(
      core: core, access: .writing(work.connection, committed: nil, isRecording: true))
    let declared = DeclaredProperties(work.transform.access, core.mapping)
    context.reads = declared.reads
    let objects = try context.scan(entity).objects(
      .stepped(entity.batchSQL),
      [.integer(last), .integer(highest), .integer(Int64(work.transform.batch))])
    let ids = objects.map(\.rowID)
    for (object, id) in zip(objects, ids) {
      // An earlier one may have deleted it.
      guard let object = object as? DynamicObject, object.state == .loaded else { continue }
      try naming("\(entity.name) row \(id)") {
        try body(object, context)
        // A value that could not be read was shown as nothing, and nothing must become of that.
        if let error = context.faultErrors.first ?? context.unreadableValues.first { throw error }
      }
      try declared.checkReads(at: "\(entity.name) row \(id)")
    }
    let rows = "\(entity.name) rows \(ids.first ?? 0) to \(ids.last ?? 0)"
    try naming(rows) { try context.save() }
    let changes = context.written.changes?.changes ?? ChangeSet()
    try declared.check(changes)
    touched.formUnion(TouchedColumns(changes, core.mapping))
    return ids
  }

  /// Runs a part of a function's work; what it throws says where it was.
  private func naming(_ place: String, _ body: () throws -> Void) throws {
    do { try body() } catch let error as CancellationError { throw error } catch let error as SQLError {
      switch error {
      // The disk, or whoever stopped the run, and not the function.
      case .diskFull, .interrupted: throw error
      default: throw TransformFailure("\(place): \(error)")
      }
    } catch StoreError.validation(let failures) {
      throw TransformFailure(failures.prefix(8).map { "\($0)" }.joined(separator: "; "))
    } catch { throw TransformFailure("\(place): \(error)") }
  }
}

extension TouchedColumns {
  fileprivate init(_ changes: ChangeSet, _ mapping: SchemaMapping) {
    self.init()
    // The tables of families are their roots'.
    let table = { (name: String) in mapping.entity(named: name)?.root.name ?? name }
    for row in changes.inserted { insert(wholeTable: table(row.entity)) }
    for update in changes.updated {
      let entity = mapping.entity(named: update.entity)
      for name in update.properties {
        insert(table(update.entity), entity?.description.relationship(named: name)?.columnName ?? name)
      }
    }
  }
}
