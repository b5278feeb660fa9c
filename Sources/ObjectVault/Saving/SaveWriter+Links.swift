// Writes the links of many-to-manys.

internal import CipherSQLite

extension SaveWriter {
  func writeLinks() throws {
    var rest = plan.links[...]
    while let first = rest.first {
      // The links are sorted by table.
      let join = first.link.join
      let end =
        rest.indices.first { rest[$0].link.join !== join && rest[$0].link.join.name != join.name }
        ?? rest.endIndex
      try writeLinks(rest[..<end], join)
      rest = rest[end...]
    }
  }

  /// Up to this many links are written one by one.
  private static let fewLinks = 50

  /// Writes the links of one table. Many new links are written in one statement, unless they are recorded
  /// or the table has triggers.
  private func writeLinks(_ links: ArraySlice<PlannedLink>, _ join: JoinTable) throws {
    // Indexes and not links, because taking a link out of the array retains its source and target.
    let added = links.indices.filter { links[$0].link.isAdded }
    let fires = try connection.firesTriggers(table: join.name)
    let isRecorded = record != nil || history?.numbers.number(of: join) != nil
    let isFed = !isRecorded && added.count > Self.fewLinks && !fires
    if isFed {
      let feed = RowFeed(pairs: added.lazy.map { (links[$0].source, links[$0].target) })
      try connection.run(feed, from: 0, sql: join.linkFeedSQL)
      if connection.changes < feed.count { for index in added { try requireWritten(links[index], fires) } }
    }
    if isFed, added.count == links.count { return }
    for planned in links where !isFed || !planned.link.isAdded {
      let isChange = try writeLink(planned, fires)
      if !isChange { try requireWritten(planned, fires) }
      if isRecorded { recordLink(planned, isChange: isChange) }
      try history?.store(connection)
    }
  }

  /// Writes one link.
  /// - Parameter fires: Whether the table has triggers.
  /// - Returns: Whether something was written.
  private func writeLink(_ planned: PlannedLink, _ fires: Bool) throws -> Bool {
    let join = planned.link.join
    do {
      return try planned.link.isAdded
        ? connection.write(link: planned.ends, in: join, besideTriggers: fires)
        : connection.execute(sql: join.unlinkSQL, planned.ends) == 1
    } catch SQLError.constraint(let message, _, _) {
      throw failure(planned) { .refused($0, property: $1, id: $2, message: message, what: $3) }
    }
  }

  /// Checks that a link is as planned. A statement may rightly have no effect, if another connection has
  /// already made this change.
  private func requireWritten(_ planned: PlannedLink, _ fires: Bool) throws {
    let (link, join) = (planned.link, planned.link.join)
    let isLinked = try connection.value(sql: join.isLinkedSQL, planned.ends) != nil
    guard isLinked != link.isAdded else { return }
    guard !fires, link.isAdded else {
      throw failure(planned) { .ignored($0, property: $1, id: $2, what: $3) }
    }
    // OR IGNORE has skipped the row.
    let rule = "a constraint of the table \(join.name), such as a UNIQUE index, rejects it"
    throw failure(planned) { .refused($0, property: $1, id: $2, message: rule, what: $3) }
  }

  /// Returns the error for a link. It names the source and the relationship of the source; if only the
  /// target's entity has a relationship for the link, the target and that relationship.
  private func failure(
    _ planned: PlannedLink,
    _ make: (EntityMapping, _ property: String, _ id: Int64, _ what: String) -> StoreError
  ) -> StoreError {
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
      let what = "\(link.isAdded ? "linked to" : "unlinked from") \(other.nameOfEntity) \(otherID)"
      return make(entity, relationship.name, id, what)
    }
    return StoreError.objectGone(entity: link.source.nameOfEntity, rowID: planned.source)
  }
}

extension Connection {
  /// Writes a link, unless it exists.
  /// - Parameter fires: Whether the table has triggers. If so, the statement has no conflict clause,
  ///   because it would override the conflict clauses in the triggers.
  /// - Returns: Whether the link was written.
  func write(link ends: [SQLValue], in table: JoinTable, besideTriggers fires: Bool) throws -> Bool {
    guard fires else { return try execute(sql: table.linkSQL, ends) == 1 }
    guard try value(sql: table.isLinkedSQL, ends) == nil else { return false }
    return try execute(sql: table.plainLinkSQL, ends) == 1
  }
}
