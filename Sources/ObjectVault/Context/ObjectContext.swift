// The scratch pad: identity map, pending changes, and the doors to reading and saving.
//   ObjectContext+Faults     rows into objects, faults, prefetching   Save*   what a save does
//   ObjectContext+Changes    deletions, and what is noted until the save

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
  let canWrite: Bool
  /// The call that all work of this context is part of; nil for one that works between calls.
  let run: CancellableRun?
  /// New objects, in the order of their insertion; with them some that were deleted again, which are taken out
  /// many at a time: taking each out by itself would be quadratic.
  var inserted: [ManagedObject] = []
  var forgotten = 0
  /// Saved objects with an overlay, and some that were refreshed since.
  var updated: [ManagedObject] = []
  var deleted: [ManagedObject] = []
  /// Owners of to-manys that changed, and ends of changed links: kept alive until the save.
  var touched: Set<ManagedObject> = []
  var links: [LinkKey: PendingLink] = [:]
  /// Counts deletions after which sets that are in memory may hold an object that is no member any more.
  // Unchecked exclusivity: asked for at each read of a to-many, and never passed inout.
  @exclusivity(unchecked) var deletions = 0
  /// The relationships of objects that were released, and are to be released: see ``ManagedObject``'s deinit.
  var releasing: [Extras?] = []
  let former = FormerContext()
  var isReleasing = false
  var nextTemporaryID: Int64 = -1
  private var lastEntity: EntityRuntime?
  /// The temporary id that comes first in the numbering of those that have no final one.
  var firstTemporaryID: Int64 = -1
  /// New objects that fetches wrote since the last save, with a savepoint beneath; nil when no fetch did.
  var flushed: [ManagedObject]?
  /// How many deletions were pending when one of them was denied to a flush: until there are others, none is tried.
  private var deniedDeletions = 0
  /// Why the transaction cannot be committed: a flush failed half-way.
  private var failure: (any Error)?

  /// Errors that getters could not throw, oldest first. The next ``save()`` throws the first of them and
  /// clears the list.
  public internal(set) var faultErrors: [any Error] = []
  /// ``StoreError/unreadableValue(entity:property:rowID:expected:)`` for each value that a getter met and could not read, once; at most
  /// a thousand.
  ///
  /// Such a value was put into the file by something else than this library. The getter returns the type's
  /// placeholder, and neither ``Store/read(_:)`` nor ``save()`` fails for it: one damaged row should not hide
  /// the others, and a save writes only what was set.
  public internal(set) var unreadableValues: [StoreError] = []
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
    if case .transaction(let connection, let canWrite) = access {
      (self.canWrite, run) = (canWrite, connection.run)
    } else {
      (canWrite, run) = (true, nil)
    }
    maps = core.runtime.entities.map { IdentityMap($0) }
    for map in maps { map.context = self }
    former.context = self
  }

  deinit {
    // Objects that somebody still holds lose their way back; sets that hold each other are let go.
    let alive = maps.flatMap(\.all)
    for object in alive {
      object.map = nil
      object.state = .invalid
    }
    for object in alive { object.forgetMembers() }
  }

  /// Whether there is anything to save.
  public var hasChanges: Bool {
    inserted.count > forgotten || updated.contains { $0.overlay != nil } || !deleted.isEmpty
      || links.values.contains(where: \.isLive)
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
  ///   - configure: Sets the object's properties. When it throws, the object is forgotten, and who was related to it is so
  ///     no more.
  @discardableResult
  public func insert<Object: ManagedObject>(
    _ type: Object.Type, _ configure: (Object) throws -> Void
  ) rethrows -> Object {
    let object = Object()
    guard let entity = entity(of: type) else {
      note(StoreError.unknownEntity(name: "\(type)"))
      return object
    }
    guard takesChanges else { return object }
    let map = maps[entity.index]
    object.map = map
    object.state = .inserted
    object.rowID = nextTemporaryID
    nextTemporaryID -= 1
    object.extras = Extras(overlay: entity.initialOverlay(run))
    map.insert(object, for: object.rowID)
    inserted.append(object)
    do { try configure(object) } catch {
      dismiss(object)
      throw error
    }
    return object
  }

  /// Makes a new object with its defaults.
  @discardableResult
  public func insert<Object: ManagedObject>(_ type: Object.Type) -> Object { insert(type) { _ in } }

  // MARK: Saving

  /// Writes all changes in one transaction: new rows, changed columns, links, deletions.
  ///
  /// On any error nothing is written and everything stays pending. Inside ``Store/write(_:)`` it is a
  /// savepoint of the surrounding transaction.
  /// - Throws: ``StoreError/validation(_:)``, ``StoreError/conflict(_:)``,
  ///   ``StoreError/deleteDenied(entity:property:count:)``, ``StoreError/readOnlyContext``, the first of
  ///   ``faultErrors``; `SQLError.busy` and others of the file.
  public func save() throws {
    try save(.whole)
    if case .transaction(let connection, _) = access, flushed != nil {
      flushed = nil
      try connection.releaseSavepoint(Self.flushName)
    }
  }

  /// Writes what is complete, so that a fetch inside a writing transaction finds it.
  ///
  /// What breaks a rule as yet stays pending: a new object that is half filled, whose id is given out all the same
  /// so that those who refer to it can be written; of a changed object the properties that may not be so; all
  /// deletions, when one of them is denied. Whoever looks for an object need not finish another one first.
  func flush() throws {
    if case .transaction(let connection, _) = access, flushed == nil {
      try connection.beginSavepoint(Self.flushName)
      flushed = []
    }
    guard deleted.isEmpty || deleted.count != deniedDeletions else {
      return try save(.partialWithoutDeletions)
    }
    deniedDeletions = 0
    do { try save(.partial) } catch  where Self.isRule(error) && !deleted.isEmpty {
      deniedDeletions = deleted.count
      try save(.partialWithoutDeletions)
    }
  }

  private static let flushName = "vault_flush"

  private static func isRule(_ error: any Error) -> Bool {
    switch error {
    case StoreError.validation, StoreError.deleteDenied, SQLError.constraint: true
    default: false
    }
  }

  private func save(_ extent: SaveOperation.Extent) throws {
    if let first = faultErrors.first {
      faultErrors = []
      throw first
    }
    if let failure { throw failure }
    guard hasChanges else { return }
    guard canWrite else { throw StoreError.readOnlyContext }
    switch access {
    case .transaction(let connection, _):
      let operation = SaveOperation(self, connection, extent)
      // A savepoint inside of the one beneath all flushes costs memory on SQLCipher 3 until that one ends. It is there
      // for errors that one can put right; a flush that deletes nothing has none.
      if extent == .whole || (operation.deletes && !deleted.isEmpty) {
        try operation.undoOnError { try connection.savepoint { try operation.run() } }
      } else {
        do { try operation.undoOnError { try operation.run() } } catch {
          failure = error
          throw error
        }
      }
      operation.finish()
    case .pooled:
      try core.pool.withWriter { connection in
        let operation = SaveOperation(self, connection, extent)
        try operation.undoOnError { try connection.transaction(.immediate) { try operation.run() } }
        operation.finish()
      }
    }
  }

  /// Forgets all changes since the last save: new objects become invalid, the others are as in the store. Errors of
  /// those changes in ``faultErrors`` are forgotten too.
  ///
  /// Objects whose deletion a fetch has carried out meanwhile, inside ``Store/write(_:)``, stay invalid; their rows
  /// are there again.
  public func rollback() {
    deletions += 1
    faultErrors = []
    for object in inserted { discard(object) }
    // Their rows may be others by now, which is why one rolls back after a conflict.
    for object in updated {
      refresh(object)
      object.isRegistered = false
    }
    for object in deleted where object.state == .deleted {
      if object.isUnwritten {
        discard(object)
      } else {
        object.state = .fault
        refresh(object)
        object.isRegistered = false
      }
    }
    for object in touched { for state in object.toMany.values { state.forget() } }
    clearPending()
    undoFlush()
  }

  /// Takes back what fetches have written.
  private func undoFlush() {
    guard case .transaction(let connection, _) = access, let flushed else { return }
    self.flushed = nil
    failure = nil
    do {
      try connection.rollBack(toSavepoint: Self.flushName)
      try connection.releaseSavepoint(Self.flushName)
      try keepMarks(connection)
    } catch { note(error) }
    for object in flushed { discard(object) }
    for object in maps.flatMap(\.all) {
      for state in object.toMany.values { state.forget() }
      refresh(object)
    }
  }

  /// Forgets an object's changes and its row; the row is fetched again when it is next needed. Changes of
  /// relationships to other objects are not undone; use ``rollback()`` for those.
  public func refresh(_ object: ManagedObject) {
    guard object.context === self, object.state == .loaded || object.state == .fault else { return }
    // It stays among the updated ones, which a save looks through: taking each out by itself would be quadratic.
    object.overlay = nil
    object.row = nil
    object.page = nil
    object.state = .fault
    for state in object.toMany.values where state.added.isEmpty && state.removed.isEmpty { state.forget() }
  }

  /// Ids that were given out and taken back are not given out again.
  private func keepMarks(_ connection: Connection) throws {
    for map in maps where map.highest > 0 {
      try connection.execute(
        "UPDATE vault_ids SET last = ? WHERE entity = ? AND last < ?",
        [.integer(map.highest), .text(map.entity.name), .integer(map.highest)])
    }
  }

  /// The entity of a class; the last one asked for is remembered.
  @inline(__always) func entity(of type: ManagedObject.Type) -> EntityRuntime? {
    if let last = lastEntity, last.type == type { return last }
    lastEntity = core.runtime.entity(of: type)
    return lastEntity
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
  let join: JoinTable
  let isAdded: Bool
  /// Whether it is known to differ from the file, because the members were in memory.
  let isKnown: Bool

  /// Whether neither end is gone meanwhile.
  var isLive: Bool { source.state != .invalid && target.state != .invalid }
}
