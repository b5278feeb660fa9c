// The scratch pad: identity map, pending changes, and the doors to reading and saving.
//   ObjectContext+Faults          rows into objects, faults, prefetching
//   ObjectContext+Changes         deletions, and what is noted until the save
//   ObjectContext+Saving          saves and rollbacks
//   ObjectContext+Adoption        what a save leaves in memory      +Publishing   what it tells to those who listen
//   ObjectContext+PendingChanges  what a save would change, as a value

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
public final class ObjectContext: ObjectHost {
  let core: StoreCore
  let access: ContextAccess
  // Unchecked exclusivity, here and below: what is changed by each insertion and look-up. None is passed inout to anybody
  // who calls back into the context: pages and collections of objects call nobody.
  @safe @exclusivity(unchecked) var single = SingleReads()

  /// What is kept between reads of single rows.
  struct SingleReads {
    /// Where the rows are put. Small pages: one of a few that stay keeps little of those that go. nil while it is in use, and before.
    var packer: RowPacker?
    /// By the entity's index, in a transaction; empty before the first one.
    var readers: [SingleRows?] = []
  }

  /// Which object stands for which row.
  package let maps: IdentityMaps
  let canWrite: Bool
  /// The call that all work of this context is part of; nil for one that works between calls.
  let run: CancellableRun?
  /// What differs from the store.
  @safe @exclusivity(unchecked) package var pending = PendingChanges()
  /// The pending objects by the values of their properties, for fetches.
  let index = PendingIndex()
  /// The reader of a fetch that asks several times, in a transaction; nil outside of one.
  var snapshot: Connection?
  /// Deletions after which sets that are in memory may hold an object that is no member any more.
  let deletions = DeletionLog()
  /// The relationships of objects that were released, and are to be released: see ``ManagedObject``'s deinit.
  var releasing: [AnyObject?] = []
  let former: FormerHost
  var isReleasing = false
  // Safe: `maps` keeps the map, and that the table, as long as the context lives.
  /// The class of the last look-up, its map, and what that has of ids that are mostly taken.
  @safe @usableFromInline struct LastMap {
    @usableFromInline let type: ObjectIdentifier
    let map: Unmanaged<IdentityMap>
    @usableFromInline let dense: UnsafeMutablePointer<DenseObjects>?
  }
  @usableFromInline @exclusivity(unchecked) private(set) var lastMap: LastMap?
  /// Which store its objects are of.
  @usableFromInline let mark: StoreMark
  /// What the saves of the transaction have written.
  var written = Written()
  /// Who is told which properties of its objects are read by their names, and of which rows; nil where nobody asks.
  var reads: ((_ entity: String, _ property: String, _ row: Int64) -> Void)?

