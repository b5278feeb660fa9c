// Records changes of objects until they are saved, and runs reads on the right connection.

package import CipherSQLite

extension ObjectContext {
  /// Calls `body` to change `pending`. Objects that `body` removes are released only after it has
  /// returned, because the deinit of a user's class may access `pending`.
  @discardableResult func changePending<Result>(_ body: (inout PendingChanges) -> Result) -> Result {
    let former = pending
    let result = body(&pending)
    if pending.generation != former.generation { index.clear() }
    withExtendedLifetime(former) {}
    return result
  }

  /// Whether objects can be changed now. If not, the reason is noted as an error.
  var acceptsChanges: Bool {
    // The usual case first: the first change of each object calls this.
    if canWrite, byteWriting == nil, run?.isCancelled != true { return true }
    guard let refusal else { return true }
    note(refusal)
    return false
  }

  /// The reason why objects cannot be changed now; nil when they can.
  var refusal: (any Error)? {
    guard canWrite else { return StoreError.readOnlyContext }
    if let byteWriting { return byteWriting }
    return run?.isCancelled == true ? CancellationError() : nil
  }

  /// Invalidates all objects after the transaction was rolled back: their values may not be in the file.
  func abandon() { notifyingObservers(invalidateAll) }

  private func invalidateAll() {
    for object in maps.objects {
      observers?.didChange(object)
      object.dropRow()
      object.dropLastRow()
      object.overlay = nil
      object.state = .invalid
    }
    (deniedDeletions, pendingMetadata) = (DeniedDeletions(), PendingMetadata())
    undoes?.removeAll()
    changePending { $0.clear() }
  }

  /// Releases the relationships of released objects. This may release more objects, which add their
  /// relationships to the list: the loop replaces a deep recursion.
  func releaseExtras() {
    guard !isReleasing else { return }
    isReleasing = true
    while !releasing.isEmpty { releasing.removeLast() }
    isReleasing = false
  }

  func note(_ error: any Error) {
    if errors.note(error) { onFaultError?(error) }
  }

  func noteUnreadable(_ error: StoreError) {
    if errors.noteUnreadable(error) { onFaultError?(error) }
  }

  func didWrite(_ object: ManagedObject, isFirst: Bool) {
    index.wake(object)
    if isFirst, object.isRegistered { pending.didChangeAgain() }
    hookRun?.didChange(object)
    undoes?.didChange()
    if object.state == .loaded, !object.isRegistered {
      object.isRegistered = true
      pending.didChange(object)
    }
    if observers != nil { notifyObservers() }
  }

  /// The indexes of the entities whose rows a save may change: those of changed objects, and those that
  /// the delete rules of deleted objects affect.
  var entitiesPending: Set<Int> {
    let going = entitiesWithDeletions
    var found = pending.entities.union(going)
    for entity in going.map({ core.mapping.entities[$0] }) {
      // Links of a many-to-many are removed; the rows of the related entity do not change.
      for relationship in entity.relationships where relationship.join == nil {
        found.formUnion(relationship.destination.branch.map(\.index))
      }
      for referrer in entity.danglingReferrers { found.formUnion(referrer.owner.branch.map(\.index)) }
    }
    return found
  }

  /// The indexes of the entities whose rows may be deleted, directly or by cascades.
  var entitiesWithDeletions: Set<Int> { pending.entitiesDeleted.union(entitiesInCascades) }

  /// The indexes of the entities whose rows may be deleted by cascades.
  var entitiesInCascades: Set<Int> { entitiesReached(byCascadesFrom: pending.entitiesDeleted) }

  /// Returns the indexes of the entities whose rows may be deleted when rows of some entities are.
  func entitiesReached(byCascadesFrom entities: Set<Int>) -> Set<Int> {
    var found: Set<Int> = []
    var waiting = Array(entities)
    while let index = waiting.popLast() {
      for relationship in core.mapping.entities[index].relationships
      where relationship.deleteRule == .cascade {
        for other in relationship.destination.branch where found.insert(other.index).inserted {
          waiting.append(other.index)
        }
      }
    }
    return found
  }

  func didLoseRow(_ id: Int64, table: Int) { index.lose(id, table: table) }

  func didTouchMembers(_ object: ManagedObject) { pending.didTouch(object) }

  func didGain(_ member: ManagedObject, owner: ManagedObject, slot: Int) {
    tellChange(of: owner, slot)
    pending.didGain(member, owner: owner, slot: slot)
  }

  func takeGained(of owner: ManagedObject, _ slot: Int) -> [ManagedObject] {
    pending.takeGained(of: owner, slot)
  }

