// Deletions, and what a context notes of changes until they are saved.

internal import CipherSQLite

extension ObjectContext {
  /// Marks an object for deletion by the next save.
  ///
  /// Delete rules are applied by the save: to objects in memory one by one, to the others by SQL. A new
  /// object is forgotten at once, and its delete rules are applied at once, as it has no row. Where one of them denies that, of the
  /// object or of a new one that would go along, all of these stay as they are; the save tries it again, and throws if it is
  /// still denied.
  public func delete(_ object: ManagedObject) {
    guard object.context === self else {
      note(object.strayDeletion)
      return
    }
    guard takesChanges else { return }
    guard denial(of: object) == nil else {
      deniedDeletions.append(object)
      return
    }
    var waiting = [object]
    while let object = waiting.popLast() {
      pending.wake(object)
      switch object.state {
      case .inserted where isWithoutID(object): waiting += forget(object)
      case .inserted, .fault, .loaded:
        let wasNew = object.state == .inserted
        object.leaveRelationships()
        object.state = .deleted
        if wasNew { changePending { $0.didForget() } }
        pending.didDelete(object)
        if object.entity?.isInJoins == true { deletions.append(object) }
      case .deleted, .invalid, .detached: break
      }
    }
  }

  private func isWithoutID(_ object: ManagedObject) -> Bool { object.state == .inserted && object.rowID < 0 }

  /// Why a new object cannot be forgotten; nil where it can. Of objects with ids the save knows.
  private func denial(of object: ManagedObject) -> StoreError? {
    guard isWithoutID(object) else { return nil }
    var (going, known, next) = ([object], Set([object]), 0)
    while next < going.count {
      for relationship in going[next].entity?.relationships ?? [] where relationship.deleteRule == .cascade {
        for other in going[next].related(by: relationship) where known.insert(other).inserted {
          if isWithoutID(other) { going.append(other) }
        }
      }
      next += 1
    }
    for object in going {
      guard let entity = object.entity else { continue }
      for relationship in entity.relationships where relationship.deleteRule == .deny {
        let count = object.related(by: relationship).count { !known.contains($0) }
        guard count == 0 else {
          return .deleteDenied(
            entity: entity.name, rowID: object.knownRowID, property: relationship.name, count: count)
        }
      }
    }
    return nil
  }

  /// Deletes the new objects whose deletion was denied, as far as nothing denies it any more.
  /// - Returns: Why the first of the others cannot be deleted.
  func retryDeletions() -> StoreError? {
    guard !deniedDeletions.isEmpty else { return nil }
    let denied = deniedDeletions
    deniedDeletions = []
    // Some may have gone meanwhile, with others or by themselves.
    for object in denied where object.state != .invalid { delete(object) }
    return deniedDeletions.first.flatMap { denial(of: $0) }
  }

  /// Forgets a new object whose making failed: who is related to it is so no more.
  func dismiss(_ object: ManagedObject) {
    object.leaveEverybody()
    delete(object)
  }

  /// Forgets a new object.
  /// - Returns: The objects that its delete rules take along.
  private func forget(_ object: ManagedObject) -> [ManagedObject] {
    guard let entity = object.entity else { return [] }
    var taken: [ManagedObject] = []
    for relationship in entity.relationships {
      let others = object.related(by: relationship)
      if relationship.deleteRule == .cascade { taken += others }
      guard let inverse = relationship.inverseSlot, !relationship.inverseIsToMany else { continue }
      for other in others where other.state == .inserted || other.state == .loaded {
        other.overwrite(.null, inverse, nil)
      }
    }
    object.leaveRelationships()
    if entity.isInJoins { deletions.append(object) }
    discard(object)
    changePending { $0.didForget() }
    return taken
  }

  // MARK: Bookkeeping

  /// Changes what is pending so that objects may be let go by it: they are released afterwards, as the deinit of a class may
  /// ask the context what is pending.
  /// - Parameter body: Changes it, and returns what it lets go of that rested or waited.
  @discardableResult func changePending<Result>(_ body: (inout PendingChanges) -> Result) -> Result {
    let former = pending.releasable
    let result = body(&pending)
    withExtendedLifetime(former) {}
    return result
  }

  /// Whether changes are taken now. The reason why not is told.
  var takesChanges: Bool {
    // As nearly always: each first change of an object asks.
    if canWrite, run?.isCancelled != true { return true }
    guard let refusal else { return true }
    note(refusal)
    return false
  }

  /// Why changes are not taken now; nil when they are.
  var refusal: (any Error)? {
    guard canWrite else { return StoreError.readOnlyContext }
    return run?.isCancelled == true ? CancellationError() : nil
  }

  /// Ends the work of a transaction that was rolled back: what its objects say is not in the file.
  func abandon() {
    for object in maps.objects {
      object.dropRow()
      object.dropLastRow()
      object.overlay = nil
      object.state = .invalid
    }
    deniedDeletions = []
    changePending { $0.clear() }
  }

  /// Releases the relationships of released objects, which releases more objects, which add to the list.
  func releaseExtras() {
    guard !isReleasing else { return }
    isReleasing = true
    while !releasing.isEmpty { releasing.removeLast() }
    isReleasing = false
  }

