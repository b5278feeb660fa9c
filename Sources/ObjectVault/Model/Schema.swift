// A model as a value: entities, attributes, relationships, indexes, raw objects. Codable, so that a store carries its own.
// The DSL that makes one of Swift classes is in SchemaBuilder; the rules are in Schema+Validation.

public import CipherSQLite
private import Foundation

/// The entities of a store.
///
/// Made of Swift classes with the DSL, by replaying migration steps, or by decoding JSON. It carries no
/// version number: a store's version is the number of steps behind it.
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
  /// Views, triggers and indexes of one's own, sorted by name.
  public internal(set) var rawObjects: [RawObject] = []
  /// What was wrong with the declarations. ``validate()`` throws all of them at once, with those of the
  /// model itself.
  public internal(set) var faults: [SchemaFault] = []
  // The Swift side of entities that were declared with classes; no part of the schema's meaning.
  var bindings: [String: any EntityBinding] = [:]

  /// A schema of descriptions, without Swift classes. An inverse that one end names is known at both. One end of a one-to-one gets
  /// the column: see ``RelationshipDescription/isLookedUp``.
  public init(entities: [EntityDescription] = [], rawObjects: [RawObject] = []) {
    self.entities = entities.map { entity in
      var entity = entity
      for index in entity.attributes.indices { entity.attributes[index].normalizeDefault() }
      return entity
    }.sorted { $0.name < $1.name }
    self.rawObjects = rawObjects.sorted { $0.name < $1.name }
    completeInverses()
    // Behind that: an index over an end without a column is a fault, and must not be dropped as needless.
    for index in self.entities.indices { self.entities[index].normalizeIndexes() }
  }

  /// Where the entity of this name is, or nil: found by halves, as they are sorted by name.
  func entityIndex(_ name: String) -> Int? {
    let place = entityPlace(name)
    return place < entities.count && entities[place].name == name ? place : nil
  }

  /// Where an entity of this name is, or would be.
  func entityPlace(_ name: String) -> Int {
    var (low, high) = (0, entities.count)
    while low < high {
      let middle = (low + high) / 2
      if entities[middle].name < name { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The entity of this name, or nil.
  public func entity(named name: String) -> EntityDescription? { entityIndex(name).map { entities[$0] } }
  /// The raw object of this name, or nil.
  public func rawObject(named name: String) -> RawObject? { rawObjects.first { $0.name == name } }
}

/// An entity of a ``Schema``.
public struct EntityDescription: Sendable, Hashable, Codable {
  /// The entity's name, which is also its table's where it has no parent.
  public var name: String
  /// The entity that this one inherits from, whose table its objects lie in; nil for one that inherits from none.
  public var parent: String?
  /// Its own attributes in the order of declaration, without those that it inherits.
  public var attributes: [AttributeDescription]
  /// Its own relationships in the order of declaration, without those that it inherits.
  public var relationships: [RelationshipDescription]
  /// Its own indexes over several properties; those of one attribute are its own options.
  public var indexes: [IndexDescription]

  /// An entity.
  public init(
    name: String, parent: String? = nil, attributes: [AttributeDescription] = [],
    relationships: [RelationshipDescription] = [], indexes: [IndexDescription] = []
  ) {
    self.name = name
    self.parent = parent
    self.attributes = attributes
    self.relationships = relationships
    self.indexes = indexes
  }

  /// The attribute of this name, or nil.
  public func attribute(named name: String) -> AttributeDescription? { attributes.first { $0.name == name } }
  /// The relationship of this name, or nil.
  public func relationship(named name: String) -> RelationshipDescription? {
    relationships.first { $0.name == name }
  }
  /// Gives indexes their one form, whichever way they were declared: an index of one attribute is the
  /// attribute's own option, a to-one has one by itself, and nothing is there twice. Otherwise two models of one
  /// meaning would differ for ever.
  mutating func normalizeIndexes() {
    for index in attributes.indices where attributes[index].isUnique { attributes[index].isIndexed = false }
    var kept: [IndexDescription] = []
    for index in indexes where !kept.contains(index) {
      let only = index.properties.count == 1 ? index.properties[0] : nil
      if let only, let place = attributes.firstIndex(where: { $0.name == only }) {
        let (isUnique, isIndexed) = (attributes[place].isUnique, attributes[place].isIndexed)
        if index.isUnique ? isUnique : isIndexed { continue }
        if !isUnique && !isIndexed {
          if index.isUnique { attributes[place].isUnique = true } else { attributes[place].isIndexed = true }
          continue
        }
      }
      if let only, !index.isUnique, relationship(named: only)?.hasColumn == true { continue }
      kept.append(index)
    }
    indexes = kept
  }
  /// The names of its own properties.
  package var propertyNames: [String] { attributes.map(\.name) + relationships.map(\.name) }
}

/// An attribute of an entity.
public struct AttributeDescription: Sendable, Hashable, Codable {
  /// Its name, which is also its column's.
  public var name: String
  /// Its type.
  public var type: AttributeType
  /// Whether it may be nil.
  public var isOptional: Bool
  /// Whether no two objects share a value.
  public var isUnique: Bool
  /// Whether it is kept in an index.
  public var isIndexed: Bool
  /// The constant that new objects, and the rows of older versions, get. Dates and UUIDs of Swift classes have none
  /// here: their defaults are computed for each object.
  public var defaultValue: DefaultValue?

  /// An attribute.
  public init(
    name: String, type: AttributeType, isOptional: Bool = false, isUnique: Bool = false,
    isIndexed: Bool = false, defaultValue: DefaultValue? = nil
  ) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.isUnique = isUnique
    self.isIndexed = isIndexed
    self.defaultValue = defaultValue
  }
}

/// A constant default of an attribute, as it is stored.
public enum DefaultValue: Sendable, Hashable, Codable {
  /// A whole number, or a `Bool` as 0 or 1.
  case integer(Int64)
  /// A floating-point number.
  case real(Double)
  /// Text; also decimals, URLs, UUIDs and JSON, in the form in which they are stored.
  case text(String)

  init?(_ value: SQLValue) {
    switch value {
    case .integer(let value): self = .integer(value)
    case .real(let value): self = .real(value)
    case .text(let value): self = .text(value)
    case .null, .blob: return nil
    }
  }

  /// The value as a parameter.
  public var sqlValue: SQLValue {
    switch self {
    case .integer(let value): .integer(value)
    case .real(let value): .real(value)
    case .text(let value): .text(value)
    }
  }
}

/// A relationship of an entity.
public struct RelationshipDescription: Sendable, Hashable {
  /// Its name. The column of a to-one is called `name_id`.
  public var name: String
  /// The entity at the other end.
  public var destination: String
  /// Whether it has any number of members.
  public var isToMany: Bool
  /// Whether the members of a to-many have an order of their own, as those of a `[Status]` have.
  public var isOrdered: Bool
  /// Whether a to-one may not be nil.
  public var isRequired: Bool
  /// The relationship at the other end that leads back, or nil.
  public var inverse: String?
  /// Whether a to-one is the end of a one-to-one that has no column, and is looked up by the unique index of the other end's. The
  /// end that names no inverse has the column; where both name one, the end that is first in the alphabet, by its entity and then
  /// by its own name.
  public internal(set) var isLookedUp = false
  /// Whether a to-one is the end of a one-to-one that has the column: no two objects lead to the same one.
  public internal(set) var isOneToOne = false
  /// What becomes of the other end when an object of this entity is deleted.
  public var deleteRule: DeleteRule

  /// A relationship.
  public init(
    name: String, destination: String, isToMany: Bool = false, isOrdered: Bool = false,
    isRequired: Bool = false, inverse: String? = nil, deleteRule: DeleteRule = .nullify
  ) {
    self.name = name
    self.destination = destination
    self.isToMany = isToMany
    self.isOrdered = isOrdered
    self.isRequired = isRequired
    self.inverse = inverse
    self.deleteRule = deleteRule
  }

  /// Whether its links lie in a column of its own entity's table, as those of most to-ones do.
  package var hasColumn: Bool { !isToMany && !isLookedUp }
}

extension RelationshipDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case name, destination, isToMany, isOrdered, isRequired, inverse, isLookedUp, deleteRule
  }

  /// From the JSON that ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      name: try container.decode(String.self, forKey: .name),
      destination: try container.decode(String.self, forKey: .destination),
      isToMany: try container.decode(Bool.self, forKey: .isToMany),
      isOrdered: try container.decodeIfPresent(Bool.self, forKey: .isOrdered) ?? false,
      isRequired: try container.decode(Bool.self, forKey: .isRequired),
      inverse: try container.decodeIfPresent(String.self, forKey: .inverse),
      deleteRule: try container.decode(DeleteRule.self, forKey: .deleteRule))
    isLookedUp = try container.decodeIfPresent(Bool.self, forKey: .isLookedUp) ?? false
  }

  /// What few relationships have only where they have it: the others have the JSON, and the meaning hash, that they always had.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(destination, forKey: .destination)
    try container.encode(isToMany, forKey: .isToMany)
    if isOrdered { try container.encode(true, forKey: .isOrdered) }
    try container.encode(isRequired, forKey: .isRequired)
    try container.encodeIfPresent(inverse, forKey: .inverse)
    if isLookedUp { try container.encode(true, forKey: .isLookedUp) }
    try container.encode(deleteRule, forKey: .deleteRule)
  }
}

