// A model as a value: entities, attributes, relationships, indexes and raw objects. It is Codable,
// because each store contains its model. SchemaBuilder makes a schema from Swift classes; the rules are
// in Schema+Validation.

internal import CipherSQLite
private import Foundation

/// The model of a store: its entities and raw objects.
///
/// A schema is declared with Swift classes as below, replayed from migration steps, or decoded from JSON.
/// It has no version number: the version of a store is the number of steps that ran on it.
///
/// ```swift
/// let schema = Schema {
///   Entity(User.self)
///     .unique(\.name, \.city)
///     .check(\.screenName, .length(0...64))
///   Entity(Status.self).index(\.createdAt, \.user)
/// }
/// ```
public struct Schema: Sendable {
  /// The entities, sorted by name.
  public internal(set) var entities: [EntityDescription]
  /// The views, triggers and indexes that are written in SQL, sorted by name.
  public internal(set) var rawObjects: [RawObject] = []
  /// The faults of the declarations.
  ///
  /// ``validate()`` throws all of them at once, with the faults of the model itself.
  public internal(set) var faults: [SchemaFault] = []
  // The Swift side of the entities that were declared with classes; not part of the schema's meaning.
  var bindings: [String: any EntityBinding] = [:]

  /// Creates a schema of descriptions, without Swift classes.
  ///
  /// An inverse that one end names is set at both ends. One end of a one-to-one gets the column: see
  /// ``RelationshipDescription/isLookedUp``.
  /// - Parameters:
  ///   - entities: The entities, in any order.
  ///   - rawObjects: The raw objects, in any order.
  public init(entities: [EntityDescription] = [], rawObjects: [RawObject] = []) {
    self.entities = entities.map { entity in
      var entity = entity
      for index in entity.attributes.indices { entity.attributes[index].normalizeDefault() }
      return entity
    }.sorted { $0.name < $1.name }
    self.rawObjects = rawObjects.sorted { $0.name < $1.name }
    completeInverses()
    // After completeInverses: an index over the end without a column is a fault, and must not be removed
    // here as redundant.
    for index in self.entities.indices { self.entities[index].normalizeIndexes() }
  }

  /// Returns the index of the entity with this name, or nil. Uses binary search, as entities are sorted
  /// by name.
  func entityIndex(_ name: String) -> Int? {
    let place = entityPlace(name)
    return place < entities.count && entities[place].name == name ? place : nil
  }

  /// Returns the index at which the entity with this name is, or would be inserted.
  func entityPlace(_ name: String) -> Int {
    var (low, high) = (0, entities.count)
    while low < high {
      let middle = (low + high) / 2
      if entities[middle].name < name { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Returns the entity with this name, or nil.
  public func entity(named name: String) -> EntityDescription? { entityIndex(name).map { entities[$0] } }
  /// Returns the raw object with this name, or nil.
  public func rawObject(named name: String) -> RawObject? { rawObjects.first { $0.name == name } }
}

// Schemas are compared by meaning: the Swift side and the order of declaration do not count.
extension Schema: Hashable, Codable {
  /// Returns whether two schemas are equal in meaning.
  public static func == (left: Schema, right: Schema) -> Bool {
    // First compared without sorting, which mostly suffices: models of consecutive steps have most
    // entities in common.
    left.rawObjects == right.rawObjects
      && (left.entities == right.entities || left.canonical.entities == right.canonical.entities)
  }
  /// Hashes the meaning.
  public func hash(into hasher: inout Hasher) { hasher.combine(canonical.entities) }

  private enum CodingKeys: String, CodingKey { case entities, rawObjects }

  /// Decodes what ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      entities: try container.decode([EntityDescription].self, forKey: .entities),
      rawObjects: try container.decodeIfPresent([RawObject].self, forKey: .rawObjects) ?? [])
  }
  /// Encodes the entities, and the raw objects if there are any.
  ///
  /// A model without raw objects has the same JSON as before raw objects existed.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(entities, forKey: .entities)
    if !rawObjects.isEmpty { try container.encode(rawObjects, forKey: .rawObjects) }
  }

  /// The schema with everything in alphabetical order.
  package var canonical: Schema {
    Schema(
      entities: entities.map { entity in
        var entity = entity
        entity.attributes.sort { $0.name < $1.name }
        entity.relationships.sort { $0.name < $1.name }
        entity.indexes.sort {
          ($0.properties.joined(separator: ","), $0.isUnique ? 1 : 0, $0.comparing.rawValue) < (
            $1.properties.joined(separator: ","), $1.isUnique ? 1 : 0, $1.comparing.rawValue
          )
        }
        return entity
      }, rawObjects: rawObjects)
  }

  /// The schema as canonical JSON: equal for all schemas of the same meaning.
  public var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: Self.infinity, negativeInfinity: "-" + Self.infinity, nan: Self.notANumber)
    // Encoding strings, numbers and arrays cannot fail. Infinity and NaN, which JSON lacks, are written
    // as words; only a schema that ``validate()`` rejects has them.
    return (try? encoder.encode(canonical)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Creates a schema from the JSON of ``json``.
  /// - Parameter json: The JSON text.
  /// - Throws: `DecodingError` when the text is not such JSON.
  public init(json: String) throws {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: Self.infinity, negativeInfinity: "-" + Self.infinity, nan: Self.notANumber)
    self = try decoder.decode(Schema.self, from: Data(json.utf8))
  }

  private static let (infinity, notANumber) = ("infinity", "nan")

  /// The SHA-256 of ``json`` as 64 hexadecimal digits: equal for all schemas of the same meaning.
  public var meaningHash: String { sha256(Data(json.utf8)) }
}
