// The protocols through which objects reach higher layers: their present or former context and, for
// prototypes, the recorder of their getters.

internal import CipherSQLite

/// The context of an object, as far as objects need it.
protocol ObjectHost: AnyObject {
  /// Returns the live object with an id; nil if none is in memory.
  func find(_ entity: EntityMapping, _ id: Int64) -> ManagedObject?
  /// The cancellable call that the present work belongs to.
  var run: CancellableRun? { get }
  /// Returns the fingerprint that an object's id has: the store's, or the context's own for a temporary
  /// id.
  func mark(of id: Int64) -> StoreFingerprint
  /// Rises with each deletion, and each time that deletions are undone. A set of members that was last
  /// read at a lower count may contain a deleted object, or lack one whose deletion was undone.
  var deletionCount: Int { get }
  /// Returns the objects deleted after the first `seen` deletions; nil if that is no longer recorded.
  func deletions(since seen: Int) -> ArraySlice<ManagedObject>?
  /// Whether changes are accepted now. If not, the reason is reported.
  var acceptsChanges: Bool { get }
  /// The reason why changes are not accepted now; nil if they are.
  var refusal: (any Error)? { get }

  /// Returns the object that a relationship refers to, as a fault if the row is not in memory. If the
  /// object's class depends on the row, the row is read at once: nil if it does not exist, which is
  /// reported if `tells` is set.
  func target(of relationship: RelationshipMapping, _ id: Int64, tells: Bool) -> ManagedObject?
  /// Returns the object with an id, which may be the former temporary id of an object that was saved since,
  /// with its row in memory; nil if there is none.
  func target(withID id: Int64, of entity: EntityMapping) throws -> ManagedObject?
  /// Fetches the row of a fault, or throws.
  func load(_ object: ManagedObject) throws
  /// Fetches the row of a fault for a getter: an error is recorded. If the row does not exist, the object
  /// becomes invalid; after any other error it stays a fault.
  func fire(_ object: ManagedObject)
  /// Reads values that a fetch left out of the row of an object. If the row does not exist, the object
  /// becomes invalid; after any other error it stays as it is.
  /// - Parameter slot: The slot of a value that is needed: a lazy attribute is read alone, any other
  ///   attribute together with all that are not lazy. nil for all that are not lazy.
  func complete(_ object: ManagedObject, for slot: Int?) throws
  /// Fetches the members of a to-many, or throws.
  func loadMembers(of owner: ManagedObject, _ slot: Int, _ state: ToManyState) throws

  /// Called with each property that is read by its name, and the id of the row; nil if nothing observes
  /// reads.
  var reads: ((_ entity: String, _ property: String, _ row: Int64) -> Void)? { get }
  /// Whether a write has changed the row of an object and not yet committed it.
  func isUncommitted(_ object: ManagedObject) -> Bool
  /// Returns the values that a write has put into the row of an object and not yet committed.
  func uncommittedValues(of object: ManagedObject) -> [String: SQLValue]
  /// Returns the value of a to-one as other code sees it: if a new target was assigned a final id, that
  /// id.
  func known(_ value: SQLValue) -> SQLValue
  /// Returns the id of a new object as other code sees it: the final one inside a write, the temporary
  /// one elsewhere.
  func visibleID(of object: ManagedObject) -> Int64
  /// Records an error that an accessor cannot throw.
  func note(_ error: any Error)
  /// Records a value that a getter could not read.
  func noteUnreadable(_ error: StoreError)

  /// Returns the page for the next values that are written to an object of a map.
  func page(_ map: IdentityMap) -> RowPage

