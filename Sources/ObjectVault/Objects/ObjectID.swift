// The name of an object that may leave its context.

/// Identifies an object of one entity in its store, in every context and process.
///
/// A new object has a temporary id until it is saved; then its id is final and never given out again, not
/// even after the object was deleted.
///
/// An id is a plain value, the row's number with the entity as its type, so that it can be kept, sent and coded as
/// that number; a copy of a store has the same ids. It does not say which store it is of: ids of different stores
/// are kept apart by whoever keeps them. Where a mistake must not find an object with the same number, compare
/// with the object, which does know its store.
public struct ObjectID<Object: ManagedObject>: Hashable, Sendable, Codable {
  /// The row's id; negative while the object is new.
  public let rowID: Int64

  /// The id of the row `rowID`, as the `sqlcipher` shell shows it in the column `id`.
  public init(rowID: Int64) { self.rowID = rowID }

  /// Whether the object has not been saved yet.
  public var isTemporary: Bool { rowID < 0 }

  /// From the number alone.
  public init(from decoder: any Decoder) throws {
    rowID = try decoder.singleValueContainer().decode(Int64.self)
  }
  /// As the number alone.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rowID)
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
  /// Such as `User 42`.
  public var description: String { "\(Object.self) \(rowID < 0 ? "(new)" : "\(rowID)")" }
}

extension Persistable where Self: ManagedObject {
  /// The object's id: temporary until the first save, then final.
  public var id: ObjectID<Self> {
    if let recording = overlay?.recording { recording.noteID(of: self, ObjectID<Self>.self) { \Self.id } }
    return ObjectID(rowID: rowID)
  }
}
