// The id of an object, which may leave the object's context.

/// Identifies an object of one entity in its store, in every context and process.
///
/// A new object has a temporary id until it is saved. Only the object's own context finds it by this id,
/// before the save and after it. An insertion that is undone and made again gives another temporary id. A
/// temporary id cannot be encoded. After the save the object's id is final. It is never issued again, not
/// even after the object was deleted. Inside ``Store/write(_:)`` an object has its final id at once, so that
/// the body can return it. A write that throws has saved nothing: later objects may get the ids of its
/// objects.
///
/// ```swift
/// let id = try await store.write { context in
///   context.insert(User.self) { $0.name = "Binger" }.id
/// }
/// ```
///
/// An id is a value that may be kept, sent and coded as the number of the row. A copy of a store has the
/// same ids. An id that comes from an object or a fetch also has the mark of its store: using it in
/// another store is an error, even if a row there has the same number. An id that was created from a
/// number, or decoded, has no mark and finds the row with that number in any store. Ids of a store
/// without a ``Store/id`` have no mark either.
///
/// Two ids are equal if their numbers are equal, whatever their marks are: an id that was kept as a
/// number equals the object's id, and a set or dictionary finds it. Keep ids of several stores apart.
public struct ObjectID<Object: ManagedObject>: Hashable, Sendable, Codable {
  /// The row's id. It is negative while the object is new, except inside a write, where it is final at
  /// once.
  public let rowID: Int64
  /// The store that the id belongs to. Neither equality nor the coded form includes it.
  @usableFromInline let store: StoreFingerprint

  // @inlinable for ObjectContext.existing(_:): if the id is used at once, no value is created.
  /// Creates the id of the row `rowID`, which the `sqlcipher` shell shows in the column `id`.
  @inlinable public init(rowID: Int64) { self.init(rowID: rowID, of: StoreFingerprint(word: 0)) }

  @inlinable init(rowID: Int64, of store: StoreFingerprint) {
    self.rowID = rowID
    self.store = store
  }

  /// Whether the object has not been saved yet.
  public var isTemporary: Bool { rowID < 0 }

  /// Decodes the number alone.
  public init(from decoder: any Decoder) throws {
    self.init(rowID: try decoder.singleValueContainer().decode(Int64.self))
  }
  /// Encodes the number alone.
  /// - Throws: `EncodingError.invalidValue` for a temporary id, which no other program could use.
  public func encode(to encoder: any Encoder) throws {
    guard !isTemporary else {
      throw EncodingError.temporaryID(self, of: "\(Object.self)", encoder.codingPath)
    }
    var container = encoder.singleValueContainer()
    try container.encode(rowID)
  }

  /// Whether both have the same number.
  public static func == (left: ObjectID, right: ObjectID) -> Bool { left.rowID == right.rowID }
  /// Hashes the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(rowID) }
}

extension ObjectID: Comparable {
  /// Whether the object was created before another one: saved objects are in the order of their numbers, and
  /// new ones follow in the order of their creation.
  public static func < (left: ObjectID, right: ObjectID) -> Bool {
    left.rowID.isOlderRowID(than: right.rowID)
  }
}

extension Int64 {
  /// Whether the object with this row id was created before that with another one: saved objects come first,
  /// by their numbers; then new ones, whose temporary ids decrease.
  func isOlderRowID(than other: Int64) -> Bool {
    (self < 0 ? 1 : 0, magnitude) < (other < 0 ? 1 : 0, other.magnitude)
  }
}

extension EncodingError {
  /// The error for encoding the id of a new object.
  static func temporaryID(_ id: any Sendable, of entity: String, _ path: [any CodingKey]) -> EncodingError {
    .invalidValue(
      id,
      Context(
        codingPath: path, debugDescription: "\(StoreError.temporaryID(entity: entity))"))
  }
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
  /// The class's name and the number, such as `User 42`; `User (new)` for a temporary id.
  public var description: String { "\(Object.self) \(rowID < 0 ? "(new)" : "\(rowID)")" }
}

extension Persistable where Self: ManagedObject {
  /// The type of the object's id, for a class that declares `extension User: Identifiable {}`.
  public typealias ID = ObjectID<Self>

  /// The object's id: temporary until the first save, then final. Inside ``Store/write(_:)`` it is final
  /// at once.
  public var id: ObjectID<Self> {
    if let recording = extras?.recording { recording.noteID(of: self, ObjectID<Self>.self) { \Self.id } }
    let id = visibleRowID
    return ObjectID(rowID: id, of: mark(of: id))
  }
}

extension ManagedObject {
  /// Returns the fingerprint of one of the object's ids, temporary or final.
  final func mark(of id: Int64) -> StoreFingerprint {
    host?.mark(of: id) ?? extras?.former?.mark(of: id) ?? .unknown
  }
}

extension StoreFingerprint {
  /// Returns the row id of an id, if the id may belong to this store.
  ///
  /// A look-up by a final id checks the store with this function or with `admits(_:)`; the constants of a
  /// predicate are checked by `check(_:on:)`.
  /// - Throws: ``StoreError/idOfAnotherStore(entity:rowID:)``.
  @inline(__always) func row<Object>(of id: ObjectID<Object>) throws -> Int64 {
    guard admits(id.store) else {
      throw StoreError.idOfAnotherStore(entity: "\(Object.self)", rowID: id.rowID)
    }
    return id.rowID
  }
}
