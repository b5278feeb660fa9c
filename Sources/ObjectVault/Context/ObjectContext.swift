// The context: identity map, pending changes, and the entry points for reading and saving.
// - ObjectContext+Faults: rows to objects, faults, prefetching
// - ObjectContext+Drafts: inserting objects that were created before
// - ObjectContext+Changes: recording changes until the save
// - ObjectContext+Deletions: deletions
// - ObjectContext+Saving: saves and rollbacks
// - ObjectContext+AfterSave: updates of objects after a save
// - ObjectContext+AssignedIDs: final ids of new objects inside a write
// - ObjectContext+Undo: records changes for an undo manager, and changes them back
// - ObjectContext+Refreshing: reverting the to-ones of a refreshed object
// - ObjectContext+Publishing: notification of listeners
// - ObjectContext+PendingChanges: the changes of a save, as a value
// - ObjectContext+Dynamic: objects of stores without classes
// - ObjectContext+SQL: queries and changes in SQL
// - StoreMetadata: small values about the store
// - ObjectContext+QueryLimit: limits the number of queries
// - ObjectContext+Hooks: the methods of classes that saves and fetches call
// - ScratchContext: contexts whose changes another one takes over
// - ObjectContext+Pinning: reads of one state, until told otherwise
// - ObjectContext+Observation: notification of Observation
// - ObjectContext+ChangeLogs: what changes in the objects, for those who show them
// - ObjectContext+Merging: commits of other contexts in the objects in memory
// - ObjectContext+Conflicts: conflicts with other writers, and merge policies
// - ObjectContext+Rebasing: changed objects get newer rows
// - ObjectContext+ContextlessErrors: the handler for errors of objects without a context

internal import CipherSQLite

/// A scratch pad on a store: objects are fetched, made, changed and deleted here, and saved together.
///
/// A context has one object per row. Neither the context nor its objects are `Sendable`: one task or
/// actor uses them at a time, and the compiler checks it. Get a context from ``Store/makeContext()``, or
/// inside ``Store/read(_:)`` and ``Store/write(_:)``.
///
/// An object is kept alive by the references of your code, by the context while the object has unsaved
/// changes, and by the objects through whose relationships it was read. Objects that refer to each other
/// that way live as long as the context: use separate contexts for long work.
public final class ObjectContext: ObjectHost {
  let core: StoreCore
  let access: ContextAccess
  // Unchecked exclusivity, here and below: each insertion and lookup changes these. None is passed inout
  // to code that calls back into the context: pages and collections of objects make no calls.
  @safe @exclusivity(unchecked) var single = SingleReads()

  /// The values about the store that the next save writes.
  var pendingMetadata = PendingMetadata()

  /// Buffers that are kept between reads of single rows.
  struct SingleReads {
    /// Packs the rows. Its pages are small, so that a page with few live rows wastes little. nil while it
    /// is in use, and before the first read.
    var packer: RowPacker?
    /// The readers by the entity's index, in a transaction; empty before the first read.
    var readers: [SingleRows?] = []
  }

  /// The objects in memory, by entity and id.
  package let maps: IdentityMaps
  let canWrite: Bool
  /// Whether the transaction contains writes of other contexts. A failure of this context undoes its own
  /// changes only.
  let sharesTransaction: Bool
  /// The cancellable call that all work of this context is part of; nil for a context that is used
  /// between calls.
  let run: CancellableRun?
  /// The differences from the store.
  @safe @exclusivity(unchecked) package var pending = PendingChanges()
  /// The pending objects by property values, for fetches.
  let index = PendingIndex()
  /// The connection of a read with several queries in one snapshot; nil outside of such a read.
  var snapshot: Connection?
  /// What a scratch context was made of; nil for other contexts.
  var scratchOrigin: ScratchOrigin?
  /// The state that all reads see; nil if each read sees the last commit.
  var pinned: Snapshot?
  /// The latest deletions: member sets in memory may still include the deleted objects.
  let deletions = DeletionLog()
  /// The relationships of released objects, which are still to be released: see the deinit of
  /// ``ManagedObject``.
  var releasing: [AnyObject?] = []
  let former: FormerHost
  var isReleasing = false
  // Safe: `maps` retains the map, and the map its table, as long as the context lives.
  /// The class of the last lookup, its map, and the map's table of dense ids.
  @safe @usableFromInline struct LastMap {
    @usableFromInline let type: ObjectIdentifier
    let map: Unmanaged<IdentityMap>
    @usableFromInline let dense: UnsafeMutablePointer<DenseObjects>?
  }
  @usableFromInline @exclusivity(unchecked) private(set) var lastMap: LastMap?
  /// The store that the context's objects belong to.
  @usableFromInline let mark: StoreFingerprint
  /// What the saves of the transaction have written.
  var written = Written()
  /// The final ids of the objects that this context has inserted and saved.
  @safe @exclusivity(unchecked) var settledIDs = SettledIDs()
  /// The closure that is called with each property that is read by name, and with the id of the object's
  /// row; nil if no check needs it.
  var reads: ((_ entity: String, _ property: String, _ row: Int64) -> Void)?

