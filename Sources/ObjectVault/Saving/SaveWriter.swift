// Runs the plan of a save on one connection, inside a transaction that the caller opened. Changes no object.
//   SaveWriter+Rows        inserts and updates     +Changes     updates of many rows in one statement
//   SaveWriter+Unique      unique values that change hands
//   SaveWriter+Deletions   what goes               +References  those that lead to rows which are gone
//   SaveWriter+Places      the order of members   +Record      what was written, as a change set

internal import CipherSQLite

/// Writes one plan.
final class SaveWriter {
  /// What was planned. A flush leaves more out when it meets unique values that collide.
  var plan: SavePlan
  let mapping: SchemaMapping
  let maps: [IdentityMap]
  let connection: Connection
  /// What has been written, while somebody listens.
  var record: ChangeCollector?
  /// Whether objects whose unique values collide are left out from now on.
  var waits = false

  /// Whether triggers see what is written to the rows of an entity.
  func firesTriggers(_ entity: EntityMapping) throws -> Bool {
    try connection.firesTriggers(table: entity.root.name)
  }

  init(
    _ plan: SavePlan, _ mapping: SchemaMapping, _ maps: [IdentityMap], _ connection: Connection, records: Bool
  ) {
    (self.plan, self.mapping, self.maps, self.connection) = (plan, mapping, maps, connection)
    record = records ? ChangeCollector() : nil
  }

  func write() throws {
    for (entity, ids) in plan.ids.ranges {
      try RowIDs(connection: connection).take(ids, of: entity.root.name)
    }
    try recordRowsThatGo()
    let places = try placesBefore()
    try writeRowsInAnyOrder()
    do {
      try writeLinks()
      try delete()
    } catch SQLError.constraint(let message, let code, let sql) {
      throw translated(message, code, sql, nil)
    }
    try writeCollided()
    try writePlaces()
    try recordPlaces(since: places)
    try checkReferences()
  }

  /// Inserts and updates, in the order that costs least.
  func writeRows() throws {
    for (entity, objects) in plan.inserted { try insert(objects, entity) }
    try update()
  }

  /// What a deleted row stood in the way of.
  private func writeCollided() throws {
    guard plan.extent.isPartial, !plan.leftOut.isEmpty, !plan.deletion.levels.isEmpty else { return }
    for (entity, objects) in plan.inserted {
      let collided = objects.filter(plan.leftOut.contains)
      plan.leftOut.subtract(collided)
      try insert(collided, entity)
    }
  }

  private func writeLinks() throws {
    var rest = plan.links[...]
    while let first = rest.first {
      // They are sorted by their table.
      let join = first.link.join
      let end =
        rest.indices.first { rest[$0].link.join !== join && rest[$0].link.join.name != join.name }
        ?? rest.endIndex
      try writeLinks(rest[..<end], join)
      rest = rest[end...]
    }
  }

  /// So many are written one by one.
  private static let fewLinks = 50

  /// Writes the links of one table: new ones in one statement, where they are many and nobody looks at each, who listens or by
  /// a trigger.
  private func writeLinks(_ links: ArraySlice<PlannedLink>, _ join: JoinTable) throws {
    // By their places: a link that is taken out of the array counts the references of both ends.
    let added = links.indices.filter { links[$0].link.isAdded }
    let isFed =
      try record == nil && added.count > Self.fewLinks
      && !connection.firesTriggers(table: join.name)
    if isFed {
      let feed = RowFeed(pairs: added.lazy.map { (links[$0].source, links[$0].target) })
      try connection.run(feed, from: 0, sql: join.linkFeedSQL)
      if connection.changes < feed.count { for index in added { try requireWritten(links[index]) } }
    }
    if isFed, added.count == links.count { return }
    for planned in links where !isFed || !planned.link.isAdded {
      let count = try connection.execute(
        sql: planned.link.isAdded ? join.linkSQL : join.unlinkSQL, planned.ends)
      if count == 0 { try requireWritten(planned) }
      if record != nil { recordLink(planned, isChange: count == 1) }
    }
  }

