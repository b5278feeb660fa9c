// Maps row ids to live objects: one map per entity and context. The table itself is an ObjectTable.
// Entities that share a table in the file also share an ObjectTable here, because an id identifies one
// row of the whole inheritance hierarchy.

internal import CipherSQLite

/// A map from row ids to live objects that does not keep them alive: each object removes itself in its
/// deinit.
package final class IdentityMap {
  private let objects: ObjectTable
  /// The map of the root entity, whose table this one uses; nil if the map has its own table.
  private let root: IdentityMap?
  /// Whether the table also contains objects of other entities.
  let isShared: Bool
  /// The index of the root entity of the table.
  let table: Int
  /// The entity of the map's objects.
  package let entity: EntityMapping
  // Unchecked exclusivity: changed by each insertion, and never passed inout.
  /// The page for the values of the objects that are written next. There is one page per entity, because
  /// objects of one entity are mostly released together and a page stays in memory as long as any row in
  /// it does.
  @safe @exclusivity(unchecked) var draftPage: RowPage?
  /// The highest id that this context assigned in the table, by a save or inside a write. Set on the map
  /// of the root entity only.
  var highest: Int64 = 0
  /// The class of the entity's objects. Only objects of this class are inserted: see ``ClassProof``.
  let objectClass: ManagedObject.Type
  /// Whether reads of the objects are registered for observers.
  @safe @exclusivity(unchecked) var isTracked = false
  /// The hooks that the class overrides.
  package let hooks: ClassHooks
  /// Creates an object of `objectClass`.
  package let make: () -> ManagedObject
  /// The context that owns the map. Set once, by the context, and not retained. Safe: the map is retained
  /// only by the context and by what the context owns, so it does not outlive the context.
  @safe @exclusivity(unchecked) unowned(unsafe) var host: (any ObjectHost)?

  package init(
    _ entity: EntityMapping, of objectClass: ManagedObject.Type, hooks: ClassHooks = [],
    make: @escaping () -> ManagedObject
  ) {
    self.entity = entity
    table = entity.root.index
    isShared = entity.isInHierarchy
    self.objectClass = objectClass
    self.hooks = hooks
    self.make = make
    objects = ObjectTable()
    root = nil
  }

  /// Creates the map of an entity that shares the table of the root entity's map.
  init(
    _ entity: EntityMapping, of objectClass: ManagedObject.Type, hooks: ClassHooks,
    sharing root: IdentityMap, make: @escaping () -> ManagedObject
  ) {
    self.entity = entity
    table = entity.root.index
    isShared = entity.isInHierarchy
    self.objectClass = objectClass
    self.hooks = hooks
    self.make = make
    // Retained here, because the shared table belongs to it.
    self.root = root
    objects = ObjectTable(lentBy: root.objects)
  }

  // Safe to take unretained: every object in the table is alive, because it removes its address in its
  // deinit.
  @inline(__always) private func object(at address: ObjectTable.Address) -> ManagedObject {
    unsafe Unmanaged<ManagedObject>.fromOpaque(address).takeUnretainedValue()
  }

  /// Whether the table has no live object of any of its entities.
  var isEmpty: Bool { objects.isEmpty }

  /// Returns the live object with this id, of any entity of the table.
  @inline(__always) package func find(_ key: Int64) -> ManagedObject? {
    unsafe objects.find(key).map(object(at:))
  }

  /// Returns the live object with this id, unretained: for callers that retain it themselves or only read
  /// from it.
  @inline(__always) func reference(_ key: Int64) -> Unmanaged<ManagedObject>? {
    guard let address = unsafe objects.find(key) else { return nil }
    return unsafe Unmanaged.fromOpaque(address)
  }

  /// A pointer to the part of the table with densely used ids, valid as long as the map; nil if other
  /// entities share the table.
  var dense: UnsafeMutablePointer<DenseObjects>? { isShared ? nil : unsafe objects.dense }

  /// Returns the live object with this id if its row is in memory or it is new. Always nil if other
  /// entities share the table. The state is checked first, so that only an object that is returned is
  /// retained.
  @inline(__always) func findOpen(_ key: Int64) -> ManagedObject? {
    guard !isShared, let address = unsafe objects.find(key) else { return nil }
    let found = unsafe Unmanaged<ManagedObject>.fromOpaque(address)
    let isOpen = unsafe found._withUnsafeGuaranteedRef { $0.state == .loaded || $0.state == .inserted }
    return isOpen ? unsafe found.takeUnretainedValue() : nil
  }

  /// Creates a fault for an id that has no live object.
  @inline(__always) func add(_ key: Int64) -> ManagedObject {
    let object = make()
    object.map = self
    object.rowID = key
    object.state = .fault
    insert(object, for: key)
    return object
  }

  /// Inserts an object. Another object may have the id, such as a fault whose row did not exist. That
  /// object becomes invalid. Its reference to this map is unretained, so it is cleared here: before the
  /// context frees the map, it clears only the references of objects that are still in the map.
  @inline(__always) package func insert(_ object: ManagedObject, for key: Int64) {
    assert(type(of: object) == objectClass, "an object of another class")
    if object.isTracked != isTracked { object.setTracked(isTracked) }
    let former = unsafe objects.insert(Unmanaged.passUnretained(object).toOpaque(), for: key)
    guard let former = unsafe former.map(self.object(at:)), former !== object else { return }
    // If the former object has pending changes, its id is one that no store assigns, such as a negative
    // one that SQL wrote. The changes are reported as lost.
    if former.isPending { host?.note(StoreError.objectGone(entity: entity.name, rowID: key)) }
    if former.state != .deleted, former.state != .invalid { host?.didLoseRow(of: former) }
    former.map = nil
    former.state = .invalid
  }

  /// Removes this id if it belongs to `object`.
  func remove(_ key: Int64, _ object: ManagedObject) {
    unsafe objects.remove(key, Unmanaged.passUnretained(object).toOpaque())
  }

  /// All live objects of the entity itself, in no particular order.
  package var all: [ManagedObject] {
    let all = unsafe objects.all.map(object(at:))
    return entity.isInHierarchy ? all.filter { $0.map === self } : all
  }
}

/// Proves that all objects of a map are of one class. Code that returns many objects then checks the
/// class once and not for each object.
struct ClassProof<Object: ManagedObject> {
  /// Proves that the objects of a map are of `Object`.
  /// - Returns: nil if the map's objects are of another class.
  init?(_ map: IdentityMap) {
    guard map.objectClass is Object.Type else { return nil }
  }

  /// Returns objects of that map as an array of their class.
  // No loop and no second array: in generic code, creating the array takes twice as long as all other
  // work on its rows.
  func callAsFunction(_ objects: [ManagedObject]) -> [Object] {
    #if DEBUG
      for object in objects { assert(object is Object, "an object of another class") }
    #endif
    // Safe: the map's objects are of its class (insert), which is `Object` or a subclass (init). Objects
    // of subentities are of subclasses of that class (SchemaCollector.strangers). Arrays of references to
    // objects have one layout.
    return unsafe unsafeBitCast(objects, to: [Object].self)
  }
}