  var errors = GetterErrors()
  /// Errors that getters, setters and other calls could not throw, oldest first. The next ``save()``
  /// throws the first one and clears the list.
  public internal(set) var faultErrors: [any Error] {
    get { errors.failures }
    set { errors.failures = newValue }
  }
  /// The values that a getter could not read: one
  /// ``StoreError/unreadableValue(entity:property:rowID:expected:)`` each, at most a thousand.
  ///
  /// Such a value was written to the file by something other than this library. The getter returns the
  /// type's placeholder, and neither ``Store/read(_:)`` nor ``save()`` fails: one damaged row should not
  /// hide the others, and a save writes only what was set.
  public var unreadableValues: [StoreError] { errors.unreadable }
  /// The closure that is called at once with each error that is added to ``faultErrors`` or
  /// ``unreadableValues``.
  public var onFaultError: ((any Error) -> Void)? {
    get { errors.listener }
    set { errors.listener = newValue }
  }
  /// New objects whose deletion was denied.
  var deniedDeletions = DeniedDeletions()
  /// The author of the changes, for listeners: see ``ChangeSet/author``.
  public var author: String?
  /// The name of the next commits, for listeners: see ``ChangeSet/name``.
  public var transactionName: String?
  /// Counters of the context's reads.
  public internal(set) var statistics = Statistics()
  /// The relationships whose objects were read one by one; nil while no limit on queries applies. Never
  /// passed inout.
  @safe @exclusivity(unchecked) var faultLog: FaultLog?
  /// The versions of rows that were read again for objects which keep an earlier version, so that a save of
  /// them conflicts: by table and id.
  @safe @exclusivity(unchecked) var reloadedVersions: [Int: [Int64: Int64]] = [:]
  /// Why objects cannot be changed while bytes are written; nil otherwise: see ``writeBytes(of:_:count:_:)``.
  @safe @exclusivity(unchecked) var byteWriting: StoreError?
  /// The fetches that are to be explained; nil if none are: see ``explain(_:)``.
  @safe @exclusivity(unchecked) var explained: ExplainedFetches?

  /// The closure that each save calls once with its changes, before they are checked and written; nil for
  /// none. What it changes, inserts or deletes is part of the save. An error that it throws is thrown by the
  /// save, which writes nothing. See <doc:hooks>.
  ///
  /// The changes are those of ``pendingChanges``: rows that delete rules delete are not listed, and new
  /// objects have final ids only inside ``Store/write(_:)``.
  public var onWillSave: ((_ changes: ChangeSet, _ context: ObjectContext) throws -> Void)?
  /// The undo manager. Never passed inout.
  @safe @exclusivity(unchecked) var undoes: ContextUndoManager?
  /// The changes that consumers of ``objectsDidChange`` have not received yet. Never passed inout to code
  /// that calls back into the context.
  @safe @exclusivity(unchecked) var changeLogs: [WeakLog] = []
  /// The observers; nil if they are not notified.
  @safe @exclusivity(unchecked) var observers: ContextObservers?
  /// The commits of others that are still to be merged; nil if none are merged automatically.
  @safe @exclusivity(unchecked) var merging: AutomaticMerging?
  /// Wakes the task that merges for the context of the main actor; nil for other contexts.
  var ownBell: Bell?
  /// How ``save()`` settles conflicts with other writers. Default ``MergePolicy/error``.
  ///
  /// A save without a conflict costs the same with each policy. The hooks of a save are called before
  /// conflicts are settled, and see the object's own values. See <doc:conflicts>.
  public var mergePolicy = MergePolicy.error
  /// The hooks that the present save calls; nil outside of its hooks.
  @safe @exclusivity(unchecked) var hookRun: HookRun?
  /// The objects whose hook for their deletion runs.
  var objectsBeingDeleted: Set<ManagedObject> = []
  /// The objects whose rows were read and whose hook is still to be called.
  @safe @exclusivity(unchecked) var awakening: [ManagedObject] = []
  var isAwaking = false
  /// The number of times that all changes were discarded.
  var discardCount = 0