  /// Somebody else may have done the same: what counts is that it is so.
  private func requireWritten(_ planned: PlannedLink) throws {
    let isLinked = try connection.value(sql: planned.link.join.isLinkedSQL, planned.ends) != nil
    if isLinked != planned.link.isAdded { throw ignored(planned) }
  }

  // MARK: Errors

  func ignored(
    _ entity: EntityMapping, property: String = "id", _ id: Int64, _ what: String
  ) -> StoreError {
    .ignored(entity, property: property, id, what)
  }

  /// The same of a link, which is said of the end that has a property for it.
  private func ignored(_ planned: PlannedLink) -> any Error {
    let link = planned.link
    for (own, id, other, otherID, isSource) in [
      (link.source, planned.source, link.target, planned.target, true),
      (link.target, planned.target, link.source, planned.source, false),
    ] {
      guard let entity = own.entity,
        let relationship = entity.relationships.first(where: { end in
          end.join.map { $0.table.name == link.join.name && $0.isSource == isSource } ?? false
        })
      else { continue }
      let name = "\(other.nameOfEntity) \(otherID)"
      return ignored(
        entity, property: relationship.name, id, link.isAdded ? "linked to \(name)" : "unlinked from \(name)")
    }
    return StoreError.objectGone(entity: link.source.nameOfEntity, rowID: planned.source)
  }

  /// What the engine says of a row that it refuses as a whole: SQLITE_CONSTRAINT_CHECK, _FOREIGNKEY, _TRIGGER, _DATATYPE.
  static func isRule(_ code: Int) -> Bool { [275, 787, 1811, 3091].contains(code) }

  /// SQLite's constraint messages name table and columns: `UNIQUE constraint failed: User.name, User.city`.
  /// - Parameter object: The object whose row was being written.
  func translated(_ message: String, _ code: Int, _ sql: String, _ object: ManagedObject?) -> any Error {
    // SQLITE_CONSTRAINT_UNIQUE and _PRIMARYKEY, _NOTNULL.
    let isUnique = code == 2067 || code == 1555
    guard isUnique || code == 1299, let (entity, columns) = mapping.brokenColumns(message) else {
      guard Self.isRule(code), let object, let entity = object.entity else {
        return SQLError.constraint(message: message, extendedCode: code, sql: sql)
      }
      return StoreError.refused(entity, object.rowID, message)
    }
    let reason =
      isUnique
      ? "must be unique, and another \(entity.name) has the same value\(columns.count > 1 ? "s" : "")"
      : object == nil ? "is required, and what it leads to is deleted" : "is required"
    let error = StoreError.validation([
      ValidationFailure(
        entity: object?.entity?.name ?? entity.name,
        property: columns.map(\.property).joined(separator: ", "),
        rowID: object?.rowID ?? 0, reason: reason)
    ])
    guard isUnique, object != nil else { return error }
    return UniqueCollision(error: error, columns: columns.map(\.column))
  }
}

extension StoreError {
  /// What is said of a row that a rule of the file refuses: one that no property of the model has.
  /// - Parameter message: What the engine says, such as `CHECK constraint failed: adults` or the text of a `RAISE(ABORT, …)`.
  static func refused(_ entity: EntityMapping, _ id: Int64, _ message: String) -> StoreError {
    .validation([
      ValidationFailure(
        entity: entity.name, property: "id", rowID: id, reason: "is refused by the file: \(message)")
    ])
  }

  /// What is said where the engine has done nothing and tells of no error.
  static func ignored(
    _ entity: EntityMapping, property: String = "id", _ id: Int64, _ what: String
  ) -> StoreError {
    .validation([
      ValidationFailure(
        entity: entity.name, property: property, rowID: id,
        reason:
          "was not \(what): a trigger keeps the row from it by RAISE(IGNORE). RAISE(ABORT, 'why') says so to everybody"
      )
    ])
  }
}
