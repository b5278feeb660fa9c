// What a relationship refers to, without reading the objects.

internal import CipherSQLite

extension Persistable where Self: ManagedObject {
  /// Whether the members of a to-many have not been read, so that reading the property reads the file.
  /// - Parameter path: The to-many.
  /// - Returns: `false` for a new object, and for one of no context.
  public func hasFault<Members: RelatedMembers>(for path: KeyPath<Self, Members>) -> Bool {
    guard let relationship = knownRelationship(path) else { return false }
    return state != .inserted && toMany[relationship.slot]?.isWhole != true
  }

  /// Whether the object of a to-one has a row that has not been read, so that reading its first property
  /// reads the file.
  /// - Parameter path: The to-one.
  /// - Returns: `false` for nil, and for an object of no context.
  public func hasFault<Target: ManagedObject>(for path: KeyPath<Self, Target?>) -> Bool {
    guard let context, let relationship = knownRelationship(path) else { return false }
    guard !relationship.hasMembers else {
      return state != .inserted && toMany[relationship.slot]?.isWhole != true
    }
    if state == .fault { return true }
    guard case .integer(let id)? = storedValue(relationship.slot) else { return false }
    return context.maps[relationship.destination.index].find(id).map(\.isFault) ?? true
  }

  /// Returns the ids of the members of a to-many without reading their rows. Pending changes count.
  ///
  /// ```swift
  /// let count = try user.objectIDs(for: \.statuses).count
  /// ```
  ///
  /// One query, or none if the members are in memory.
  /// - Parameter path: The to-many.
  /// - Returns: The ids: of an ordered to-many in its order, otherwise the saved ones by their numbers and
  ///   then the new ones.
  /// - Throws: ``StoreError/objectGone(entity:rowID:)``, ``StoreError/noContext(entity:property:)``;
  ///   ``SQLError``.
  public func objectIDs<Members: RelatedMembers>(
    for path: KeyPath<Self, Members>
  ) throws -> [ObjectID<Members.Member>] {
    let name = try (path as PartialKeyPath<Self>).propertyNames.shownPath
    if state == .invalid, !isDraft { throw StoreError.objectGone(entity: nameOfEntity, rowID: rowID) }
    guard let context, let relationship = relationship(named: name) else {
      throw StoreError.noContext(entity: nameOfEntity, property: name)
    }
    if relationship.isOrdered {
      if state != .inserted { try loadMembers(relationship.slot) }
      return self[keyPath: path].related.map(\.id)
    }
    return try context.memberIDs(of: self, relationship).map { id in
      ObjectID(rowID: id, of: context.mark(of: id))
    }
  }

  /// Returns the relationship of a key path; nil for an object of no context. An invalid key path is an
  /// error that ``ObjectContext/faultErrors`` gets.
  private func knownRelationship(_ path: PartialKeyPath<Self>) -> RelationshipMapping? {
    do { return relationship(named: try path.propertyNames.shownPath) } catch {
      context?.note(error)
      return nil
    }
  }

  private func relationship(named name: String) -> RelationshipMapping? {
    guard context != nil, let entity else { return nil }
    return entity.slot(named: name).flatMap { entity.slots[$0].relationship }
  }
}

extension ObjectContext {
  /// Returns the ids of the members of a to-many, as far as possible without reading their rows.
  fileprivate func memberIDs(of object: ManagedObject, _ relationship: RelationshipMapping) throws -> [Int64]
  {
    let isInMemory = object.state == .inserted || object.toMany[relationship.slot]?.isWhole == true
    if isInMemory {
      let members = object.members(relationship.slot).members ?? []
      return sorted(members.filter { $0.state != .deleted && $0.state != .invalid }.map(\.visibleRowID))
    }
    statistics.queries += 1
    let links = try withConnection { connection in
      var related = RelatedRows(
        pending, maps: maps, reader: ConnectionReader(connection: connection))
      return try related.links(relationship, of: RowIDSet([object.rowID]))
    }
    let map = maps[relationship.destination.index]
    return sorted(
      links.map(\.other).filter { map.find($0)?.state != .deleted }
        .map { map.find($0)?.visibleRowID ?? $0 })
  }

  /// Saved ids come first, by their numbers; then new ones, which descend.
  private func sorted(_ ids: some Sequence<Int64>) -> [Int64] {
    ids.sorted { ($0 < 0 ? 1 : 0, $0.magnitude) < ($1 < 0 ? 1 : 0, $1.magnitude) }
  }
}
