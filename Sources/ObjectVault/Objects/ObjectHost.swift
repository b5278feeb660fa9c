// What an object asks of those above it: of the context that it is in, or was in, and, as a prototype, of who records its getters.

internal import CipherSQLite

/// Where an object lives: its context, as far as an object needs it.
protocol ObjectHost: AnyObject {
  /// The live object of an id; nil where none is in memory.
  func find(_ entity: EntityMapping, _ id: Int64) -> ManagedObject?
  /// The call that all work is part of, which may be cancelled.
  var run: CancellableRun? { get }
  /// What the id of one of its objects is of: the store, or the context alone for a temporary one.
  func mark(of id: Int64) -> StoreMark
  /// Counts deletions after which sets that are in memory may hold an object that is no member any more.
  var deletionCount: Int { get }
  /// What was deleted after the first `seen` of these; nil when that is not known any more.
  func deletions(since seen: Int) -> ArraySlice<ManagedObject>?
  /// Whether changes are taken now. The reason why not is told.
  var takesChanges: Bool { get }
  /// Why changes are not taken now; nil when they are.
  var refusal: (any Error)? { get }

  /// The object of a row, as a fault when it is not in memory; nil where its class is known with the row alone and that is
  /// gone, which is told where `tells` says so.
  func object(_ entity: EntityMapping, _ id: Int64, tells: Bool) -> ManagedObject?
  /// Fills a fault, or throws.
  func load(_ object: ManagedObject) throws
  /// Fills a fault for a getter: an error is noted. Where the row is gone the object is invalid then; after any other error it
  /// stays a fault.
  func fire(_ object: ManagedObject)
  /// Fills the members of a to-many, or throws.
  func loadMembers(of owner: ManagedObject, _ slot: Int, _ state: ToManyState) throws

  /// Who is told which properties of its objects are read by their names, and of which rows; nil where nobody asks.
  var reads: ((_ entity: String, _ property: String, _ row: Int64) -> Void)? { get }
  /// Whether a write has changed the row of an object, and not yet committed it.
  func isUncommitted(_ object: ManagedObject) -> Bool
  /// What a write has put into the row of an object, and not yet committed.
  func uncommittedValues(of object: ManagedObject) -> [String: SQLValue]
  /// The id that a to-one is known to hold: a new object's final id where it was given one.
  func known(_ value: SQLValue) -> SQLValue
  /// The id by which others know a new object: the final one inside a write, and its temporary one elsewhere.
  func givenID(of object: ManagedObject) -> Int64
  /// Keeps an error that an accessor cannot throw.
  func note(_ error: any Error)
  /// Keeps what a getter met and could not read.
  func noteUnreadable(_ error: StoreError)

  /// Where the values of an object of a map are put that are written next.
  func page(_ map: IdentityMap) -> RowPage

  /// Something was written to an object.
  /// - Parameter isFirst: Whether it was as its row before.
  func didWrite(_ object: ManagedObject, isFirst: Bool)
  /// A row of a table is another object's from now on.
  func didLoseRow(_ id: Int64, table: Int)
  /// Members of an object differ from the store's from now on.
  func didTouchMembers(_ object: ManagedObject)
  /// An object became a member of one whose members nobody has asked for.
  func didGain(_ member: ManagedObject, _ owner: ManagedObject, _ slot: Int)
  /// Takes out what one relationship of an object gained, which is asked for its members now.
  func takeGained(of owner: ManagedObject, _ slot: Int) -> [ManagedObject]
  /// Whether a relationship takes an object. The reason why not is told.
  func accepts(_ target: ManagedObject?, for owner: ManagedObject, _ relationship: RelationshipMapping)
    -> Bool
  /// A many-to-many has one link more or less.
  func link(
    _ owner: ManagedObject, _ member: ManagedObject, _ relationship: RelationshipMapping, isAdded: Bool,
    isKnown: Bool)
  /// What released objects held of others, and is to be released.
  var releasing: [AnyObject?] { get set }
  /// Releases it, one by one.
  func releaseExtras()
}

extension ObjectHost {
  /// Fills the members of a to-many for a getter: an error is noted.
  func fireMembers(of owner: ManagedObject, _ slot: Int, _ state: ToManyState) {
    do { try loadMembers(of: owner, slot, state) } catch { note(error) }
  }
}

/// Who looks at what the getters of a prototype are asked for, and gives them values.
protocol GetterProbe: AnyObject {
  func attribute<Value: AttributeValue>(
    of object: ManagedObject, _ slot: Int, _ property: () -> AnyKeyPath
  ) -> Value
  func target<Target: ManagedObject>(
    of object: ManagedObject, _ slot: Int, _ property: () -> AnyKeyPath
  ) -> Target?
  /// - Parameter make: Makes a property's value of objects of that class.
  func members<Members: Equatable>(
    of object: ManagedObject, _ slot: Int, _ target: ManagedObject.Type, _ property: () -> AnyKeyPath,
    _ make: ([ManagedObject]) -> Members
  ) -> Members
  func noteID<ID>(of object: ManagedObject, _ id: ID.Type, _ property: () -> AnyKeyPath)
}

/// Where an object was.
final class FormerHost {
  // Safe: set by the context alone, and to nil as the first thing in its deinit; whoever asks is used by the one task that
  // uses the context. A weak reference would make the context count all its references the slow way.
  @safe @exclusivity(unchecked) unowned(unsafe) var host: (any ObjectHost)?
  /// The store, which an object's id is of wherever the object went.
  private let store: StoreMark
  /// What the temporary ids of the context have in its place: another context may have given the same numbers.
  let temporary = StoreMark.ofNewContext()

  init(of store: StoreMark) { self.store = store }

  /// What an id of the context is of.
  func mark(of id: Int64) -> StoreMark { id < 0 ? temporary : store }
}