/// An index over one or several properties of an entity.
public struct IndexDescription: Sendable, Hashable, Codable {
  /// The attributes and to-one relationships, in order.
  public var properties: [String]
  /// Whether no two objects share all values.
  public var isUnique: Bool

  /// An index.
  public init(properties: [String], isUnique: Bool = false) {
    self.properties = properties
    self.isUnique = isUnique
  }
}

// A schema is what it means: the Swift side and the order of declaration take no part.
extension Schema: Hashable, Codable {
  /// Equal in meaning.
  public static func == (left: Schema, right: Schema) -> Bool {
    // Models of neighbouring steps share most of their entities.
    left.rawObjects == right.rawObjects
      && (left.entities == right.entities || left.canonical.entities == right.canonical.entities)
  }
  /// Hashes the meaning.
  public func hash(into hasher: inout Hasher) { hasher.combine(canonical.entities) }

  private enum CodingKeys: String, CodingKey { case entities, rawObjects }

  /// From the JSON that ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      entities: try container.decode([EntityDescription].self, forKey: .entities),
      rawObjects: try container.decodeIfPresent([RawObject].self, forKey: .rawObjects) ?? [])
  }
  /// The entities, and the raw objects where there are any: models without have the JSON that they always had.
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
          ($0.properties.joined(separator: ","), $0.isUnique ? 1 : 0) < (
            $1.properties.joined(separator: ","), $1.isUnique ? 1 : 0
          )
        }
        return entity
      }, rawObjects: rawObjects)
  }

  /// Canonical JSON: the same text for every schema of the same meaning.
  public var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: Self.infinity, negativeInfinity: "-" + Self.infinity, nan: Self.notANumber)
    // Encoding strings, numbers and arrays of them cannot fail: JSON lacks some numbers, which have words here. Only
    // a schema that ``validate()`` refuses has them.
    return (try? encoder.encode(canonical)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// A schema of the JSON that ``json`` gives.
  /// - Throws: `DecodingError` when it is something else.
  public init(json: String) throws {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: Self.infinity, negativeInfinity: "-" + Self.infinity, nan: Self.notANumber)
    self = try decoder.decode(Schema.self, from: Data(json.utf8))
  }

  private static let (infinity, notANumber) = ("infinity", "nan")

  /// SHA-256 of ``json``, 64 hexadecimal digits: equal for schemas of the same meaning.
  public var meaningHash: String { sha256(Data(json.utf8)) }
}
