// The scratch pad: identity map, pending changes, and the doors to reading and saving.
//   ObjectContext+Faults   rows into objects, faults, prefetching     Save*   what a save does

internal import CipherSQLite

/// A scratch pad on a store: objects are fetched, made, changed and deleted here, and saved together.
///
/// There is one object per row in a context. Neither the context nor its objects are `Sendable`: one task or
/// actor uses them at a time, and the compiler checks it. Get one from ``Store/makeContext()``, or inside
/// ``Store/read(_:)`` and ``Store/write(_:)``.
///
/// Objects are kept alive by whoever holds them, by the context while they have unsaved changes, and by objects
/// that were asked for them through a relationship. Objects that hold each other that way live as long as the
/// context: give long work contexts of its own.
public final class ObjectContext {
  /// How the context reaches the file.
  enum Access {
    /// Reads on any reader, each read for itself; saves in a transaction of its own.
    case pooled
    /// Works inside a transaction on this connection.
    case transaction(Connection, canWrite: Bool)
  }

  let core: StoreCore
  let access: Access
  let maps: [IdentityMap]
  /// New objects, in the order of their insertion.
  var inserted: [ManagedObject] = []
  /// Saved objects with an overlay.
  var updated: [ManagedObject] = []
  var deleted: [ManagedObject] = []
  /// Owners of to-manys that changed, and ends of changed links: kept alive until the save.
  var touched: Set<ManagedObject> = []
  var links: [LinkKey: PendingLink] = [:]
  // Unchecked exclusivity: asked for at each write of a property, and never passed inout.
  @exclusivity(unchecked) var refused: [SlotKey: any Error] = [:]
  private var nextTemporaryID: Int64 = -1
  private var lastEntity: EntityRuntime?
  /// The temporary id that comes first in `inserted`'s numbering.
  var firstTemporaryID: Int64 = -1

  /// Errors that getters could not throw, oldest first. The next ``save()`` throws the first of them and
  /// clears the list.
  public internal(set) var faultErrors: [any Error] = []
  /// Called with each error that a getter could not throw, at once.
  public var onFaultError: ((any Error) -> Void)?
  /// What the context asked of the store.
  public internal(set) var statistics = Statistics()

  /// Counters of a context.
  public struct Statistics: Sendable, Hashable {
    /// Statements that read rows.
    public internal(set) var queries = 0
    /// Rows and member sets that were fetched one by one because a property was read.
    public internal(set) var faultsFired = 0
    /// Rows read.
    public internal(set) var rows = 0
  }

  init(core: StoreCore, access: Access) {
    self.core = core
    self.access = access
    maps = core.runtime.entities.map { IdentityMap($0) }
    for map in maps { map.context = self }
  }

  deinit {
    // Objects that somebody still holds lose their way back; sets that hold each other are let go.
    let alive = maps.flatMap(\.all)
    for object in alive {
      object.map = nil
      if object.state == .fault || object.state == .inserted { object.state = .invalid }
    }
    for object in alive { object.forgetMembers() }
  }

  /// Whether there is anything to save.
  public var hasChanges: Bool {
    !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty || !links.isEmpty
  }

  // MARK: Making and deleting

  /// Makes a new object.
  ///
  /// ```swift
  /// let user = context.insert(User.self) { $0.name = "Binger" }
  /// ```
  ///
  /// It has its defaults and a temporary id; ``save()`` gives it its row. In a context that may only read, or
  /// for a class that is not in the store's schema, the object belongs to no context and the error is in
  /// ``faultErrors``.
  /// - Parameters:
  ///   - type: The entity's class.
  ///   - configure: Sets the object's properties.
  @discardableResult
  public func insert<Object: ManagedObject>(
    _ type: Object.Type, _ configure: (Object) throws -> Void
  ) rethrows -> Object {
    let object = Object()
    guard let entity = entity(of: type) else {
      note(StoreError.unknownEntity(name: "\(type)"))
      return object
    }
    guard canWrite else {
      note(StoreError.readOnlyContext)
      return object
    }
    let map = maps[entity.index]
    object.map = map
    object.state = .inserted
    object.rowID = nextTemporaryID
    nextTemporaryID -= 1
    let initial = entity.initialValues()
    object.overlay = Overlay(values: initial.values, changed: initial.changed)
    map.insert(object, for: object.rowID)
    inserted.append(object)
    try configure(object)
    return object
  }

  /// Makes a new object with its defaults.
  @discardableResult
  public func insert<Object: ManagedObject>(_ type: Object.Type) -> Object { insert(type) { _ in } }

  /// Marks an object for deletion by the next save.
  ///
  /// Delete rules are applied by the save: to objects in memory one by one, to the others by SQL. A new
  /// object is simply forgotten.
  public func delete(_ object: ManagedObject) {
    guard object.context === self else {
      note(StoreError.objectGone(entity: object.entity?.name ?? "\(type(of: object))", rowID: object.rowID))
      return
    }
    guard canWrite else {
      note(StoreError.readOnlyContext)
      return
    }
    switch object.state {
    case .inserted:
      object.leaveRelationships()
      inserted.removeAll { $0 === object }
      discard(object)
    case .fault, .loaded:
      object.leaveRelationships()
      object.state = .deleted
      deleted.append(object)
    case .deleted, .invalid, .detached: break
    }
  }