  /// Counters of a context.
  public struct Statistics: Sendable, Hashable {
    /// The number of statements that read rows.
    public internal(set) var queries = 0
    /// The number of rows and member sets that were read one by one because a property was accessed.
    public internal(set) var faultsFired = 0
    /// The number of rows read.
    public internal(set) var rows = 0
    /// The number of rows, out of ``rows``, that a second connection read at the same time, as happens
    /// when all rows of a large table are fetched.
    public internal(set) var rowsReadAhead = 0
  }

  init(core: StoreCore, access: ContextAccess, sharesTransaction: Bool = false) {
    (self.core, self.sharesTransaction) = (core, sharesTransaction)
    mark = core.mark
    self.access = access
    (canWrite, run) = (access.canWrite, access.connection?.run)
    written.changes = access.isRecording == true ? ChangeCollector() : nil
    former = FormerHost(of: core.mark)
    maps = IdentityMaps(core.mapping.entities, former: former, make: core.classes.map(of:sharing:))
    former.host = self
  }

  deinit {
    former.host = nil
    undoes?.context = nil
    tellLogs { $0.bell.end() }
    // Objects that are still referenced lose their map and context; cycles of member sets are broken.
    let alive = maps.objects
    for object in alive {
      object.map = nil
      object.state = .invalid
    }
    for object in alive {
      object.forgetMembers()
      object.remember(former)
    }
    undoes?.removeAll()
  }

  /// Whether there is anything to save. Inside ``Store/write(_:)``: whether anything is uncommitted,
  /// including what a ``save()`` has written to the file.
  public var hasChanges: Bool {
    observers?.noteReadOfChanges()
    return hasUnsavedChanges
  }

  /// Whether there is anything to save, as ``hasChanges``. Does not register the read for observers.
  var hasUnsavedChanges: Bool {
    pending.isLive || !written.rows.isEmpty || !pendingMetadata.values.isEmpty
      || pendingMetadata.isUncommitted
  }

  // MARK: Making and deleting

  /// Makes a new object, and sets its properties.
  ///
  /// ```swift
  /// let user = context.insert(User.self) { $0.name = "Binger" }
  /// ```
  ///
  /// The object has its defaults and a temporary id, or inside ``Store/write(_:)`` its final id;
  /// ``save()`` writes its row. In a context that may only read, or for a class that is not in the
  /// store's schema, the object belongs to no context and the error is in ``faultErrors``.
  /// - Parameters:
  ///   - type: The entity's class.
  ///   - configure: Sets the object's properties. When it throws, the object is removed, also from
  ///     relationships.
  /// - Returns: The new object.
  /// - Throws: What `configure` throws.
  @discardableResult
  public func insert<Object: ManagedObject>(
    _ type: Object.Type, _ configure: (Object) throws -> Void
  ) rethrows -> Object {
    guard let map = unsafe map(of: type) else {
      note(StoreError.unknownEntity(name: "\(type)"))
      return making { type.init() }
    }
    // At run time `type` may be a subclass of `Object`: the map makes objects of exactly that class.
    let object = unsafe map._withUnsafeGuaranteedRef { map in
      map.entity.parent == nil
        ? making { type.init() } : unsafe unsafeDowncast(map.make(), to: Object.self)
    }
    // The context retains the map, so it is used without retaining it.
    try unsafe map._withUnsafeGuaranteedRef { try begin(object, in: $0, configure) }
    return object
  }

  /// Adds an object that was just made to this context, and runs its configuration.
  func begin<Object: ManagedObject>(
    _ object: Object, in map: IdentityMap, _ configure: (Object) throws -> Void
  ) rethrows {
    guard acceptsChanges else { return }
    guard undoes != nil || observers != nil else { return try add(object, in: map, configure) }
    try oneUndo { try add(object, in: map, configure) }
  }

