// Which object stands for which row: one map per entity and context. The table itself is ObjectTable. Entities that share a
// table of the file share one here: an id is that of one row of the family, whichever of its entities is asked for it.

internal import CipherSQLite

/// A map that does not keep its objects alive: each removes itself in deinit.
package final class IdentityMap {
  private let objects: ObjectTable
  /// Whose table it is: the root's; nil for a table of its own.
  private let root: IdentityMap?
  /// Whether objects of other entities are in the table.
  let isShared: Bool
  /// The index of the entity at the root of its table.
  let table: Int
  /// What its objects are of.
  package let entity: EntityMapping
  // Unchecked exclusivity: changed by each insertion, and never passed inout.
  /// Where the values of its objects are put that are written next. Of one entity, as objects of one entity are mostly let go
  /// together: a page stays for as long as any row in it does.
  @safe @exclusivity(unchecked) var draftPage: RowPage?
  /// The highest id that a save of this context gave to one of them.
  var highest: Int64 = 0
  /// The class of all of its objects: no other object is ever put in. See ``ClassProof``.
  let objectClass: ManagedObject.Type
  /// Makes an object of that class.
  package let make: () -> ManagedObject
  /// The context that owns the map: set once, by it, and not retained. Safe, as nobody else retains the map
  /// but what the context has, too.
  @safe @exclusivity(unchecked) unowned(unsafe) var host: (any ObjectHost)?

  package init(
    _ entity: EntityMapping, of objectClass: ManagedObject.Type, make: @escaping () -> ManagedObject
  ) {
    self.entity = entity
    table = entity.root.index
    isShared = entity.isInFamily
    self.objectClass = objectClass
    self.make = make
    objects = ObjectTable()
    root = nil
  }

  /// A map of an entity that shares the table of another one.
  init(
    _ entity: EntityMapping, of objectClass: ManagedObject.Type, sharing root: IdentityMap,
    make: @escaping () -> ManagedObject
  ) {
    self.entity = entity
    table = entity.root.index
    isShared = entity.isInFamily
    self.objectClass = objectClass
    self.make = make
    // Kept alive by this one.
    self.root = root
    objects = ObjectTable(lentBy: root.objects)
  }

  // What is found is alive, and may be taken unretained: every object removes its address here in its deinit.
  @inline(__always) private func object(at address: ObjectTable.Address) -> ManagedObject {
    unsafe Unmanaged<ManagedObject>.fromOpaque(address).takeUnretainedValue()
  }

  /// Whether no object is alive, of whichever entity of the table.
  var isEmpty: Bool { objects.isEmpty }

  /// The live object of `key`: of whichever entity of the table.
  @inline(__always) package func find(_ key: Int64) -> ManagedObject? {
    unsafe objects.find(key).map(object(at:))
  }

  /// The same, not retained: for who does it, or asks it something.
  @inline(__always) func reference(_ key: Int64) -> Unmanaged<ManagedObject>? {
    guard let address = unsafe objects.find(key) else { return nil }
    return unsafe Unmanaged.fromOpaque(address)
  }

  /// Where objects are found by ids that are mostly taken, for as long as the map is; nil in a table that other entities share.
  var dense: UnsafeMutablePointer<DenseObjects>? { isShared ? nil : unsafe objects.dense }

  /// The live object of `key` if its row is in memory, or it is new; nil in a table that other entities share. Its state is
  /// asked before it is retained, as each retaining waits for the memory where the object lies.
  @inline(__always) func findOpen(_ key: Int64) -> ManagedObject? {
    guard !isShared, let address = unsafe objects.find(key) else { return nil }
    let found = unsafe Unmanaged<ManagedObject>.fromOpaque(address)
    let isOpen = unsafe found._withUnsafeGuaranteedRef { $0.state == .loaded || $0.state == .inserted }
    return isOpen ? unsafe found.takeUnretainedValue() : nil
  }

  /// Makes the object of `key`, which has none, as a fault.
  @inline(__always) func add(_ key: Int64) -> ManagedObject {
    let object = make()
    object.map = self
    object.rowID = key
    object.state = .fault
    insert(object, for: key)
    return object
  }

  /// Puts an object in. Another that had its key, such as a fault of a row that was not there yet, is invalid from then on:
  /// nothing would tell it that the map goes.
  @inline(__always) package func insert(_ object: ManagedObject, for key: Int64) {
    assert(type(of: object) == objectClass, "an object of another class")
    let former = unsafe objects.insert(Unmanaged.passUnretained(object).toOpaque(), for: key)
    guard let former = unsafe former.map(self.object(at:)), former !== object else { return }
    // Of a row whose id no store gives, such as one below 0 that SQL wrote: what was changed in it is told to be lost.
    if former.isPending { host?.note(StoreError.objectGone(entity: entity.name, rowID: key)) }
    former.map = nil
    former.state = .invalid
  }

  /// Removes `key` if it leads to `object`.
  func remove(_ key: Int64, _ object: ManagedObject) {
    unsafe objects.remove(key, Unmanaged.passUnretained(object).toOpaque())
  }

  /// All live objects of the entity itself, in no order.
  package var all: [ManagedObject] {
    let all = unsafe objects.all.map(object(at:))
    return entity.isInFamily ? all.filter { $0.map === self } : all
  }
}

/// The proof that the objects of a map are of a class, for those who hand out many: asked once, and not of each object.
struct ClassProof<Object: ManagedObject> {
  /// - Returns: nil when the map's objects are of another class.
  init?(_ map: IdentityMap) {
    guard map.objectClass is Object.Type else { return nil }
  }

  /// Objects of that map as what they are.
  // No loop and no second array: code that is generic over the class makes one in twice the time of the rest of a row.
  func callAsFunction(_ objects: [ManagedObject]) -> [Object] {
    #if DEBUG
      for object in objects { assert(object is Object, "an object of another class") }
    #endif
    // Safe: the map's objects are of its class (insert), which is this one or a subclass (init), and those of the entities
    // below are of classes below that (SchemaCollector.strangers); arrays of references to objects have one layout.
    return unsafe unsafeBitCast(objects, to: [Object].self)
  }
}
