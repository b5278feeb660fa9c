// The id of an object without a Swift class, which may leave its context.

/// Identifies a ``DynamicObject`` in its store: its entity and the id of its row.
///
/// Corresponds to ``ObjectID`` of objects with classes: a value that may be kept, sent and encoded. An id
/// from an object or a fetch also has the mark of its store: using it in another store is an error.
public struct DynamicID: Hashable, Sendable {
  /// The entity's name.
  public let entity: String
  /// The row's id. It is negative while the object is new, except inside a write, where it is final at
  /// once.
  public let rowID: Int64
  /// The store that the id belongs to. Neither equality nor the coded form includes it.
  let store: StoreFingerprint

  /// Creates the id of the row `rowID` in an entity's table.
  public init(entity: String, rowID: Int64) { self.init(entity: entity, rowID: rowID, of: .unknown) }

  init(entity: String, rowID: Int64, of store: StoreFingerprint) {
    (self.entity, self.rowID, self.store) = (entity, rowID, store)
  }

  /// Whether the object has not been saved yet.
  public var isTemporary: Bool { rowID < 0 }

  /// Whether both have the same entity and the same row id.
  public static func == (left: DynamicID, right: DynamicID) -> Bool {
    left.rowID == right.rowID && left.entity == right.entity
  }
  /// Hashes the row id and the entity.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(rowID)
    hasher.combine(entity)
  }
}

extension DynamicID: Codable {
  private enum CodingKeys: CodingKey { case entity, rowID }

  /// Decodes a keyed container with the entity and the row id.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      entity: try container.decode(String.self, forKey: .entity),
      rowID: try container.decode(Int64.self, forKey: .rowID))
  }
  /// Encodes a keyed container with the entity and the row id.
  /// - Throws: `EncodingError.invalidValue` for a temporary id, which no other program could use.
  public func encode(to encoder: any Encoder) throws {
    guard !isTemporary else { throw EncodingError.temporaryID(self, of: entity, encoder.codingPath) }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(entity, forKey: .entity)
    try container.encode(rowID, forKey: .rowID)
  }
}

extension DynamicID: Comparable {
  /// Whether the object is before another one: by the names of the entities, then as for ``ObjectID``.
  public static func < (left: DynamicID, right: DynamicID) -> Bool {
    left.entity == right.entity ? left.rowID.isOlderRowID(than: right.rowID) : left.entity < right.entity
  }
}

extension DynamicID: CustomStringConvertible {
  /// The entity and the row id, such as `User 42`; `User (new)` for a temporary id.
  public var description: String { "\(entity) \(rowID < 0 ? "(new)" : "\(rowID)")" }
}

extension StoreFingerprint {
  /// Returns the row id of an id, if the id may belong to this store.
  /// - Throws: ``StoreError/idOfAnotherStore(entity:rowID:)``.
  func row(of id: DynamicID) throws -> Int64 {
    guard admits(id.store) else { throw StoreError.idOfAnotherStore(entity: id.entity, rowID: id.rowID) }
    return id.rowID
  }
}