  var errors = GetterErrors()
  /// Errors that getters could not throw, oldest first. The next ``save()`` throws the first of them and
  /// clears the list.
  public internal(set) var faultErrors: [any Error] {
    get { errors.failures }
    set { errors.failures = newValue }
  }
  /// ``StoreError/unreadableValue(entity:property:rowID:expected:)`` for each value that a getter met and could not read, once; at most
  /// a thousand.
  ///
  /// Such a value was put into the file by something else than this library. The getter returns the type's
  /// placeholder, and neither ``Store/read(_:)`` nor ``save()`` fails for it: one damaged row should not hide
  /// the others, and a save writes only what was set.
  public var unreadableValues: [StoreError] { errors.unreadable }
  /// Called with each error that a getter could not throw, at once.
  public var onFaultError: ((any Error) -> Void)? {
    get { errors.listener }
    set { errors.listener = newValue }
  }
  /// New objects whose deletion was denied.
  var deniedDeletions = DeniedDeletions()
  /// Who makes the changes, for those who listen: see ``ChangeSet/author``.
  public var author: String?
  /// What the next commits are called, for those who listen: see ``ChangeSet/name``.
  public var transactionName: String?
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
    /// Of them, those that a second connection read at the same time, as it does of a large table of which all rows
    /// are fetched.
    public internal(set) var rowsReadAhead = 0
  }

  init(core: StoreCore, access: ContextAccess) {
    self.core = core
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
    // Objects that somebody still holds lose their way back; sets that hold each other are let go.
    let alive = maps.objects
    for object in alive {
      object.map = nil
      object.state = .invalid
    }
    for object in alive {
      object.forgetMembers()
      object.remember(former)
    }
  }

  /// Whether there is anything to save; inside ``Store/write(_:)`` whether anything was changed that is not committed, also
  /// where a ``save()`` has put it into the file.
  public var hasChanges: Bool { pending.isLive || !written.rows.isEmpty }

  // MARK: Making and deleting

  /// Makes a new object.
  ///
  /// ```swift
  /// let user = context.insert(User.self) { $0.name = "Binger" }
  /// ```
  ///
  /// It has its defaults and a temporary id, or inside ``Store/write(_:)`` its final one; ``save()`` gives it its row. In a
  /// context that may only read, or for a class that is not in the store's schema, the object belongs to no context and the
  /// error is in ``faultErrors``.
  /// - Parameters:
  ///   - type: The entity's class.
  ///   - configure: Sets the object's properties. When it throws, the object is forgotten, and who was related to it is so
  ///     no more.
  @discardableResult
  public func insert<Object: ManagedObject>(
    _ type: Object.Type, _ configure: (Object) throws -> Void
  ) rethrows -> Object {
    guard let map = unsafe map(of: type) else {
      note(StoreError.unknownEntity(name: "\(type)"))
      return making { type.init() }
    }
    // Of the class that the type is, which may be below the one that it is known as here: its map holds no other.
    let object = unsafe map._withUnsafeGuaranteedRef { map in
      map.entity.parent == nil
        ? making { type.init() } : unsafe unsafeDowncast(map.make(), to: Object.self)
    }
    // The context has the map: it is lent, and not retained.
    try unsafe map._withUnsafeGuaranteedRef { try begin(object, $0, configure) }
    return object
  }

  /// Makes an object that was just made a new one of this context, and lets it be filled.
  func begin<Object: ManagedObject>(
    _ object: Object, _ map: IdentityMap, _ configure: (Object) throws -> Void
  ) rethrows {
    guard takesChanges else { return }
    object.map = map
    object.state = .inserted
    object.rowID = pending.makeTemporaryID(table: map.table)
    object.overlay = Overlay(initial: map.entity, run, in: page(map))
    map.insert(object, for: object.rowID)
    pending.didInsert(object)
    do { try configure(object) } catch {
      dismiss(object)
      throw error
    }
  }

  /// Makes a new object with its defaults.
  @discardableResult
  public func insert<Object: ManagedObject>(_ type: Object.Type) -> Object { insert(type) { _ in } }

  /// Forgets an object's changes and its row; the row is fetched again when it is next needed, also where it was gone.
  ///
  /// If the row is gone, getters return the values that were read last, and the object becomes ``ManagedObject/State/invalid``. The
  /// error is in ``faultErrors``.
  ///
  /// A changed to-one is reverted at both ends. In a one-to-one, an object that took its place is reverted, too. Changes of to-manys,
  /// and of a to-one whose column the other end has, belong to the other objects and stay; use ``rollback()`` for them. Where
  /// only the order of members was changed, the order is as in the store again.
  ///
  /// In ``Store/write(_:)`` the row is that of the transaction.
  public func refresh(_ object: ManagedObject) {
    guard object.context === self else { return }
    // A row that was gone may be there again.
    if object.state == .invalid { object.state = .fault }
    guard object.state == .loaded || object.state == .fault else { return }
    takeBackReferences(of: object)
    forget(object)
  }

  /// Forgets what was written to an object, and its row.
  func forget(_ object: ManagedObject) {
    guard object.context === self, object.state == .loaded || object.state == .fault else { return }
    // It stays among the updated ones, which a save looks through: taking each out by itself would be quadratic.
    index.wake(object)
    if object.isRegistered, object.overlay != nil { pending.didRefresh() }
    object.overlay = nil
    object.state = .fault
    object.forgetFetchedMembers(keepsOrders: false)
    object.setRowAside()
  }

  /// The entity of a class.
  @inline(__always) func entity(of type: ManagedObject.Type) -> EntityMapping? {
    unsafe map(of: type)?._withUnsafeGuaranteedRef { $0.entity }
  }

  /// The map of a class's objects; the last one asked for is remembered.
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
  // No other class than ObjectContext is a host: the protocol is there so that objects need not know it.
  @inline(__always) final var context: ObjectContext? {
    host.map { unsafe unsafeDowncast($0, to: ObjectContext.self) }
  }
}

extension ObjectContext {
  func mark(of id: Int64) -> StoreMark { former.mark(of: id) }

  func find(_ entity: EntityMapping, _ id: Int64) -> ManagedObject? { maps[entity.index].find(id) }

  func page(_ map: IdentityMap) -> RowPage {
    let needed = RowDraft.fixedBytes(map.entity.slotCount)
    if let page = map.draftPage, page.hasRoom(needed) { return page }
    // Small where few objects of the entity are written: one that stays keeps its page, and the map its last one.
    let made = RowPage(capacity: max(needed, min(max(512, (map.draftPage?.capacity ?? 0) &* 2), 65_536)))
    map.draftPage = made
    return made
  }

  var deletionCount: Int { deletions.count }
  func deletions(since seen: Int) -> ArraySlice<ManagedObject>? { deletions.since(seen) }
}
