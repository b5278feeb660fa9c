// What a relationship refers to, without reading the objects.

internal import CipherSQLite

extension Persistable where Self: ManagedObject {
  /// Whether the members of a to-many have not been read, so that reading the property reads the file.
  /// - Parameter path: The to-many.
  /// - Returns: `false` for a new object, and for one of no context.
  public func hasFault<Members: RelatedMembers>(for path: KeyPath<Self, Members>) -> Bool {
    knownRelationship(path).map(hasFault) ?? false
  }

  /// Whether the object of a to-one has a row that has not been read, so that reading its first property
  /// reads the file.
  /// - Parameter path: The to-one.
  /// - Returns: `false` for nil, and for an object of no context.
  public func hasFault<Target: ManagedObject>(for path: KeyPath<Self, Target?>) -> Bool {
    knownRelationship(path).map(hasFault) ?? false
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
    try relatedIDs(named: (path as PartialKeyPath<Self>).propertyNames.shownPath).map {
      ObjectID(rowID: $0.rowID, of: $0.store)
    }
  }

  /// Returns the relationship of a key path; nil for an object of no context. An invalid key path is an
  /// error that ``ObjectContext/faultErrors`` gets.
  private func knownRelationship(_ path: PartialKeyPath<Self>) -> RelationshipMapping? {
    guard context != nil else { return nil }
    do { return try relationship(path.propertyNames.shownPath) } catch {
      context?.note(error)
      return nil
    }
  }
}

extension ManagedObject {
  /// Whether a relationship has not been read, so that its use reads the file: as `hasFault(for:)` with the
  /// key path of a class.
  /// - Parameter name: The name of the relationship.
  /// - Returns: `false` for a new object.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)`` for an attribute;
  ///   ``StoreError/noContext(entity:property:)``, ``StoreError/objectGone(entity:rowID:)`` for an object
  ///   that is in no context.
  public func hasFault(forName name: String) throws -> Bool {
    if host == nil { throw unreachable(name) }
    return hasFault(try relationship(name))
  }

  /// Returns the ids of the objects that a relationship refers to: as `objectIDs(for:)` with the key path of
  /// a class. Of an unordered to-many and of a to-one, the rows of the related objects are not read, with two
  /// exceptions: a to-one without a column, and one whose target's entity has subentities.
  /// - Parameter name: The name of the relationship.
  /// - Returns: The ids: of a to-one at most one, of an ordered to-many in its order, otherwise the saved
  ///   ones by their numbers and then the new ones.
  /// - Throws: As ``hasFault(forName:)``; ``StoreError/objectGone(entity:rowID:)`` if the row no longer
  ///   exists; ``SQLError``.
  public func objectIDs(forName name: String) throws -> [DynamicID] { try relatedIDs(named: name) }

  fileprivate final func hasFault(_ relationship: RelationshipMapping) -> Bool {
    guard let context else { return false }
    guard !relationship.hasMembers else {
      return state != .inserted && toMany[relationship.slot]?.isWhole != true
    }
    if state == .fault { return true }
    guard case .integer(let id)? = storedValue(relationship.slot) else { return false }
    return context.maps[relationship.destination.index].find(id).map(\.isFault) ?? true
  }

  fileprivate final func relatedIDs(named name: String) throws -> [DynamicID] {
    guard let context else { throw unreachable(name) }
    if state == .invalid { throw StoreError.objectGone(entity: nameOfEntity, rowID: rowID) }
    let relationship = try relationship(name)
    let rows: [Int64]
    if !relationship.isToMany {
      rows = try relatedObject(name).map { [$0.visibleRowID] } ?? []
    } else {
      if isTracked { noteReadOfMembers(relationship.slot) }
      if relationship.isOrdered, state != .inserted { try loadMembers(relationship.slot) }
      rows =
        relationship.isOrdered
        ? relatedList(relationship).map(\.visibleRowID) : try context.memberIDs(of: self, relationship)
    }
    return rows.map { DynamicID(entity: relationship.destination.name, rowID: $0, of: context.mark(of: $0)) }
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
    ids.sorted { $0.isOlderRowID(than: $1) }
  }
}
