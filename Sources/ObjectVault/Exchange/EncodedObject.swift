// Objects as encodable values: the attributes and the related objects that a list of paths names.

internal import CipherSQLite
private import Foundation

/// An object, and the objects that it refers to, as a value that an encoder writes.
///
/// ```swift
/// let json = try JSONEncoder().encode(user.encoded("name", "statuses.text"))
/// ```
///
/// It has the keys of the mapping, and is independent of the context.
public struct EncodedObject: Encodable, Sendable {
  /// A value of a key.
  enum Value: Sendable {
    case none
    case stored(SQLValue, AttributeType, DateStrategy)
    case object(EncodedObject)
    case list([EncodedObject])
  }

  let members: [(key: String, value: Value)]

  /// Encodes the object as a keyed container.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: JSONKey.self)
    for (key, value) in members {
      let key = JSONKey(key)
      switch value {
      case .none: try container.encodeNil(forKey: key)
      case .object(let object): try container.encode(object, forKey: key)
      case .list(let list): try container.encode(list, forKey: key)
      case .stored(let value, let type, let dates): try Self.encode(value, type, dates, &container, key)
      }
    }
  }

  private static func encode(
    _ value: SQLValue, _ type: AttributeType, _ dates: DateStrategy,
    _ container: inout KeyedEncodingContainer<JSONKey>, _ key: JSONKey
  ) throws {
    let shown = type == .date ? Date(stored: value).map(dates.value) ?? value : value
    switch shown {
    case .null: try container.encodeNil(forKey: key)
    case .integer(let number):
      if type == .bool { try container.encode(number != 0, forKey: key) } else {
        try container.encode(number, forKey: key)
      }
    case .real(let number):
      if type == .float { try container.encode(Float(number), forKey: key) } else {
        try container.encode(number, forKey: key)
      }
    case .blob(let data): try container.encode(data.base64EncodedString(), forKey: key)
    case .text(let text):
      if type == .decimal, let number = Decimal(stored: value) {
        try container.encode(number, forKey: key)
      } else if type == .json {
        try container.encode(JSONContent(storedText: text), forKey: key)
      } else {
        try container.encode(text, forKey: key)
      }
    }
  }
}

/// The properties that an export names: of an object, and of the objects that it refers to.
struct EncodedPaths {
  private let entity: EntityMapping
  private let mapping: JSONMapping
  private let keys: KeyMap
  /// The slots of the properties in their order, with the paths through relationships.
  private var parts: [(slot: Int, inner: EncodedPaths?)] = []

  /// - Parameter paths: The paths; none for all attributes.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)``.
  init(_ paths: [[String]], of entity: EntityMapping, _ mapping: JSONMapping) throws(StoreError) {
    (self.entity, self.mapping) = (entity, mapping)
    keys = try KeyMap(entity, mapping.names)
    guard !paths.isEmpty else {
      parts = entity.slots.indices.filter { entity.slots[$0].attribute != nil }.map { ($0, nil) }
      return
    }
    var order: [Int] = []
    var inner: [Int: [[String]]] = [:]
    // Relationships that a path ends at: all attributes of their objects are included.
    var whole: Set<Int> = []
    for path in paths {
      guard let name = path.first, let slot = entity.slot(named: name) else {
        throw .noProperty(
          entity: entity.name, property: path.first ?? "",
          similar: nearest(path.first ?? "", among: entity.slots.map(\.name)))
      }
      let rest = Array(path.dropFirst())
      if !rest.isEmpty, entity.slots[slot].relationship == nil {
        throw .propertyMisused(
          entity: entity.name, property: name, reason: "is an attribute, and no path goes through one")
      }
      if inner[slot] == nil { order.append(slot) }
      inner[slot, default: []] += rest.isEmpty ? [] : [rest]
      if rest.isEmpty { whole.insert(slot) }
    }
    for slot in order {
      guard let destination = entity.slots[slot].relationship?.destination else {
        parts.append((slot, nil))
        continue
      }
      let all = destination.slots.filter { $0.attribute != nil }.map { [$0.name] }
      let paths = (whole.contains(slot) ? all : []) + (inner[slot] ?? [])
      parts.append((slot, try Self(paths, of: destination, mapping)))
    }
  }

  /// The paths of the relationships, for a prefetch.
  var relationships: [String] {
    parts.flatMap { slot, inner -> [String] in
      guard let inner else { return [] }
      let name = entity.slots[slot].name
      return [name] + inner.relationships.map { "\(name).\($0)" }
    }
  }