  /// Whether observers of the objects are notified.
  var notifiesObservers: Bool { get }
  /// Registers that a property of an object is read, for observers.
  func noteRead(of object: ManagedObject, _ slot: Int)
  /// Registers that members are read that a deletion from a table may change, for observers.
  /// - Parameter table: The index of the table's root entity.
  func noteReadOfMembers(in table: Int)
  /// Returns why an object that is not inserted yet cannot be inserted; nil if it can.
  func refusal(ofDraft object: ManagedObject) -> StoreError?
  /// Whether each change of an object is to be told before it is made.
  var recordsChanges: Bool { get }
  /// Runs a call that makes several changes, which are undone together.
  func undoable(_ body: () -> Void)
  /// Notes that a slot is about to be written, and records its value.
  func willWrite(_ object: ManagedObject, _ slot: Int)
  /// Notes that the members of a to-many are about to change, and records the order of an ordered one.
  func willArrange(_ owner: ManagedObject, _ slot: Int)
  /// Notes that a value was written to an object.
  /// - Parameter isFirst: Whether the object had no written values before.
  func didWrite(_ object: ManagedObject, isFirst: Bool)
  /// Notes that a row was read into an object whose class has a hook for it.
  func didFetch(_ object: ManagedObject)
  /// Notes that the row of an object is known to be deleted.
  func didLoseRow(of object: ManagedObject)
  /// Notes that an object has a newer row, or none in memory any more.
  func didRefresh(_ object: ManagedObject)
  /// Notes that a row of a table now belongs to another object.
  func didLoseRow(_ id: Int64, table: Int)
  /// Notes that the members of an object differ from the store's.
  func didTouchMembers(_ object: ManagedObject)
  /// Notes that an object became a member of an owner whose members have not been read.
  func didGain(_ member: ManagedObject, owner: ManagedObject, slot: Int)
  /// Removes and returns the members that one relationship of an owner gained before the members were
  /// read. Called when they are read.
  func takeGained(of owner: ManagedObject, _ slot: Int) -> [ManagedObject]
  /// Whether a relationship accepts an object. If not, the reason is reported.
  func accepts(_ target: ManagedObject?, for owner: ManagedObject, _ relationship: RelationshipMapping)
    -> Bool
  /// Notes that a many-to-many has gained or lost a link.
  /// - Parameter isKnown: Whether the owner's members are in memory.
  func link(
    _ owner: ManagedObject, to member: ManagedObject, by relationship: RelationshipMapping, isAdded: Bool,
    isKnown: Bool)
  /// Whether the link to a member is to be written by the next save.
  func hasPendingLink(_ owner: ManagedObject, to member: ManagedObject, by relationship: RelationshipMapping)
    -> Bool
  /// References that deallocated objects had to other objects, and that are to be released.
  var releasing: [AnyObject?] { get set }
  /// Releases these references one by one.
  func releaseExtras()
}

extension ObjectHost {
  /// Fetches the members of a to-many for a getter: an error is recorded.
  func fireMembers(of owner: ManagedObject, _ slot: Int, _ state: ToManyState) {
    do { try loadMembers(of: owner, slot, state) } catch { note(error) }
  }
}

/// Observes the getters of a prototype and supplies their values.
protocol GetterProbe: AnyObject {
  func attribute<Value: AttributeValue>(
    of object: ManagedObject, slot: Int, _ property: () -> AnyKeyPath
  ) -> Value
  func target<Target: ManagedObject>(
    of object: ManagedObject, slot: Int, _ property: () -> AnyKeyPath
  ) -> Target?
  /// Supplies the value of a to-many.
  /// - Parameter make: Creates the property's value from objects of the class `target`.
  func members<Members: Equatable>(
    of object: ManagedObject, slot: Int, target: ManagedObject.Type, _ property: () -> AnyKeyPath,
    _ make: ([ManagedObject]) -> Members
  ) -> Members
  func noteID<ID>(of object: ManagedObject, _ id: ID.Type, _ property: () -> AnyKeyPath)
}

/// A reference from objects to the context that they belong to or have left. It outlives the context.
final class FormerHost {
  // Safe: only the context sets it, and sets it to nil as the first action of its deinit; only the task
  // that uses the context reads it. A weak reference would make all reference counting of the context
  // slow.
  @safe @exclusivity(unchecked) unowned(unsafe) var host: (any ObjectHost)?
  /// The fingerprint of the store, which an object's id keeps wherever the object is.
  private let store: StoreFingerprint
  /// The fingerprint of the context's temporary ids: another context may issue the same numbers.
  let temporary = StoreFingerprint.ofNewContext()

  init(of store: StoreFingerprint) { self.store = store }

  /// Returns the fingerprint of an id of the context.
  func mark(of id: Int64) -> StoreFingerprint { id < 0 ? temporary : store }
}
