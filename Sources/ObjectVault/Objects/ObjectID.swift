// The name of an object that may leave its context.

/// Identifies an object of one entity in its store, in every context and process.
///
/// A new object has a temporary id until it is saved, by which its own context alone finds it; then its id is final and never given
/// out again, not even after the object was deleted. Inside ``Store/write(_:)`` it has its final id at once, so that the body can
/// return it. A write that throws has saved nothing: later objects get the ids of its objects.
///
/// ```swift
/// let id = try await store.write { context in
///   context.insert(User.self) { $0.name = "Binger" }.id
/// }
/// ```
///
/// An id is a value that may be kept, sent and coded as the row's number; a copy of a store has the same ids. One that an
/// object or a fetch gave knows its store besides, and finds no row of another one that has the same number: that is
/// an error. One that was made from a number, or decoded, does not know it, and finds the row with that number in the
/// store that is asked. Nor is it known of stores that have no ``Store/id``.
///
/// Two ids are equal when their numbers are, whatever is known of their stores: an id that was kept as its number
/// equals the one that the object gives, and a set or dictionary finds it. Keep ids of several stores apart.
public struct ObjectID<Object: ManagedObject>: Hashable, Sendable, Codable {
  /// The row's id; negative while the object is new, but for one of a write.
  public let rowID: Int64
  /// The store it is of. No part of what it is equal to, nor of its coded form.
  @usableFromInline let store: StoreMark

  // @inlinable for ObjectContext.existing(_:): where it is looked up at once no id is made.
  /// The id of the row `rowID`, as the `sqlcipher` shell shows it in the column `id`.
  @inlinable public init(rowID: Int64) { self.init(rowID: rowID, of: StoreMark(word: 0)) }

  @inlinable init(rowID: Int64, of store: StoreMark) {
    self.rowID = rowID
    self.store = store
  }

  /// Whether the object has not been saved yet.
  public var isTemporary: Bool { rowID < 0 }

  /// From the number alone.
  public init(from decoder: any Decoder) throws {
    self.init(rowID: try decoder.singleValueContainer().decode(Int64.self))
  }
  /// As the number alone.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rowID)
  }

  /// Whether both are the same number.
  public static func == (left: ObjectID, right: ObjectID) -> Bool { left.rowID == right.rowID }
  /// Hashes the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(rowID) }
}

/// An ``ObjectID`` of any entity.
protocol ObjectNaming {
  var rowID: Int64 { get }
  /// The entity's name.
  var entityName: String { get }
}

extension ObjectID: ObjectNaming {
  var entityName: String { String(describing: Object.self) }
}

extension ObjectID: CustomStringConvertible {
  /// Such as `User 42`.
  public var description: String { "\(Object.self) \(rowID < 0 ? "(new)" : "\(rowID)")" }
}

extension Persistable where Self: ManagedObject {
  /// What an object is known by, for a class that says it: `extension User: Identifiable {}`.
  public typealias ID = ObjectID<Self>

  /// The object's id: temporary until the first save, then final; inside ``Store/write(_:)`` final at once.
  public var id: ObjectID<Self> {
    if let recording = extras?.recording { recording.noteID(of: self, ObjectID<Self>.self) { \Self.id } }
    let id = knownRowID
    return ObjectID(rowID: id, of: mark(of: id))
  }
}

extension ManagedObject {
  /// What its id is of.
  final func mark(of id: Int64) -> StoreMark {
    host?.mark(of: id) ?? extras?.former?.mark(of: id) ?? .unknown
  }
}

extension StoreMark {
  /// The row of an id in this store.
  ///
  /// Every look-up by a final id goes through here, and every constant of a predicate through `check(_:on:)`.
  /// - Throws: ``StoreError/idOfAnotherStore(entity:rowID:)``.
  @inline(__always) func row<Object>(of id: ObjectID<Object>) throws -> Int64 {
    guard admits(id.store) else {
      throw StoreError.idOfAnotherStore(entity: "\(Object.self)", rowID: id.rowID)
    }
    return id.rowID
  }
}
