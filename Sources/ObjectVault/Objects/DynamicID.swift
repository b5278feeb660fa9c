// The name of an object without a class, which may leave its context.

/// Identifies a ``DynamicObject`` in its store: its entity, and its row's number.
///
/// It is to dynamic objects what ``ObjectID`` is to those of classes: a value that may be kept, sent and coded. One that
/// an object or a fetch gave knows its store besides, and finds no row of another one.
public struct DynamicID: Hashable, Sendable {
  /// The entity's name.
  public let entity: String
  /// The row's id; negative while the object is new, but for one of a write.
  public let rowID: Int64
  /// The store it is of. No part of what it is equal to, nor of its coded form.
  let store: StoreMark

  /// The id of the row `rowID` of an entity's table.
  public init(entity: String, rowID: Int64) { self.init(entity: entity, rowID: rowID, of: .unknown) }

  init(entity: String, rowID: Int64, of store: StoreMark) {
    (self.entity, self.rowID, self.store) = (entity, rowID, store)
  }

  /// Whether the object has not been saved yet.
  public var isTemporary: Bool { rowID < 0 }

  /// Whether both are the same number of one entity.
  public static func == (left: DynamicID, right: DynamicID) -> Bool {
    left.rowID == right.rowID && left.entity == right.entity
  }
  /// Hashes the number and the entity.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(rowID)
    hasher.combine(entity)
  }
}

extension DynamicID: Codable {
  private enum CodingKeys: CodingKey { case entity, rowID }

  /// From an object with the entity and the number.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      entity: try container.decode(String.self, forKey: .entity),
      rowID: try container.decode(Int64.self, forKey: .rowID))
  }
  /// As an object with the entity and the number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(entity, forKey: .entity)
    try container.encode(rowID, forKey: .rowID)
  }
}

extension DynamicID: CustomStringConvertible {
  /// Such as `User 42`.
  public var description: String { "\(entity) \(rowID < 0 ? "(new)" : "\(rowID)")" }
}

extension StoreMark {
  /// The row of an id in this store.
  /// - Throws: ``StoreError/idOfAnotherStore(entity:rowID:)``.
  func row(of id: DynamicID) throws -> Int64 {
    guard admits(id.store) else { throw StoreError.idOfAnotherStore(entity: id.entity, rowID: id.rowID) }
    return id.rowID
  }
}
