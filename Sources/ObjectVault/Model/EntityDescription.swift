// The entities of a schema, with their attributes, relationships and indexes.

public import CipherSQLite

/// An entity of a ``Schema``.
public struct EntityDescription: Sendable, Hashable, Codable {
  /// The entity's name. It is also the name of its table when it has no parent.
  public var name: String
  /// The name of the entity that this one inherits from, whose table also has this entity's objects; nil
  /// when it inherits from none.
  public var parent: String?
  /// The entity's own attributes in the order of declaration, without inherited ones.
  public var attributes: [AttributeDescription]
  /// The entity's own relationships in the order of declaration, without inherited ones.
  public var relationships: [RelationshipDescription]
  /// The entity's own indexes over several properties.
  ///
  /// An index of one attribute is an option of the attribute.
  public var indexes: [IndexDescription]
  /// What the store records of each change of the entity's objects; nil for no history of its own. A
  /// subentity without one has that of its parent.
  public var history: HistoryDetail?

  /// Creates an entity. Each parameter is described at the property of its name.
  public init(
    name: String, parent: String? = nil, attributes: [AttributeDescription] = [],
    relationships: [RelationshipDescription] = [], indexes: [IndexDescription] = [],
    history: HistoryDetail? = nil
  ) {
    self.name = name
    self.parent = parent
    self.attributes = attributes
    self.relationships = relationships
    self.indexes = indexes
    self.history = history
  }

  /// Returns the entity's own attribute with this name, or nil.
  public func attribute(named name: String) -> AttributeDescription? { attributes.first { $0.name == name } }
  /// Returns the entity's own relationship with this name, or nil.
  public func relationship(named name: String) -> RelationshipDescription? {
    relationships.first { $0.name == name }
  }
  /// Converts the indexes to one form, so that models of the same meaning are equal. A unique attribute
  /// has `isIndexed` false. An index of one attribute becomes an option of the attribute, unless the
  /// attribute already has the other option. An index over one to-one with a column is removed if it is
  /// not unique, because every such to-one has an index. Duplicates are removed.
  mutating func normalizeIndexes() {
    for index in attributes.indices where attributes[index].isUnique { attributes[index].isIndexed = false }
    var kept: [IndexDescription] = []
    for index in indexes where !kept.contains(index) {
      let only = index.properties.count == 1 && index.comparing.isEmpty ? index.properties[0] : nil
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
  /// The names of the entity's own properties.
  package var propertyNames: [String] { attributes.map(\.name) + relationships.map(\.name) }
}

/// An attribute of an entity.
public struct AttributeDescription: Sendable, Hashable {
  /// The attribute's name, which is also the name of its column.
  public var name: String
  /// The attribute's type.
  public var type: AttributeType
  /// Whether the value may be nil.
  public var isOptional: Bool
  /// Whether no two objects may have the same value.
  public var isUnique: Bool
  /// Whether the attribute has an index.
  public var isIndexed: Bool
  /// Whether a fetch leaves the value out: see ``AttributeOption/lazy``.
  public var isLazy: Bool
  /// The constant that new objects get, and existing rows when the attribute is added. nil without a
  /// default, for data, and for defaults in Swift classes that are computed for each object, as those of
  /// dates and UUIDs always are.
  public var defaultValue: DefaultValue?

  /// Creates an attribute. Each parameter is described at the property of its name.
  public init(
    name: String, type: AttributeType, isOptional: Bool = false, isUnique: Bool = false,
    isIndexed: Bool = false, isLazy: Bool = false, defaultValue: DefaultValue? = nil
  ) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.isUnique = isUnique
    self.isIndexed = isIndexed
    self.isLazy = isLazy
    self.defaultValue = defaultValue
  }
}

extension AttributeDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case name, type, isOptional, isUnique, isIndexed, isLazy, defaultValue
  }

  /// Decodes what ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      name: try container.decode(String.self, forKey: .name),
      type: try container.decode(AttributeType.self, forKey: .type),
      isOptional: try container.decode(Bool.self, forKey: .isOptional),
      isUnique: try container.decode(Bool.self, forKey: .isUnique),
      isIndexed: try container.decode(Bool.self, forKey: .isIndexed),
      isLazy: try container.decodeIfPresent(Bool.self, forKey: .isLazy) ?? false,
      defaultValue: try container.decodeIfPresent(DefaultValue.self, forKey: .defaultValue))
  }

  /// Encodes the attribute.
  ///
  /// `isLazy` is only written when true, so that the JSON and the meaning hash of all other attributes
  /// are the same as before this option existed.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(type, forKey: .type)
    try container.encode(isOptional, forKey: .isOptional)
    try container.encode(isUnique, forKey: .isUnique)
    try container.encode(isIndexed, forKey: .isIndexed)
    if isLazy { try container.encode(true, forKey: .isLazy) }
    try container.encodeIfPresent(defaultValue, forKey: .defaultValue)
  }
}