  // MARK: Saving

  /// Writes all changes in one transaction: new rows, changed columns, links, deletions.
  ///
  /// On any error nothing is written and everything stays pending. Inside ``Store/write(_:)`` it is a
  /// savepoint of the surrounding transaction.
  /// - Throws: ``StoreError/validation(_:)``, ``StoreError/conflict(_:)``,
  ///   ``StoreError/deleteDenied(entity:property:count:)``, ``StoreError/readOnlyContext``, the first of
  ///   ``faultErrors``; `SQLError.busy` and others of the file.
  public func save() throws {
    if let first = faultErrors.first {
      faultErrors = []
      throw first
    }
    guard hasChanges else { return }
    guard canWrite else { throw StoreError.readOnlyContext }
    switch access {
    case .transaction(let connection, _):
      let operation = SaveOperation(self, connection)
      try connection.savepoint { try operation.run() }
      operation.finish()
    case .pooled:
      try core.pool.withWriter { connection in
        let operation = SaveOperation(self, connection)
        try connection.transaction(.immediate) { try operation.run() }
        operation.finish()
      }
    }
  }

  /// Forgets all changes: new objects become invalid, the others are as in the store.
  public func rollback() {
    for object in inserted { discard(object) }
    for object in updated { object.overlay = nil }
    for object in updated { object.isRegistered = false }
    for object in deleted { object.state = object.row == nil ? .fault : .loaded }
    for object in touched { for state in object.toMany.values { state.forget() } }
    clearPending()
  }

  /// Forgets an object's changes and its row; the row is fetched again when it is next needed. Changes of
  /// relationships to other objects are not undone; use ``rollback()`` for those.
  public func refresh(_ object: ManagedObject) {
    guard object.context === self, object.state == .loaded || object.state == .fault else { return }
    if object.overlay != nil { updated.removeAll { $0 === object } }
    object.overlay = nil
    object.isRegistered = false
    object.row = nil
    object.page = nil
    object.state = .fault
    for state in object.toMany.values where state.added.isEmpty && state.removed.isEmpty { state.forget() }
  }

  // MARK: Bookkeeping

  /// The entity of a class; the last one asked for is remembered.
  @inline(__always) func entity(of type: ManagedObject.Type) -> EntityRuntime? {
    if let last = lastEntity, last.type == type { return last }
    lastEntity = core.runtime.entity(of: type)
    return lastEntity
  }

  var canWrite: Bool {
    if case .transaction(_, let canWrite) = access { canWrite } else { true }
  }

  func clearPending() {
    inserted = []
    updated = []
    deleted = []
    touched = []
    links = [:]
    refused = [:]
    firstTemporaryID = nextTemporaryID
  }

  func note(_ error: any Error) {
    faultErrors.append(error)
    onFaultError?(error)
  }

  func didWrite(_ object: ManagedObject, _ slot: Int) {
    if !refused.isEmpty { refused[SlotKey(object: ObjectIdentifier(object), slot: slot)] = nil }
    guard object.state == .loaded, !object.isRegistered else { return }
    object.isRegistered = true
    updated.append(object)
  }

  func refuse(_ error: any Error, object: ManagedObject, slot: Int) {
    refused[SlotKey(object: ObjectIdentifier(object), slot: slot)] = error
  }

  func didTouchMembers(_ object: ManagedObject) { touched.insert(object) }

  func accepts(_ target: ManagedObject?, for owner: ManagedObject, _ relationship: RelationshipRuntime)
    -> Bool
  {
    guard let target else { return true }
    let isUsable = target.state == .inserted || target.state == .loaded || target.state == .fault
    if target.context === self, isUsable { return true }
    note(StoreError.foreignObject(entity: relationship.owner.name, property: relationship.name))
    return false
  }

  func link(
    _ owner: ManagedObject, _ member: ManagedObject, _ relationship: RelationshipRuntime, isAdded: Bool
  ) {
    guard let join = relationship.join else { return }
    let (source, target) = join.isSource ? (owner, member) : (member, owner)
    let key = LinkKey(
      table: join.table.name, source: ObjectIdentifier(source), target: ObjectIdentifier(target))
    touched.insert(source)
    touched.insert(target)
    if let pending = links[key], pending.isAdded != isAdded {
      links[key] = nil
    } else {
      links[key] = PendingLink(source: source, target: target, isAdded: isAdded)
    }
  }

  func discard(_ object: ManagedObject) {
    object.leaveMap()
    object.map = nil
    object.state = .invalid
    object.overlay = nil
    object.row = nil
    object.page = nil
    object.forgetMembers()
    links = links.filter { $0.value.source !== object && $0.value.target !== object }
  }

  /// Runs `body` with a connection to read from.
  func withConnection<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    switch access {
    case .transaction(let connection, _): try body(connection)
    case .pooled: try core.pool.withReader(body)
    }
  }
}

struct LinkKey: Hashable {
  let table: String
  let source: ObjectIdentifier
  let target: ObjectIdentifier
}

/// A row of a join table to be written or deleted.
struct PendingLink {
  let source: ManagedObject
  let target: ManagedObject
  let isAdded: Bool
}

struct SlotKey: Hashable {
  let object: ObjectIdentifier
  let slot: Int
}