  @inline(__always) private func add<Object: ManagedObject>(
    _ object: Object, in map: IdentityMap, _ configure: (Object) throws -> Void
  ) rethrows {
    object.map = map
    object.state = .inserted
    object.rowID = pending.makeTemporaryID(table: map.table)
    object.overlay = Overlay(initial: map.entity, run, in: page(map))
    map.insert(object, for: object.rowID)
    pending.didInsert(object)
    if recordsChanges {
      object.overlay?.isObserved = true
      recordInsertion(of: object)
    }
    if map.hooks.contains(.awakeFromInsert) { object.awakeFromInsert() }
    do { try configure(object) } catch {
      dismiss(object)
      throw error
    }
  }

  /// Makes a new object with its defaults.
  /// - Parameter type: The entity's class.
  /// - Returns: The new object.
  @discardableResult
  public func insert<Object: ManagedObject>(_ type: Object.Type) -> Object { insert(type) { _ in } }

  /// Discards an object's changes and its row in memory. The row is fetched again when it is next needed,
  /// even if it was missing before.
  ///
  /// If the row no longer exists, getters return the values that were read last, and the object becomes
  /// ``ManagedObject/State/invalid``. The error is in ``faultErrors``.
  ///
  /// A changed to-one is reverted at both ends. In a one-to-one, another object that was set to the
  /// stored target meanwhile is reverted, too. Changes of to-manys, and of a to-one whose column is at
  /// its inverse, belong to the related objects and stay; use ``rollback()`` for them. If only the order
  /// of members was changed, the order of the store is restored.
  ///
  /// In ``Store/write(_:)`` the row is that of the transaction.
  /// - Parameter object: An object of this context; others are ignored.
  public func refresh(_ object: ManagedObject) {
    guard object.context === self else { return }
    // A missing row may exist again.
    if object.state == .invalid { object.state = .fault }
    guard object.state == .loaded || object.state == .fault else { return }
    notifyingObservers {
      revertReferences(of: object)
      forget(object)
    }
  }

  /// Discards the changes of an object, and its row in memory.
  func forget(_ object: ManagedObject) {
    guard object.context === self, object.state == .loaded || object.state == .fault else { return }
    // The object stays in the list of updated objects, which a save scans: removing single objects from
    // it would take quadratic time.
    index.wake(object)
    if object.isRegistered, object.overlay != nil { pending.didRefresh() }
    object.overlay = nil
    object.state = .fault
    object.forgetFetchedMembers(keepsOrders: false)
    object.setRowAside()
    didRefresh(object)
  }

  /// Returns the entity of a class.
  @inline(__always) func entity(of type: ManagedObject.Type) -> EntityMapping? {
    unsafe map(of: type)?._withUnsafeGuaranteedRef { $0.entity }
  }

  /// Returns the map of a class's objects; nil if the store's schema does not have the class. The last
  /// lookup is cached.
  @inline(__always) func map(of type: ManagedObject.Type) -> Unmanaged<IdentityMap>? {
    if let last = unsafe lastMap, last.type == ObjectIdentifier(type) { return unsafe last.map }
    return unsafe remembered(type)
  }

  private func remembered(_ type: ManagedObject.Type) -> Unmanaged<IdentityMap>? {
    guard let entity = core.entity(of: type) else { return nil }
    let map = maps[entity.index]
    let last = unsafe LastMap(type: ObjectIdentifier(type), map: .passUnretained(map), dense: map.dense)
    unsafe lastMap = last
    return unsafe last.map
  }
}

extension ManagedObject {
  /// The context that the object is in.
  // Safe: only ObjectContext implements the host protocol, which exists so that objects do not depend on
  // it.
  @inline(__always) final var context: ObjectContext? {
    host.map { unsafe unsafeDowncast($0, to: ObjectContext.self) }
  }
}

extension ObjectContext {
  func mark(of id: Int64) -> StoreFingerprint { former.mark(of: id) }

  func find(_ entity: EntityMapping, _ id: Int64) -> ManagedObject? { maps[entity.index].find(id) }

  func page(_ map: IdentityMap) -> RowPage {
    let needed = RowDraft.fixedBytes(map.entity.slotCount)
    if let page = map.draftPage, page.hasRoom(needed) { return page }
    // The first page is small, and each further one is twice as large, up to a limit: each object keeps
    // its page alive, and the map keeps the last page alive.
    let made = RowPage(capacity: max(needed, min(max(512, (map.draftPage?.capacity ?? 0) &* 2), 65_536)))
    map.draftPage = made
    return made
  }

  var deletionCount: Int { deletions.count }
  func deletions(since seen: Int) -> ArraySlice<ManagedObject>? { deletions.since(seen) }
}