  func note(_ error: any Error) {
    // Once is enough: the body of a cancelled write may go on for long.
    if error is CancellationError, faultErrors.last is CancellationError { return }
    faultErrors.append(error)
    onFaultError?(error)
  }

  func noteUnreadable(_ error: StoreError) {
    guard unreadableValues.count < 1000, !unreadableValues.contains(error) else { return }
    unreadableValues.append(error)
    onFaultError?(error)
  }

  func didWrite(_ object: ManagedObject, isFirst: Bool) {
    pending.wake(object)
    pending.didWrite(isAgain: isFirst && object.isRegistered)
    guard object.state == .loaded, !object.isRegistered else { return }
    object.isRegistered = true
    pending.didChange(object)
  }

  /// The indexes of the entities whose rows a save may change: those of changed objects, and those that the delete rules of
  /// deleted objects lead to.
  var entitiesPending: Set<Int> {
    let going = entitiesThatMayGo
    var found = pending.entities.union(going)
    for entity in going.map({ core.mapping.entities[$0] }) {
      // The links of a many-to-many go, and the rows at the other end stay as they are.
      for relationship in entity.relationships where relationship.join == nil {
        found.formUnion(relationship.destination.branch.map(\.index))
      }
      for referrer in entity.danglingReferrers { found.formUnion(referrer.owner.branch.map(\.index)) }
    }
    return found
  }

  /// The indexes of the entities of which rows may go, as deleted objects or with them.
  private var entitiesThatMayGo: Set<Int> { pending.entitiesDeleted.union(entitiesThatMayGoAlong) }

  /// The indexes of the entities of which rows may go by cascades.
  var entitiesThatMayGoAlong: Set<Int> {
    var found: Set<Int> = []
    var waiting = Array(pending.entitiesDeleted)
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

  func didTouchMembers(_ object: ManagedObject) { pending.didTouch(object) }

  func didGain(_ member: ManagedObject, _ owner: ManagedObject, _ slot: Int) {
    pending.didGain(member, owner, slot)
  }

  func takeGained(of owner: ManagedObject, _ slot: Int) -> [ManagedObject] {
    pending.takeGained(of: owner, slot)
  }

  func accepts(_ target: ManagedObject?, for owner: ManagedObject, _ relationship: RelationshipMapping)
    -> Bool
  {
    guard let target else { return true }
    let isUsable = target.state == .inserted || target.state == .loaded || target.state == .fault
    if target.context === self, isUsable { return true }
    let entity = owner.entity ?? relationship.owner
    note(StoreError.foreignObject(entity: entity.name, property: relationship.name))
    return false
  }

  func link(
    _ owner: ManagedObject, _ member: ManagedObject, _ relationship: RelationshipMapping, isAdded: Bool,
    isKnown: Bool
  ) {
    guard let join = relationship.join else { return }
    let (source, target) = join.isSource ? (owner, member) : (member, owner)
    pending.didLink(source, target, join.table, isAdded: isAdded, isKnown: isKnown)
  }

  func discard(_ object: ManagedObject) {
    object.leaveMap()
    object.map = nil
    object.state = .invalid
    object.overlay = nil
    object.dropRow()
    object.forgetMembers()
    object.remember(former)
  }

  /// Runs `body` with a connection to read from.
  func withConnection<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    switch access {
    case .transaction(let connection, _):
      try run?.check()
      return try told(connection, body)
    case .pooled(let pool):
      if let snapshot { return try told(snapshot, body) }
      return try pool.withReader { try checked($0, body) }
    }
  }

  /// Runs `body` with a connection to read from, and the state of the file before its read began, where that is known.
  func withState<Result>(_ body: (Connection, SharedState?) throws -> Result) throws -> Result {
    guard case .pooled(let pool) = access, snapshot == nil else {
      return try withConnection { try body($0, $0.stateBeforeTransaction) }
    }
    return try pool.withReader { connection in
      let state = connection.sharedState
      return try checked(connection) { try body($0, state) }
    }
  }

  /// Runs `body` with all its reads in one snapshot of the file, where each would else have its own.
  func withSnapshot<Result>(_ body: () throws -> Result) throws -> Result {
    guard case .pooled(let pool) = access, snapshot == nil else { return try body() }
    return try pool.withReader { connection in
      try connection.transaction(.deferred) {
        try checked(connection) { connection in
          snapshot = connection
          defer { snapshot = nil }
          return try body()
        }
      }
    }
  }

  /// A read of tables that are others by now says so, and takes nothing in them for what it was.
  private func checked<Result>(_ connection: Connection, _ body: (Connection) throws -> Result) throws
    -> Result
  {
    try connection.reading {
      try core.checkGeneration(connection)
    } _: {
      try told(connection, body)
    }
  }

  /// A read that fails because the tables are others by now says so, and not that a table is missing.
  func told<Result>(_ connection: Connection, _ body: (Connection) throws -> Result) throws -> Result {
    do { return try body(connection) } catch let error as SQLError {
      if case .engine(1, _, _, _) = error { try core.checkGeneration(connection) }
      throw error
    }
  }
}