/// A constant default of an attribute, in stored form.
public enum DefaultValue: Sendable, Hashable, Codable {
  /// An integer, or a `Bool` as 0 or 1.
  case integer(Int64)
  /// A floating-point number.
  case real(Double)
  /// Text; also decimals, URLs, UUIDs and JSON, in their stored form.
  case text(String)

  init?(_ value: SQLValue) {
    switch value {
    case .integer(let value): self = .integer(value)
    case .real(let value): self = .real(value)
    case .text(let value): self = .text(value)
    case .null, .blob: return nil
    }
  }

  /// The value as a parameter of a statement.
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
  /// The relationship's name. The column of a to-one is called `name_id`.
  public var name: String
  /// The name of the entity at the other end.
  public var destination: String
  /// Whether it is a to-many: a relationship to any number of objects.
  public var isToMany: Bool
  /// Whether the members of a to-many are ordered, as in a `[Status]`.
  public var isOrdered: Bool
  /// Whether a to-one must not be nil.
  public var isRequired: Bool
  /// The name of the inverse: the relationship from the destination back to this entity; nil when there
  /// is none.
  public var inverse: String?
  /// Whether a to-one is the end of a one-to-one without a column; its object is looked up in the unique
  /// index of the other end's column.
  ///
  /// The end that names no inverse has the column. If both ends name one, the column is at the end that
  /// comes first in alphabetical order, by the entity's name and then by the relationship's.
  public internal(set) var isLookedUp = false
  /// Whether a to-one is the end of a one-to-one with the column: no two objects reference the same
  /// object.
  public internal(set) var isOneToOne = false
  /// What happens to the objects at the other end when an object of this entity is deleted.
  public var deleteRule: DeleteRule

  /// Creates a relationship. Each parameter is described at the property of its name.
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

  /// Whether the relationship has a column in its own entity's table, as all to-ones that are not looked
  /// up.
  package var hasColumn: Bool { !isToMany && !isLookedUp }
}

extension RelationshipDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case name, destination, isToMany, isOrdered, isRequired, inverse, isLookedUp, deleteRule
  }

  /// Decodes what ``encode(to:)`` writes.
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

  /// Encodes the relationship.
  ///
  /// `isOrdered` and `isLookedUp` are only written when true, so that the JSON and the meaning hash of
  /// all other relationships are the same as before these options existed.
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

/// An index over one or more properties of an entity.
public struct IndexDescription: Sendable, Hashable {
  /// The names of the attributes and to-one relationships, in order.
  public var properties: [String]
  /// Whether no two objects may have the same values in all of the properties.
  public var isUnique: Bool
  /// What the index ignores in its String attributes: it serves comparisons and sorts with these options,
  /// and no others. Not together with `isUnique`.
  public var comparing: StringOptions

  /// Creates an index. Each parameter is described at the property of its name.
  public init(properties: [String], isUnique: Bool = false, comparing: StringOptions = []) {
    self.properties = properties
    self.isUnique = isUnique
    self.comparing = comparing
  }
}

extension IndexDescription: Codable {
  private enum CodingKeys: String, CodingKey { case properties, isUnique, comparing }

  /// Decodes what ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      properties: try container.decode([String].self, forKey: .properties),
      isUnique: try container.decode(Bool.self, forKey: .isUnique),
      comparing: try container.decodeIfPresent(StringOptions.self, forKey: .comparing) ?? [])
  }

  /// Encodes the index.
  ///
  /// `comparing` is only written when there are options, so that the JSON and the meaning hash of all
  /// other indexes are the same as before it existed.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(properties, forKey: .properties)
    try container.encode(isUnique, forKey: .isUnique)
    if !comparing.isEmpty { try container.encode(comparing, forKey: .comparing) }
  }
}