  func accepts(_ target: ManagedObject?, for owner: ManagedObject, _ relationship: RelationshipMapping)
    -> Bool
  {
    guard let target else { return true }
    if target.isDraft { insertDrafts([target]) }
    let isUsable = target.state == .inserted || target.state == .loaded || target.state == .fault
    if target.context === self, isUsable { return true }
    let entity = owner.entity ?? relationship.owner
    note(StoreError.foreignObject(entity: entity.name, property: relationship.name))
    return false
  }

  func link(
    _ owner: ManagedObject, to member: ManagedObject, by relationship: RelationshipMapping, isAdded: Bool,
    isKnown: Bool
  ) {
    guard let join = relationship.join else { return }
    let (source, target) = join.isSource ? (owner, member) : (member, owner)
    pending.didLink(source, to: target, in: join.table, isAdded: isAdded, isKnown: isKnown)
    tellChange(of: owner, relationship.slot)
    if let inverse = relationship.inverseSlot { tellChange(of: member, inverse) }
    if let undoes {
      undoes.recorder?.didLink(
        UndoGroup.Link(owner: owner, member: member, relationship: relationship, isAdded: isAdded))
      undoes.didChange()
    }
  }

  func hasPendingLink(
    _ owner: ManagedObject, to member: ManagedObject, by relationship: RelationshipMapping
  ) -> Bool {
    guard let join = relationship.join else { return false }
    let (source, target) = join.isSource ? (owner, member) : (member, owner)
    return pending.addsLink(source, to: target, in: join.table)
  }

  func discard(_ object: ManagedObject) {
    if object.state != .deleted, object.state != .invalid {
      didLoseRow(of: object)
    } else {
      observers?.didChange(object)
    }
    object.leaveMap()
    object.map = nil
    object.state = .invalid
    object.overlay = nil
    object.dropRow()
    object.forgetMembers()
    object.remember(former)
  }

  /// Runs `body` with a connection to read from.
  package func withConnection<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    defer { awake() }
    switch access {
    case .reading(let connection, _), .writing(let connection, _, _):
      try run?.check()
      return try told(connection, body)
    case .pooled(let pool):
      if let snapshot { return try told(snapshot, body) }
      return try withReader(of: pool) { try checked($0, body) }
    }
  }

  /// Runs `body` with a connection that sees the last commit, also in a context that is pinned.
  func withLastCommit<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard case .pooled(let pool) = access, pinned != nil else { return try withConnection(body) }
    return try pool.withReader { try checked($0, body) }
  }

  /// Runs `body` with a connection to read from, and with the state of the file before the read began;
  /// nil if it is unknown.
  func withState<Result>(_ body: (Connection, SharedState?) throws -> Result) throws -> Result {
    guard case .pooled(let pool) = access, snapshot == nil else {
      return try withConnection { try body($0, $0.stateBeforeTransaction) }
    }
    defer { awake() }
    return try withReader(of: pool) { connection in
      // Other readers see other states than a pinned one.
      let state = pinned == nil ? connection.sharedState : nil
      return try checked(connection) { try body($0, state) }
    }
  }

  /// Runs `body` with all its reads in one snapshot of the file. Otherwise each read would have its own
  /// snapshot.
  func withSnapshot<Result>(_ body: () throws -> Result) throws -> Result {
    guard case .pooled(let pool) = access, snapshot == nil else { return try body() }
    defer { awake() }
    return try withReader(of: pool) { connection in
      try connection.transaction(.deferred) {
        try checked(connection) { connection in
          let outer = snapshot
          snapshot = connection
          defer { snapshot = outer }
          return try body()
        }
      }
    }
  }

  /// Runs `body` in one snapshot of the file; its statements can exclude the rows with the given ids
  /// (`vault_pending(id)`).
  func withPendingRows<Result>(_ ids: [Set<Int64>], _ body: () throws -> Result) throws -> Result {
    guard !ids.isEmpty else { return try withSnapshot(body) }
    return try withSnapshot { try withConnection { try $0.withPendingRows(ids, body) } }
  }

  /// Runs a read, in one snapshot with a check that the store was not migrated since it was opened.
  private func checked<Result>(_ connection: Connection, _ body: (Connection) throws -> Result) throws
    -> Result
  {
    try connection.reading {
      try core.checkGeneration(connection)
    } _: {
      try told(connection, body)
    }
  }

  /// Runs a read. If it fails because the store was migrated since it was opened, the error states the
  /// migration, not that a table is missing. The error of a MATCHES states its reason.
  func told<Result>(_ connection: Connection, _ body: (Connection) throws -> Result) throws -> Result {
    do { return try body(connection) } catch let error as SQLError {
      if case .engine(1, _, let message, _) = error, let failure = MatchPattern.Failure(message: message) {
        throw StoreError(failure)
      }
      if case .engine(1, _, _, _) = error { try core.checkGeneration(connection) }
      throw error
    }
  }
}
