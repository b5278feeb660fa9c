// Runs a function of the app on the objects of an entity during a migration: with one context per batch,
// on the migration's own connection, and with the model at that point of the steps.

internal import CipherSQLite

struct ObjectTransform: RowTransform {
  let body: @Sendable (DynamicObject, ObjectContext) throws -> Void

  func run(_ work: TransformWork) throws -> TouchedColumns {
    let core = StoreCore(
      mapping: try SchemaMapping(work.model), classes: .none, path: work.connection.path,
      generation: work.generation, id: work.storeID)
    let entity = try core.entity(named: work.transform.entity)
    let extent = try work.connection.query(sql: entity.highestIDAndCountSQL) {
      ($0.int64(0), Int($0.int64(1)))
    }.first
    // Objects that the function creates have higher ids and are not visited.
    let (highest, all) = extent ?? (0, 0)
    var (touched, last, done) = (TouchedColumns(), Int64(0), 0)
    while last < highest {
      let rows = try batch(work, core: core, of: entity, after: last, to: highest, touched: &touched)
      guard let end = rows.last else { break }
      (last, done) = (end, done + rows.count)
      try work.advance(min(done, all), all)
    }
    return touched
  }

  /// Runs the function on the next batch of objects, and saves their changes.
  /// - Returns: The ids of the batch's rows, in order.
  private func batch(
    _ work: TransformWork, core: StoreCore, of entity: EntityMapping, after last: Int64, to highest: Int64,
    touched: inout TouchedColumns
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
      // The call for an earlier object may have deleted it.
      guard let object = object as? DynamicObject, object.state == .loaded else { continue }
      try naming("\(entity.name) row \(id)") {
        try body(object, context)
        // A value that could not be read was returned as a placeholder, which must not be written.
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

  /// Runs `body`. An error that the function caused becomes a TransformFailure, which names the place or
  /// the broken rules.
  private func naming(_ place: String, _ body: () throws -> Void) throws {
    do { try body() } catch let error as CancellationError { throw error } catch let error as SQLError {
      switch error {
      // The disk or a cancellation has caused this, not the function.
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
    // The entities of an inheritance hierarchy are stored in the table of their root entity.
    let table = { (name: String) in mapping.entity(named: name)?.root.name ?? name }
    for row in changes.inserted { insert(wholeTable: table(row.entity)) }
    for update in changes.updated {
      let entity = mapping.entity(named: update.entity)
      for name in update.properties {
        insert(
          table(update.entity), column: entity?.description.relationship(named: name)?.columnName ?? name)
      }
    }
  }
}