  /// Returns an object with the values of the properties.
  func encoded(_ object: ManagedObject) throws -> EncodedObject {
    EncodedObject(
      members: try parts.map { slot, inner in
        let info = entity.slots[slot]
        guard let inner, let relationship = info.relationship else {
          let value = try object.value(info.name)
          return (keys.keys[slot], .stored(value, info.attribute?.type ?? .string, mapping.dates))
        }
        let targets = try object.related(through: relationship)
        let encoded = try targets.map(inner.encoded)
        if relationship.isToMany { return (keys.keys[slot], .list(encoded)) }
        return (keys.keys[slot], encoded.first.map(EncodedObject.Value.object) ?? .none)
      })
  }
}

extension ManagedObject {
  /// Returns the objects at the other end of a relationship: in their order, or by their ids.
  fileprivate func related(through relationship: RelationshipMapping) throws -> [ManagedObject] {
    let slot = relationship.slot
    if !relationship.isToMany {
      _ = try value(relationship.name)
      return toOneTarget(slot).flatMap { $0.state == .deleted ? nil : [$0] } ?? []
    }
    guard state != .invalid else { throw StoreError.objectGone(entity: nameOfEntity, rowID: rowID) }
    if state != .inserted { try loadMembers(slot) }
    if relationship.isOrdered {
      return readToMany(UInt16(slot), as: [ManagedObject].self) { \ManagedObject.state }
    }
    let members = readToMany(UInt16(slot), as: Set<ManagedObject>.self) { \ManagedObject.state }
    return members.sorted { $0.visibleRowID < $1.visibleRowID }
  }
}

extension ManagedObject {
  /// Returns the object as a value for an encoder, with the properties that paths name.
  ///
  /// ```swift
  /// let value = try user.encoded("name", "city", "statuses.text")
  /// let json = try JSONEncoder().encode(value)
  /// ```
  ///
  /// A path that ends at a relationship includes all attributes of its objects, and no path at all those of this
  /// object. A to-one gives an object or null, a to-many an array: in its order, otherwise by id.
  /// ``ObjectContext/importJSON(_:into:mapping:)`` with the same mapping reads it back. Pending changes count.
  ///
  /// Reads the rows that are not in memory, one query for each relationship of each object. For many objects use
  /// `fetch.encoded`, which prefetches them.
  /// - Parameters:
  ///   - paths: The names of properties, with dots through relationships.
  ///   - mapping: The keys, and the form of dates.
  /// - Returns: The value.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)``; ``StoreError/objectGone(entity:rowID:)``,
  ///   ``StoreError/noContext(entity:property:)``; ``SQLError``.
  public func encoded(_ paths: String..., mapping: JSONMapping = JSONMapping()) throws -> EncodedObject {
    guard let entity = origin else { throw StoreError.noContext(entity: nameOfEntity, property: paths.first ?? "") }
    return try EncodedPaths(paths.map(\.pathNames), of: entity, mapping).encoded(self)
  }
}

extension Persistable where Self: ManagedObject {
  /// Returns the object as a value for an encoder, with the properties of key paths.
  ///
  /// ```swift
  /// let json = try JSONEncoder().encode(user.encoded(\.name, \.statuses))
  /// ```
  ///
  /// Works as the call with names. A key path leads through to-ones, `\.user.name`; for properties of the members
  /// of a to-many, use names.
  /// - Parameters:
  ///   - first: A property.
  ///   - others: Further properties.
  ///   - mapping: The keys, and the form of dates.
  /// - Returns: The value.
  /// - Throws: As the call with names; ``StoreError/predicate(_:)`` for a key path that is no property.
  public func encoded(
    _ first: PartialKeyPath<Self>, _ others: PartialKeyPath<Self>..., mapping: JSONMapping = JSONMapping()
  ) throws -> EncodedObject {
    guard let entity = origin else { throw StoreError.noContext(entity: nameOfEntity, property: "") }
    let paths = try ([first] + others).map { try $0.propertyNames }
    return try EncodedPaths(paths, of: entity, mapping).encoded(self)
  }
}

extension Fetch {
  /// Returns the objects of the fetch as values for an encoder, with the properties that paths name.
  ///
  /// ```swift
  /// let users = try context.fetch(User.self).sorted(by: \.name)
  ///   .encoded("name", "statuses.text")
  /// let json = try JSONEncoder().encode(users)
  /// ```
  ///
  /// As ``ManagedObject/encoded(_:mapping:)`` for each object, with one query for each relationship.
  /// - Parameters:
  ///   - paths: The names of properties, with dots through relationships; none for all attributes.
  ///   - mapping: The keys, and the form of dates.
  /// - Returns: The values, in the order of the fetch.
  /// - Throws: The errors of ``all()`` and of ``ManagedObject/encoded(_:mapping:)``.
  public func encoded(_ paths: String..., mapping: JSONMapping = JSONMapping()) throws -> [EncodedObject] {
    let plan = try EncodedPaths(paths.map(\.pathNames), of: known(), mapping)
    return try plan.relationships.reduce(self) { $0.prefetch(path: $1) }.all().map(plan.encoded)
  }
}
